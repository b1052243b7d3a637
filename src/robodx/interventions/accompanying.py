"""Things that are not needed: taken away, put in, and moved."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from robodx.interventions.base import NotApplicable
from robodx.interventions.changing import (
    bystanders,
    changed,
    heard,
    is_clear,
    needed_things,
    target_of,
    with_things,
)
from robodx.interventions.redescribing import described
from robodx.interventions.relooking import check_words
from robodx.records.features import COUNTS, level
from robodx.scoring.conditions import Condition
from robodx.scoring.contact import Grasped
from robodx.scoring.events import NewInstruction, Recolour, SwapColours, SwitchLamp
from robodx.scoring.from_meaning import lifted, looks
from robodx.scoring.parts import walk
from robodx.scoring.relations import Lifted
from robodx.scoring.sides import HEADINGS, Displaced
from robodx.sim.geometry import Pose
from robodx.sim.scene import Scene, Thing
from robodx.situations.attributes import depth_of, side_of
from robodx.tasks.base import Situation
from robodx.tasks.carrier import COLOURS, LOOSE, SCALES, TABLE

TRIES = 80
# Places at which the words would mean something else: after so many, they would anywhere.
WRONG_PLACES = 8
# Room for the hand around what is handled, and around where it goes; and on both sides of the way between them.
AROUND_M = 0.11
BESIDE_M = 0.16
WAY_M = 0.09
# The hand that stands a peg on its end lies to its right.
STANDING = (0.0, -0.25)
# What is put elsewhere than in or on its goal needs room beside it.
NO_ROOM_BESIDE = ("put in", "put on", "push onto", "roll onto", "pick", "touch", "press")
APART_M = 0.05
# A thing that is moved is moved at least so far; the target no further than this.
LEAST_M, NUDGE_M = 0.03, 0.05
# What lies higher than the table, or than another thing, by more than this lies on something.
ON_M = 0.005

# What happens without anything moving.
STILL = (NewInstruction, SwitchLamp, Recolour, SwapColours)

Spot = tuple[float, float]
Way = tuple[Spot, Spot]
Count = Callable[[Situation], int]


def unneeded(situation: Situation) -> list[Thing]:
    """Loose things that no description in the words fits, and that nothing else is about."""
    spoken = {name for fitting in described(situation.instruction.meaning, looks(situation.scene)) for name in fitting}
    return [thing for thing in bystanders(situation) if thing.name not in spoken]


def numbered(attribute: str, least: int) -> dict[str, dict[str, str]]:
    """The levels of a count, each of which is a value that sets it."""
    names = (level(attribute, number) for number in range(least, COUNTS[attribute] + 1))
    return {name: {attribute: name} for name in names}


def wanted(attribute: str, value: str, least: int) -> int:
    """The number of a level; of "3 or more", three."""
    return next(n for n in range(least, COUNTS[attribute] + 1) if level(attribute, n) == value)


def brought_to(
    situation: Situation,
    number: int,
    count: Count,
    rng: np.random.Generator,
    *,
    removable: Callable[[Situation], Sequence[Thing]],
    kinds: Callable[[Situation], Sequence[str]],
) -> Situation:
    """With so many of them: what can be is taken away, or things of these kinds are put in."""
    now = count(situation)
    if now == number:
        raise NotApplicable(f"there are {number} already")
    while count(situation) > number:
        situation = _without_one(situation, removable(situation), rng)
    while count(situation) < number:
        situation = with_another(situation, kinds(situation), rng)
    return situation


def _without_one(situation: Situation, free: Sequence[Thing], rng: np.random.Generator) -> Situation:
    for place in rng.permutation(len(free)):
        try:
            return without(situation, free[place])
        except NotApplicable:
            continue
    raise NotApplicable("what else is there is needed")


def without(situation: Situation, thing: Thing) -> Situation:
    if any(_is_above(other, thing) for other in situation.scene):
        raise NotApplicable(f"something lies on the {thing.name}")

    def is_about(condition: Condition) -> bool:
        return any(isinstance(one, str) and one.split("/")[0] == thing.name for one in walk(condition))

    scene = replace(situation.scene, things=tuple(each for each in situation.scene if each != thing))
    after = changed(situation, scene=scene)
    check_words(situation, after)
    return replace(after, never=tuple(one for one in situation.never if not is_about(one)))


def _is_above(other: Thing, thing: Thing) -> bool:
    apart_m = math.dist(other.pose.position[:2], thing.pose.position[:2])
    return apart_m < other.radius_m + thing.radius_m and other.pose.position[2] > thing.pose.position[2] + ON_M


def with_another(situation: Situation, kinds: Sequence[str], rng: np.random.Generator) -> Situation:
    """With another loose thing of one of these kinds, of another look than all others, out of the way."""
    needed = needed_things(situation)
    # Not of their colours: what tells them apart from others shall stay what it is, as far as can be.
    worn = {thing.colour for thing in situation.scene if thing.name in needed}
    there = {word for thing in situation.scene for word in (thing.name, f"{thing.colour} {thing.kind}")}
    free = [(k, c) for k in kinds for c in COLOURS if c not in worn and f"{c} {k}" not in there]
    if not free:
        raise NotApplicable("there is no kind of thing that would do")

    def another() -> Thing:
        kind, colour = free[int(rng.integers(len(free)))]
        thing = LOOSE[kind](colour, rng.uniform(*SCALES))
        x, y = rng.uniform(*TABLE.x), rng.uniform(*TABLE.y)
        return thing.at(x, y, yaw_rad=rng.uniform(-math.pi, math.pi))

    after = put_in(situation, another)
    return replace(after, never=(*situation.never, *_wrong(situation, after.scene, after.scene.things[-1].name)))


def put_in(situation: Situation, draw: Callable[[], Thing]) -> Situation:
    """With a thing as it is drawn, the first that is out of the way and leaves the words as they are."""
    _check_still(situation)
    ways, wrong = _ways(situation), 0
    for _ in range(TRIES):
        thing = draw()
        if not _is_out_of_the_way(situation, thing, ways):
            continue
        scene = replace(situation.scene, things=(*situation.scene, thing))
        try:
            after = changed(situation, scene=scene)
            check_words(situation, after)
        except NotApplicable:
            wrong += 1
            if wrong == WRONG_PLACES:
                raise
            continue
        return after
    raise NotApplicable("there is no place for another thing")


def one_moved(situation: Situation, rng: np.random.Generator) -> Situation:
    """A thing that is not needed, elsewhere; where there is none, the target a little, in its part of the table."""
    _check_still(situation)
    ways, target = _ways(situation), target_of(situation)
    free = [thing for thing in bystanders(situation) if _lies_alone(situation.scene, thing)]

    def elsewhere(thing: Thing) -> Spot | None:
        spot = rng.uniform(*TABLE.x), rng.uniform(*TABLE.y)
        is_free = _is_out_of_the_way(situation, thing.at(*spot), ways)
        return spot if is_free and math.dist(spot, thing.pose.position[:2]) >= LEAST_M else None

    def nearby(thing: Thing) -> Spot | None:
        (x, y, _), turn, far = thing.pose.position, rng.uniform(-math.pi, math.pi), rng.uniform(LEAST_M, NUDGE_M)
        spot = x + far * math.cos(turn), y + far * math.sin(turn)
        is_same = (depth_of(x), side_of(y)) == (depth_of(spot[0]), side_of(spot[1]))
        scene = with_things(situation.scene, {thing.name: _at(thing, spot)})
        return spot if is_same and is_clear(scene, [thing.name], APART_M) else None

    moves = [(thing, elsewhere) for thing in free]
    is_tied = any(isinstance(one, Displaced) for one in walk((situation.stages, situation.never)))
    if not moves and not target.is_fixed and not is_tied and _lies_alone(situation.scene, target):
        moves = [(target, nearby)]
    for _ in range(TRIES if moves else 0):
        thing, place = moves[int(rng.integers(len(moves)))]
        if (spot := place(thing)) is None:
            continue
        try:
            after = changed(situation, scene=with_things(situation.scene, {thing.name: _at(thing, spot)}))
            check_words(situation, after)
        except NotApplicable:
            continue
        return after
    raise NotApplicable("nothing can be moved without changing what is asked")


def _at(thing: Thing, spot: Spot) -> Thing:
    return thing.posed(Pose((*spot, thing.pose.position[2]), thing.pose.quaternion))


def _lies_alone(scene: Scene, thing: Thing) -> bool:
    """On the table, with nothing on it."""
    is_flat = abs(thing.pose.position[2] - thing.reach(thing.pose.quaternion)[2]) < ON_M
    return is_flat and not any(_is_above(other, thing) for other in scene)


def _check_still(situation: Situation) -> None:
    """Nothing may be in the way of what will move."""
    if not all(isinstance(event.effect, STILL) for event in situation.events):
        raise NotApplicable("things will move, and another might be in their way")


def _wrong(situation: Situation, scene: Scene, name: str) -> list[Condition]:
    """To take the new thing is as wrong as to take the others."""
    target = target_of(situation).name
    kinds = {type(one) for one in situation.never if isinstance(one, Lifted | Grasped) and one.thing != target}
    return [Grasped(name)] if Grasped in kinds else [lifted(scene, name)] if Lifted in kinds else []


def _ways(situation: Situation) -> list[Way]:
    """From each thing that is handled to where it goes, and as far behind it."""
    what, ways = heard(situation), []
    for clause in what.clauses:
        x, y, _ = situation.scene.thing(what.names[clause.target]).pose.position
        dx, dy = STANDING if clause.act == "stand" else (0.0, 0.0)
        if clause.place and clause.place.distance_m:
            heading = next(heading for way, heading in HEADINGS.items() if way == clause.place.relation)
            dx, dy = (clause.place.distance_m * along for along in heading)
        ways.append(((x, y), (x + dx, y + dy)))
        for reference in clause.place.of if clause.place else ():
            gx, gy, _ = situation.scene.thing(what.names[reference]).pose.position
            length = max(math.hypot(gx - x, gy - y), 1e-6)
            back = 0.12 / length
            ways.append(((x - back * (gx - x), y - back * (gy - y)), (gx, gy)))
    return ways


def _is_out_of_the_way(situation: Situation, thing: Thing, ways: Sequence[Way]) -> bool:
    x, y, _ = thing.pose.position
    needed = needed_things(situation)
    around_m = AROUND_M if all(each.act in NO_ROOM_BESIDE for each in heard(situation).clauses) else BESIDE_M
    for other in situation.scene:
        if other.is_parked or other.name == thing.name:
            continue
        gap = around_m if other.name in needed else APART_M
        if math.dist((x, y), other.pose.position[:2]) < thing.radius_m + other.radius_m + gap:
            return False
    return all(_beside_m((x, y), *way) >= thing.radius_m + WAY_M for way in ways)


def _beside_m(at: Spot, start: Spot, end: Spot) -> float:
    """How far a point is from a way."""
    along = (end[0] - start[0], end[1] - start[1])
    length2 = along[0] ** 2 + along[1] ** 2
    share = ((at[0] - start[0]) * along[0] + (at[1] - start[1]) * along[1]) / max(length2, 1e-12)
    share = min(1.0, max(0.0, share))
    return math.dist(at, (start[0] + share * along[0], start[1] + share * along[1]))
