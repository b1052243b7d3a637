"""The random factorial: every seed draws act, things, looks, places, cue, wording and company independently.

What cannot be solved or told is drawn again and counted by its reason, for rejecting makes factors go together; how
far it does is measured by `make aliasing`.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from robodx.language.meaning import Clause, If, Meaning
from robodx.language.phrasing import Split, phrase, phrasing_count
from robodx.language.reference import Reference
from robodx.language.verbs import act as act_name
from robodx.language.verbs import phrasings
from robodx.sim.geometry import Pose, about
from robodx.sim.objects import cube
from robodx.sim.scene import Scene, Thing, tabletop
from robodx.streams import Streams
from robodx.tasks.base import Situation, task
from robodx.tasks.carrier import ANY, COLOURS
from robodx.tasks.generated_acts import (
    ACTS,
    Act,
    Bounds,
    Circle,
    Deed,
    Hopeless,
    Rejected,
    check_room,
    footprint_m,
    goal_for,
    made,
    one_of,
    scored,
)
from robodx.tasks.generated_words import (
    beside_it,
    check_told,
    described,
    excluding,
    in_other_words,
    named,
    on_condition,
)

# The levels of the factors. What is listed twice is rejected more often, or told of more situations.
SCALES = {"small": 0.85, "usual": 1.0, "big": 1.15}
CUES = ("none", "none", "colour", "shape", "size", "pattern", "place", "relation", "ordinal")
# With these no other thing shares both its kind and its colour.
NAMED_CUES = ("none", "colour", "shape")
WORDINGS = ("plain", "synonym", "exclusion", "exclusion", "prohibition", "condition", "condition")
SPLITS: tuple[Split, ...] = ("train", "train", "train", "test")
COMPANY = (0, 0, 1, 2, 3)
NUMBERS = (1, 1, 1, 1, 1, 1, 2, 2, 3, 3)
# Where things lie, in thirds as the recorded attributes have them.
DEPTHS = {"near": (-0.20, -0.12), "middle": (-0.12, 0.0), "far": (0.0, 0.08)}
SIDES = {"right": (-0.23, -0.07), "middle": (-0.07, 0.07), "left": (0.07, 0.23)}
PLACES = tuple(f"{depth} {side}" for depth in DEPTHS for side in SIDES)
ANYWHERE = "anywhere"
NONE = "none"
TIME_LIMITS_S = {1: 20.0, 2: 30.0, 3: 40.0}
# What open fingers need around a thing.
GAP_M = 0.05
# In so many draws what shall be equally frequent stays as it is, before it is drawn again too.
PATIENCE = 60
# And so many throws are made for each thing's place.
THROWS = 12
MOST_DRAWS = 20_000


@dataclass(frozen=True)
class Factors:
    """The levels of one draw."""

    act: str
    kind: str
    colour: str
    size: str
    place: str
    cue: str
    wording: str
    split: Split
    company: int
    acts: int
    goal_kind: str
    goal_colour: str
    goal_place: str


class Generated(NamedTuple):
    """A situation with its levels, those that were drawn first, and why and how often others were drawn in vain."""

    situation: Situation
    factors: Factors
    first: Factors
    rejections: Mapping[str, int]


@task(
    family="generated",
    varies=("robot", "layout", "attributes", "instruction", "arena"),
    tags=("generated",),
    time_limit_s=max(TIME_LIMITS_S.values()),
    chance=0.28,
)
def factorial(streams: Streams) -> Situation:
    """Any act on any things anywhere, told in any way: all that may matter is drawn independently."""
    return generate(streams).situation


def generate(streams: Streams) -> Generated:
    """The situation of a seed. Its act stays whatever is rejected; cue, wording, place and number stay for a while."""
    rngs = Rngs(*(streams.rng(name) for name in ("attributes", "layout", "instruction")))
    act = one_of(rngs.attributes, ACTS)
    rejections: Counter[str] = Counter()
    first: Factors | None = None
    kept, tries = _kept(rngs), 0
    for _ in range(MOST_DRAWS):
        if tries == PATIENCE:
            kept, tries = _kept(rngs), 0
        relation = one_of(rngs.attributes, act.relations) if act.relations else None
        factors = _drawn(rngs, act, relation, kept)
        first, tries = first or factors, tries + 1
        try:
            return Generated(_situation(rngs, act, relation, factors), factors, first, dict(rejections))
        except Rejected as reason:
            rejections[str(reason)] += 1
            tries = PATIENCE if isinstance(reason, Hopeless) else tries
    raise AssertionError(f"{MOST_DRAWS} draws in vain: {rejections}")


# Drawing.


class Rngs(NamedTuple):
    attributes: np.random.Generator
    layout: np.random.Generator
    instruction: np.random.Generator


class Kept(NamedTuple):
    """What would be rare if it were drawn again whenever something is rejected."""

    cue: str
    wording: str
    place: str
    acts: int


def _kept(rngs: Rngs) -> Kept:
    return Kept(
        one_of(rngs.instruction, CUES),
        one_of(rngs.instruction, WORDINGS),
        one_of(rngs.layout, PLACES),
        one_of(rngs.attributes, NUMBERS),
    )


def _drawn(rngs: Rngs, act: Act, relation: str | None, kept: Kept) -> Factors:
    rng = rngs.attributes
    return Factors(
        act=act_name(act.action, relation),
        kind=one_of(rng, ("cube",) if kept.cue == "pattern" else act.kinds),
        colour=one_of(rng, COLOURS),
        size=one_of(rng, tuple(SCALES)),
        place=kept.place,
        cue=kept.cue,
        wording=kept.wording,
        split=one_of(rngs.instruction, SPLITS),
        company=one_of(rng, COMPANY),
        acts=kept.acts,
        goal_kind=one_of(rng, act.goals) if act.goals else NONE,
        goal_colour=one_of(rng, COLOURS) if act.goals else NONE,
        goal_place=one_of(rngs.layout, PLACES) if act.goals else NONE,
    )


def _check(act: Act, factors: Factors) -> None:
    """What can be said before anything is laid out; `Hopeless` if no other kind or company would help."""
    if factors.acts > 1 and not act.frees_hand:
        raise Hopeless("the hand stays full")
    if factors.wording == "condition" and factors.acts > 1:
        raise Hopeless("a condition is said of one act")
    if factors.wording == "exclusion" and factors.cue not in ("colour", "shape"):
        raise Hopeless("nothing to exclude it by")
    if factors.cue == "pattern" and "cube" not in act.kinds:
        raise Hopeless("only cubes wear stripes")
    if factors.cue in ("size", "shape") and act.action == "press":
        raise Hopeless("all switches are alike but in colour")
    if factors.company == 0 and (factors.cue != "none" or factors.wording in ("prohibition", "condition")):
        raise Rejected("nothing else is there")
    is_loose = factors.goal_kind in ANY
    # What is not blue is more than the cubes that are not.
    if factors.wording == "exclusion" and (is_loose or factors.acts > 1):
        raise Hopeless("other things are not so either")
    if is_loose and factors.goal_kind == factors.kind and factors.cue != "colour":
        raise Rejected("it is told by another cue")
    if factors.goal_colour == factors.colour and factors.cue not in (("shape",) if is_loose else NAMED_CUES):
        raise Rejected("it is told by another cue")


# Things, places, words.


@dataclass(frozen=True)
class Role:
    """A thing, where it may lie, and how far it may be turned."""

    thing: Thing
    place: str = ANYWHERE
    bounds: Bounds | None = None


def _situation(rngs: Rngs, act: Act, relation: str | None, factors: Factors) -> Situation:
    _check(act, factors)
    rng = rngs.attributes
    target = made(factors.kind, factors.colour, SCALES[factors.size])
    if factors.cue == "pattern" and rng.random() < 0.5:
        target = cube(factors.colour, target.half_extents[0], is_striped=True)
    rivals = _rivals(rng, target, factors)
    roles = [Role(target, factors.place, act.target_within)]
    if act.goals:
        goal = goal_for(act, target, factors.goal_kind, factors.goal_colour, _scale(rng))
        roles.append(Role(goal, factors.goal_place, act.goal_within))
    further = _further(rng, factors.acts - 1, [role.thing for role in roles])
    first_further = len(roles)
    roles += [role for _, *of_deed in further for role in of_deed]
    first_rival = len(roles)
    roles += [Role(rival) for rival in rivals]
    unlike = [role.thing for role in roles]
    roles += [Role(thing) for thing in _distractors(rng, factors.company - len(rivals), unlike)]

    things, scene = _laid(rngs.layout, roles)
    deeds = [_deed(rng, act, relation, things[: 1 + bool(act.goals)])]
    at = first_further
    for next_act, *of_deed in further:
        of_act = one_of(rng, next_act.relations) if next_act.relations else None
        deeds.append(_deed(rng, next_act, of_act, things[at : at + len(of_deed)]))
        at += len(of_deed)
    check_room(deeds, scene)
    meaning = _told(rngs.instruction, factors, scene, deeds, things[first_rival:], len(rivals))
    check_told(meaning, things[0], factors.cue, scene)
    number = int(rngs.instruction.random() * phrasing_count(meaning, factors.split))
    stages, never = scored(meaning, scene, deeds)
    return Situation(
        scene,
        phrase(meaning, factors.split, number),
        tuple(stages),
        tuple(never),
        time_limit_s=TIME_LIMITS_S[factors.acts],
    )


def _rivals(rng: np.random.Generator, target: Thing, factors: Factors) -> list[Thing]:
    """What the target might be taken for, were it not for the cue; at most as many as there is company."""
    if factors.cue == "none":
        return []
    # What is excluded is all that is there besides.
    count = factors.company if factors.wording == "exclusion" else 1 + int(rng.random() * factors.company)
    kind, colour, scale = factors.kind, factors.colour, SCALES[factors.size]
    if factors.cue == "colour":
        others = _shuffled(rng, [other for other in COLOURS if other != colour])
        return [made(kind, other, _scale(rng)) for other in others[:count]]
    if factors.cue == "shape":
        others = _shuffled(rng, [other for other in ANY if other != kind])
        return [made(other, colour, _scale(rng)) for other in others[:count]]
    if factors.cue == "size":
        scale = one_of(rng, [other for other in SCALES.values() if other != scale])
        return [made(kind, colour, scale)] * count
    if factors.cue == "pattern":
        return [cube(colour, target.half_extents[0], is_striped=not target.is_striped)] * count
    return [target] * count


def _scale(rng: np.random.Generator) -> float:
    return one_of(rng, tuple(SCALES.values()))


def _shuffled(rng: np.random.Generator, values: Sequence[str]) -> list[str]:
    return [values[index] for index in rng.permutation(len(values)).tolist()]


def _unlike(rng: np.random.Generator, kinds: Sequence[str], others: Sequence[Thing]) -> tuple[str, str]:
    """Another kind and another colour than those of the first, which is the target; no two things share both."""
    looks = [(kind, colour) for kind in kinds for colour in COLOURS if kind != others[0].kind]
    taken = {(other.kind, other.colour) for other in others}
    free = [look for look in looks if look not in taken and look[1] != others[0].colour]
    if not free:
        raise Rejected("no kind is left")
    return one_of(rng, free)


def _distractors(rng: np.random.Generator, count: int, others: Sequence[Thing]) -> list[Thing]:
    found: list[Thing] = []
    kinds = [kind for kind in ANY if all(kind != other.kind for other in others)]
    for _ in range(count):
        found.append(made(*_unlike(rng, kinds, (*others, *found)), _scale(rng)))
    return found


def _further(rng: np.random.Generator, count: int, before: Sequence[Thing]) -> list[tuple[Act, *tuple[Role, ...]]]:
    """What comes after the first act, each with things of its own."""
    found: list[tuple[Act, *tuple[Role, ...]]] = []
    taken = list(before)
    for number in range(count):
        is_last = number == count - 1
        act = one_of(rng, [each for each in ACTS if not each.is_first and (each.frees_hand or is_last)])
        target = made(*_unlike(rng, act.kinds, taken), _scale(rng))
        roles = [Role(target, bounds=act.target_within)]
        taken.append(target)
        if act.goals:
            goal = goal_for(act, target, *_unlike(rng, act.goals, taken), _scale(rng))
            roles.append(Role(goal, bounds=act.goal_within))
            taken.append(goal)
        found.append((act, *roles))
    return found


def _laid(rng: np.random.Generator, roles: Sequence[Role]) -> tuple[list[Thing], Scene]:
    """Each where it may lie, clear of the others: what is big first. Listed and numbered in any order."""
    placed: dict[int, tuple[Circle, float]] = {}
    for index in sorted(range(len(roles)), key=lambda index: (index > 1, -footprint_m(roles[index].thing))):
        placed[index] = _thrown(rng, roles[index], [each for each, _ in placed.values()])
    things: dict[int, Thing] = {}
    names: Counter[str] = Counter()
    for index in rng.permutation(len(roles)).tolist():
        (at, _), turn = placed[index]
        thing = roles[index].thing
        name = f"{thing.colour} {thing.kind}"
        names[name] += 1
        pose = Pose((*at, thing.half_extents[2]), about("z", turn))
        things[index] = replace(thing, name=f"{name} {names[name]}" if names[name] > 1 else name, placement=pose)
    return [things[index] for index in range(len(roles))], tabletop(*things.values())


def _thrown(rng: np.random.Generator, role: Role, others: Sequence[Circle]) -> tuple[Circle, float]:
    xs, ys = _cell(role.place)
    turns = (-math.pi, math.pi)
    if role.bounds is not None:
        xs, ys, turns = (_both(xs, role.bounds.x), _both(ys, role.bounds.y), role.bounds.turn)
    radius = footprint_m(role.thing)
    for _ in range(THROWS):
        x, y, turn = (low + rng.random() * (high - low) for low, high in (xs, ys, turns))
        if (found := Circle((x, y), radius)).is_clear_of(others, GAP_M):
            return found, turn
    raise Rejected("no room")


def _cell(place: str) -> tuple[tuple[float, float], tuple[float, float]]:
    if place == ANYWHERE:
        return (-0.20, 0.08), (-0.23, 0.23)
    depth, side = place.split(" ")
    return DEPTHS[depth], SIDES[side]


def _both(a: tuple[float, float], b: tuple[float, float]) -> tuple[float, float]:
    low, high = max(a[0], b[0]), min(a[1], b[1])
    if low >= high:
        raise Hopeless("the act is not done there")
    return low, high


def _deed(rng: np.random.Generator, act: Act, relation: str | None, things: Sequence[Thing]) -> Deed:
    goal = things[1].name if len(things) > 1 else None
    return Deed(act, things[0].name, goal, relation, one_of(rng, act.distances_m) if act.distances_m else 0.0)


def _told(
    rng: np.random.Generator,
    factors: Factors,
    scene: Scene,
    deeds: Sequence[Deed],
    others: Sequence[Thing],
    rivals: int,
) -> Meaning:
    """What is to be done, each thing described; `others` are not needed for it, and the first of them are rivals."""
    target = scene.thing(deeds[0].target)
    meant = described(rng, factors.cue, target, others[:rivals], scene)
    if factors.wording == "exclusion":
        meant = excluding(factors.cue, target, others[:rivals])
    elif factors.wording == "synonym":
        meant = in_other_words(rng, meant, phrasings(deeds[0].act.action, deeds[0].relation))

    def clause(deed: Deed, reference: Reference) -> Clause:
        return deed.clause(reference, named(scene.thing(deed.goal)) if deed.goal else None)

    clauses: list[Clause | If] = [clause(deeds[0], meant)]
    clauses += [clause(deed, named(scene.thing(deed.target))) for deed in deeds[1:]]
    if factors.wording == "condition":
        clauses = [on_condition(rng, clause(deeds[0], meant), target, others, deeds[0].act.kinds, scene)]
    elif factors.wording == "prohibition":
        clauses.append(beside_it(rng, others, scene))
    return Meaning(tuple(clauses))
