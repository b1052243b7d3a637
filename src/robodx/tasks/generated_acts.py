"""What generated situations ask for: acts, with what each can be done, where it needs room, and how it is scored."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple, TypeVar, get_args

import numpy as np

from robodx.language.meaning import DIRECTIONS, Clause, Direction, Meaning, Place, Relation
from robodx.language.reference import Reference
from robodx.scoring.conditions import Condition
from robodx.scoring.contact import Touched, TouchedFirst, TouchedOtherFirst, settled
from robodx.scoring.from_meaning import LIFT_M, STAGES, lifted, looks, stages_for
from robodx.scoring.relations import CentredOn, Lifted
from robodx.scoring.sides import FLANKS, HEADINGS, Displaced, Flank, Flanking
from robodx.sim.objects import crate, goal_disc, hole_block, switch
from robodx.sim.scene import Scene, Thing
from robodx.tasks.carrier import ANY, CONTAINERS, FLAT_BELOW, FLAT_ON_TOP, LOOSE, SHORT
from robodx.tasks.robustness import beside_m

Spot = tuple[float, float]
Range = tuple[float, float]
SIDES: tuple[Flank, ...] = get_args(Flank)
# What is pushed may tip over and roll away; and only a cube is squared up with what it is put beside.
PUSHED = ("cube", "triangular block", "T-block", "peg")
DISTANCES_M = (0.08, 0.15)
# Where the hand still sets things down well, and what it leaves between them and all others.
WITHIN_REACH: tuple[Range, Range] = ((-0.26, 0.14), (-0.28, 0.28))
AROUND_M = 0.045
# What a hand that comes along the table needs on both sides of its way, and before what it pushes.
ALONG_M = 0.06
BEFORE_M = 0.06
# Between faces: an expert's own distances, from the verbs' files, and how far from done a situation begins.
FLANK_GAP_M, NEAR_GAP_M = 0.05, 0.037
NOT_YET_M = 0.04
# On all sides of a peg in its hole, as in control/insert_peg.
CLEARANCE_M = 0.003
# Half as high as the fingers are long, and what the hand above them adds to them.
HIGH_M, BESIDE_HIGH_M = 0.03, 0.03
# The hand that stands a peg on its end lies to its right.
TURNED_ASIDE_M = (0.11, 0.30)

Choice = TypeVar("Choice")


class Rejected(Exception):
    """What was drawn cannot be done or told; why."""


class Hopeless(Rejected):
    """And would not with other things either."""


def one_of(rng: np.random.Generator, choices: Sequence[Choice]) -> Choice:
    return choices[int(rng.random() * len(choices))]


class Bounds(NamedTuple):
    """Where on the table, and how far turned."""

    x: Range
    y: Range
    turn: Range = (-math.pi, math.pi)


@dataclass(frozen=True)
class Act:
    """A verb with its relations, and with which kinds and where on the table it can be done."""

    action: str
    kinds: tuple[str, ...]
    relations: tuple[Relation, ...] = ()
    goals: tuple[str, ...] = ()
    # Of what is handled and of where it goes, if not anywhere.
    target_within: Bounds | None = None
    goal_within: Bounds | None = None
    distances_m: tuple[float, ...] = ()
    # Afterwards the hand is free for what is to be done next.
    frees_hand: bool = True
    # What is touched or pressed on the way to it is another answer: such an act comes first, or alone.
    is_first: bool = False


# Regions of the tasks that ask for the same: control.INSERTED and HOLE, primitive.LYING, control.DISC.
PEG = Bounds((-0.20, -0.08), (-0.20, 0.20), (-1.3, 1.3))
HOLE = Bounds((0.02, 0.10), (-0.14, 0.14), (-0.5, 0.5))
LYING = Bounds((-0.18, 0.02), (-0.15, 0.15))
DISC = Bounds((-0.15, 0.05), (-0.18, 0.18), (0.0, 0.0))

ACTS = (
    Act("pick", ANY, frees_hand=False),
    Act("touch", ANY, is_first=True),
    Act("press", ("switch",)),
    Act("stand", ("peg",), target_within=LYING),
    Act("push", PUSHED, ("onto",), ("disc",), goal_within=DISC),
    Act("roll", ("sphere",), ("onto",), ("disc",), goal_within=DISC),
    Act("put", SHORT, ("in",), tuple(CONTAINERS)),
    Act("put", FLAT_BELOW, ("on",), (*FLAT_ON_TOP, "crate")),
    Act("put", ("cube",), ("beside",), ("cube", "cylinder", "crate", "box")),
    Act("put", FLAT_BELOW, SIDES, (*ANY, "crate", "box", "bowl")),
    Act("move", FLAT_BELOW, ("near",), ANY),
    Act("move", FLAT_BELOW, DIRECTIONS, distances_m=DISTANCES_M),
    Act("insert", ("peg",), ("into",), ("block with a hole",), target_within=PEG, goal_within=HOLE),
)  # fmt: skip
FIXED: dict[str, Callable[[str], Thing]] = {
    **CONTAINERS,
    "crate": crate,
    "disc": goal_disc,
    "switch": switch,
}


@cache
def made(kind: str, colour: str, scale: float) -> Thing:
    return LOOSE[kind](colour, scale) if kind in LOOSE else FIXED[kind](colour)


def footprint_m(thing: Thing) -> float:
    """Of the circle around it: a disc has no corners, and beside what is high the hand needs more room than fingers."""
    if thing.kind == "disc":
        return thing.half_extents[0]
    return thing.radius_m + (BESIDE_HIGH_M if thing.half_extents[2] > HIGH_M else 0.0)


class Deed(NamedTuple):
    """An act with what it is done to: the things' names, which relation and how far."""

    act: Act
    target: str
    goal: str | None
    relation: str | None
    distance_m: float = 0.0

    def clause(self, target: Reference, goal: Reference | None) -> Clause:
        relations = self.act.relations
        place = None
        if relation := next((each for each in relations if each == self.relation), None):
            among = relations if len(relations) > 1 else ()
            place = Place(relation, () if goal is None else (goal,), self.distance_m or None, among)
        return Clause(self.act.action, target, place)


def goal_for(act: Act, target: Thing, kind: str, colour: str, scale: float) -> Thing:
    """What the target goes to: a hole is as wide as it takes, and a container may be too small for it."""
    if kind == "block with a hole":
        return hole_block(colour, target.half_extents[1] + CLEARANCE_M)
    goal = made(kind, colour, scale)
    if "in" in act.relations and target.radius_m >= min(goal.cavity_half or (0.0,)):
        raise Rejected("too big for the container")
    return goal


# Room.


class Circle(NamedTuple):
    at: Spot
    radius_m: float

    def is_clear_of(self, others: Iterable[Circle], gap_m: float) -> bool:
        return all(math.dist(self.at, other.at) >= self.radius_m + other.radius_m + gap_m for other in others)


def circle(thing: Thing) -> Circle:
    x, y, _ = thing.pose.position
    return Circle((x, y), footprint_m(thing))


def check_room(deeds: Sequence[Deed], scene: Scene) -> None:
    """That these can be done one after the other as things lie; what was moved lies elsewhere then."""
    standing = {thing.name: circle(thing) for thing in scene}
    moved: list[Circle] = []
    for deed in deeds:
        others = [each for name, each in standing.items() if name not in (deed.target, deed.goal)] + moved
        moved += _landing(deed, scene, others)


def _landing(deed: Deed, scene: Scene, others: list[Circle]) -> list[Circle]:
    """Where the thing comes to lie, if not where another stands already; or what is in the way."""
    thing = scene.thing(deed.target)
    goal = scene.thing(deed.goal) if deed.goal else None
    here = circle(thing)
    match deed.act.action, deed.relation:
        case ("move", "left" | "right" | "forward" | "back"):
            dx, dy = HEADINGS[_direction(deed)]
            spot = (here.at[0] + dx * deed.distance_m, here.at[1] + dy * deed.distance_m)
            return _free([Circle(spot, here.radius_m)], others)
        case ("stand", _):
            (x, y), (width, length) = here.at, TURNED_ASIDE_M
            is_there = any(abs(at[0] - x) < width + radius and y - length < at[1] < y for at, radius in others)
            if is_there:
                raise Rejected("no room to stand it up")
            return []
        case ("push" | "roll", _):
            return _way_onto(here, goal, others)
        case ("insert", _):
            return _way_into(here, goal, others)
        case ("move", "near"):
            return _beside(thing, goal, others, NEAR_GAP_M)
        case ("put", "beside"):
            return _beside(thing, goal, others, 0.002, is_square=True)
        case ("put", side) if side in FLANKS:
            return _at_side(thing, goal, others, next(flank for flank in FLANKS if flank == side))
    return []


def _direction(deed: Deed) -> Direction:
    return next(direction for direction in DIRECTIONS if direction == deed.relation)


def _free(spots: Sequence[Circle], others: list[Circle]) -> list[Circle]:
    """The first of these that is in reach and clear of others."""
    (x0, x1), (y0, y1) = WITHIN_REACH
    near = [spot for spot in spots if x0 <= spot.at[0] <= x1 and y0 <= spot.at[1] <= y1]
    if not near:
        raise Rejected("its goal is out of reach")
    free = [spot for spot in near if spot.is_clear_of(others, AROUND_M)]
    if not free:
        raise Rejected("its goal is taken")
    return free[:1]


def _way_onto(here: Circle, goal: Thing | None, others: list[Circle]) -> list[Circle]:
    assert goal is not None
    end = circle(goal)
    length = math.dist(here.at, end.at)
    if length < end.radius_m + NOT_YET_M:
        raise Rejected("done already")
    # From behind the thing, where the hand comes down.
    back = (here.radius_m + BEFORE_M) / length
    start = (here.at[0] - back * (end.at[0] - here.at[0]), here.at[1] - back * (end.at[1] - here.at[1]))
    (x0, x1), (y0, y1) = WITHIN_REACH
    if not (x0 <= start[0] <= x1 and y0 <= start[1] <= y1):
        raise Rejected("behind it is out of reach")
    _check_way(start, end.at, others)
    return [Circle(end.at, here.radius_m)]


def _way_into(here: Circle, goal: Thing | None, others: list[Circle]) -> list[Circle]:
    assert goal is not None
    hole = goal.pose @ goal.frame("hole")
    (x, y, _), (ax, ay, _) = hole.position, hole.axis("x")
    before = (x - 0.16 * ax, y - 0.16 * ay)
    _check_way(before, (x, y), others)
    return []


def _check_way(start: Spot, end: Spot, others: list[Circle]) -> None:
    ends = (*start, 0.0), (*end, 0.0)
    if not all(beside_m(at, *ends) >= radius + ALONG_M for at, radius in others):
        raise Rejected("the way is blocked")


def _beside(
    thing: Thing, goal: Thing | None, others: list[Circle], gap_m: float, is_square: bool = False
) -> list[Circle]:
    """On any side of the other; if squared up with it, then behind or in front of it as it is turned."""
    assert goal is not None
    here, there = circle(thing), circle(goal)
    if not here.is_clear_of([there], 0.05 + NOT_YET_M):
        raise Rejected("done already")
    reach = goal.reach(goal.pose.quaternion)
    half = max(thing.half_extents[:2])
    (x, y), off = there.at, [reach[axis] + half + gap_m for axis in (0, 1)]
    sides = [(x + off[0], y), (x - off[0], y)] + ([] if is_square else [(x, y + off[1]), (x, y - off[1])])
    return _free([Circle(spot, here.radius_m) for spot in sides], others)


def _at_side(thing: Thing, goal: Thing | None, others: list[Circle], side: Flank) -> list[Circle]:
    assert goal is not None
    axis, way = FLANKS[side]
    here, there = thing.pose.position, goal.pose.position
    along, across = way * (here[axis] - there[axis]), abs(here[1 - axis] - there[1 - axis])
    if across - NOT_YET_M <= along <= 0.3:
        raise Rejected("done already")
    spot = [there[0], there[1]]
    spot[axis] += way * (goal.reach(goal.pose.quaternion)[axis] + max(thing.half_extents[:2]) + FLANK_GAP_M)
    return _free([Circle((spot[0], spot[1]), footprint_m(thing))], others)


# What counts.


def scored(meaning: Meaning, scene: Scene, deeds: Sequence[Deed]) -> tuple[list[Condition], list[Condition]]:
    """Stages one after the other, and what never may happen: to do it with another thing, elsewhere, or too early."""
    clauses = meaning.decided(looks(scene))
    handled = {deed.target for deed in deeds}
    stages: list[Condition] = []
    never: list[Condition] = []
    done: Condition | None = None
    for clause, deed in zip(clauses, deeds, strict=True):
        own = _stages(clause, deed, scene)
        if done is not None and not scene.thing(deed.target).is_fixed:
            never.append(lifted(scene, deed.target) & ~done.latched())
        never += _wrong(clause, deed, scene, handled)
        stages += own
        done = own[-1]
    never += [lifted(scene, thing.name) for thing in scene if not thing.is_fixed and thing.name not in handled]
    return stages, never


def _stages(clause: Clause, deed: Deed, scene: Scene) -> tuple[Condition, ...]:
    name = deed.target
    match deed.act.action, deed.relation:
        case ("touch", _):
            return (TouchedFirst(name),)
        case ("roll", _):
            assert deed.goal is not None
            return (Touched(name), _there(name, deed.goal, scene))
        case ("move", "left" | "right" | "forward" | "back"):
            return (Touched(name), _displaced(deed, scene, _direction(deed)))
    return stages_for(Meaning((clause,)), scene)


def _there(name: str, disc: str, scene: Scene) -> Condition:
    return settled(name) & CentredOn(name, disc, scene.thing(disc).half_extents[0])


def _displaced(deed: Deed, scene: Scene, way: Direction) -> Condition:
    x, y, _ = scene.thing(deed.target).pose.position
    return settled(deed.target) & Displaced(deed.target, (x, y), way, deed.distance_m)


def _wrong(clause: Clause, deed: Deed, scene: Scene, handled: set[str]) -> list[Condition]:
    """Other answers that are seen at once, besides lifting another thing."""
    name, goal = deed.target, deed.goal
    alike = [thing for thing in scene if thing.name not in (*handled, goal) and thing.kind in deed.act.kinds]
    match deed.act.action, deed.relation:
        case ("touch", _):
            return [TouchedOtherFirst(name)]
        case ("press", _):
            return [stage for thing in alike for stage in STAGES[clause.act](thing.name, (), scene)]
        case ("push" | "roll", _):
            assert goal is not None
            carried = [Lifted(name, LIFT_M)] if deed.act.action == "roll" else []
            return [*carried, *(_there(thing.name, goal, scene) for thing in alike)]
        case ("move", "left" | "right" | "forward" | "back"):
            return [_displaced(deed, scene, way) for way in DIRECTIONS if way != deed.relation]
        case ("put", side) if side in FLANKS and goal is not None:
            taken = lifted(scene, name).latched() & settled(name)
            return [taken & Flanking(name, goal, other) for other in SIDES if other != side]
    return []
