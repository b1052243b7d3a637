"""What is in the way of what is asked for: things on the way, goals that are taken, and places out of reach."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from robodx.experts.grasps import yaw_of
from robodx.language.meaning import DIRECTIONS, Clause
from robodx.language.plain_wording import Understood
from robodx.scoring.sides import FLANKS, HEADINGS
from robodx.sim.scene import Scene, Thing

Spot = tuple[float, float]
Range = tuple[float, float]
Obstacle = tuple[int, str]


class Bounds(NamedTuple):
    """Where a thing may lie, and how far it may be turned, for something to be done with it."""

    x: Range
    y: Range
    yaw_rad: Range = (-math.pi, math.pi)

    def holds(self, thing: Thing) -> bool:
        x, y, _ = thing.pose.position
        return _within(x, self.x) and _within(y, self.y) and _within(yaw_of(thing.pose), self.yaw_rad)


# By what is done with it. A part is inserted as it was taken: it lies before the hole, and points away from the robot.
# The hand that stands a peg on its end lies beside it.
ANYWHERE = Bounds((-0.22, 0.10), (-0.25, 0.25))
TARGETS = {
    "insert": Bounds((-0.22, -0.08), (-0.22, 0.22), (-1.3, 1.3)),
    "stand": Bounds((-0.18, 0.02), (-0.15, 0.15)),
    "press": Bounds((-0.20, 0.02), (-0.20, 0.20)),
}
GOALS = {
    "insert": Bounds((0.02, 0.10), (-0.14, 0.14), (-0.5, 0.5)),
    "push": Bounds((-0.15, 0.05), (-0.18, 0.18)),
    "roll": Bounds((-0.15, 0.05), (-0.18, 0.18)),
    "put": Bounds((-0.20, 0.08), (-0.23, 0.23)),
}
# Where things can still be set down, and what they and the hand need around them there.
DOWN = Bounds((-0.26, 0.14), (-0.28, 0.28))
AROUND_M = 0.045
# What a hand that comes along the table needs on both sides of its way, and behind what it pushes.
ALONG_M, BEHIND_M, BEFORE_HOLE_M = 0.06, 0.06, 0.16
# Gaps between faces that the verbs leave, and how far from done a situation begins.
FLANK_GAP_M, NEAR_GAP_M, NOT_YET_M = 0.05, 0.037, 0.04
FLANK_FAR_M = 0.3
# What the hand takes up that stands a peg on its end: along x on both sides, and to the right.
TURNED_ASIDE_M = (0.11, 0.30)


def is_apart(scene: Scene, names: Iterable[str], gap_m: float) -> bool:
    """Whether these things are so far from all others, at least."""
    there = [thing for thing in scene if not thing.is_parked]
    moved = [scene.thing(name) for name in names]
    return all(_apart_m(one, other) >= gap_m for one in moved for other in there if other.name != one.name)


def _apart_m(one: Thing, other: Thing) -> float:
    """Between the circle around the one and the rectangle of the other, whichever is which; never more than it is."""
    return max(_outside_m(_at(a), b) - a.radius_m for a, b in ((one, other), (other, one)))


def _outside_m(spot: Spot, thing: Thing) -> float:
    """How far a spot is from a thing's sides, as it is turned."""
    (x, y), yaw = _at(thing), yaw_of(thing.pose)
    dx, dy = spot[0] - x, spot[1] - y
    along, across = abs(math.cos(yaw) * dx + math.sin(yaw) * dy), abs(math.cos(yaw) * dy - math.sin(yaw) * dx)
    half_x, half_y, _ = thing.half_extents
    return math.hypot(max(0.0, along - half_x), max(0.0, across - half_y))


def obstacles(what: Understood, scene: Scene) -> frozenset[Obstacle]:
    """What is in the way of each act, by its number; what a task's own layout has may be harmless."""
    return frozenset(
        (number, found) for number, clause in enumerate(what.clauses) for found in _of(clause, number, what, scene)
    )


def _of(clause: Clause, number: int, what: Understood, scene: Scene) -> Iterator[str]:
    thing = scene.thing(what.names[clause.target])
    goals = [scene.thing(what.names[each]) for each in clause.place.of] if clause.place else []
    if not TARGETS.get(clause.action, ANYWHERE).holds(thing):
        yield "the thing is out of reach"
    if goals and not GOALS.get(clause.action, ANYWHERE).holds(goals[0]):
        yield "the goal is out of reach"
    # What is moved before lies elsewhere by then.
    handled = {what.names[before.target] for before in what.clauses[: number + 1]}
    if any(goal.name in handled for goal in goals):
        return
    others = [t for t in scene if not t.is_parked and t.name not in handled and t not in goals]
    relation = clause.place.relation if clause.place else None
    if clause.action == "stand":
        yield from _turning_aside(thing, others)
    elif relation in DIRECTIONS and clause.place is not None and clause.place.distance_m is not None:
        dx, dy = (clause.place.distance_m * way for way in next(HEADINGS[d] for d in DIRECTIONS if d == relation))
        x, y = _at(thing)
        yield from _taken([(x + dx, y + dy)], thing, others)
    elif relation == "between" and len(goals) == 2:
        (ax, ay), (bx, by) = map(_at, goals)
        yield from _taken([((ax + bx) / 2, (ay + by) / 2)], thing, others)
    elif goals and clause.action in ("push", "roll"):
        yield from _along(thing, goals[0], others)
    elif goals and clause.action == "insert" and "hole" in dict(goals[0].frames):
        hole = goals[0].pose @ goals[0].frame("hole")
        (x, y, _), (ax, ay, _) = hole.position, hole.axis("x")
        yield from _on_the_way((x - BEFORE_HOLE_M * ax, y - BEFORE_HOLE_M * ay), (x, y), others)
    elif goals and relation in ("near", "beside"):
        yield from _next_to(thing, goals[0], others, relation == "beside")
    elif goals and relation in FLANKS:
        yield from _at_side(thing, goals[0], others, *next(FLANKS[side] for side in FLANKS if side == relation))


def _at(thing: Thing) -> Spot:
    return thing.pose.position[0], thing.pose.position[1]


def _within(value: float, bounds: Range) -> bool:
    return bounds[0] <= value <= bounds[1]


def _taken(spots: Iterable[Spot], thing: Thing, others: list[Thing]) -> Iterator[str]:
    """Nothing, if one of these is within reach and free."""
    near = [spot for spot in spots if _within(spot[0], DOWN.x) and _within(spot[1], DOWN.y)]
    if not near:
        yield "where it goes is out of reach"
    elif not any(all(math.dist(s, _at(o)) >= thing.radius_m + o.radius_m + AROUND_M for o in others) for s in near):
        yield "where it goes is taken"


def _turning_aside(thing: Thing, others: list[Thing]) -> Iterator[str]:
    (x, y), (width, length) = _at(thing), TURNED_ASIDE_M
    for other in others:
        ox, oy = _at(other)
        if abs(ox - x) < width + other.radius_m and y - length < oy < y:
            yield f"{other.name} is beside it"


def _along(thing: Thing, goal: Thing, others: list[Thing]) -> Iterator[str]:
    (x, y), (gx, gy) = _at(thing), _at(goal)
    length = math.dist((x, y), (gx, gy))
    if length < goal.half_extents[0] + NOT_YET_M:
        yield "it is there already"
        return
    back = (thing.radius_m + BEHIND_M) / length
    start = (x - back * (gx - x), y - back * (gy - y))
    if not (_within(start[0], DOWN.x) and _within(start[1], DOWN.y)):
        yield "behind it is out of reach"
    yield from _on_the_way(start, (gx, gy), others)


def _on_the_way(start: Spot, end: Spot, others: list[Thing]) -> Iterator[str]:
    dx, dy = end[0] - start[0], end[1] - start[1]
    for other in others:
        ox, oy = _at(other)
        along = ((ox - start[0]) * dx + (oy - start[1]) * dy) / (dx * dx + dy * dy)
        share = min(1.0, max(0.0, along))
        if math.dist((ox, oy), (start[0] + share * dx, start[1] + share * dy)) < other.radius_m + ALONG_M:
            yield f"{other.name} is in the way"


def _next_to(thing: Thing, goal: Thing, others: list[Thing], is_square: bool) -> Iterator[str]:
    if math.dist(_at(thing), _at(goal)) < thing.radius_m + goal.radius_m + NEAR_GAP_M + NOT_YET_M:
        yield "it is there already"
    (x, y), reach, half = _at(goal), goal.reach(goal.pose.quaternion), max(thing.half_extents[:2])
    dx, dy = (reach[axis] + half + (0.0 if is_square else NEAR_GAP_M) for axis in (0, 1))
    sides = [(x + dx, y), (x - dx, y)] + ([] if is_square else [(x, y + dy), (x, y - dy)])
    yield from _taken(sides, thing, others)


def _at_side(thing: Thing, goal: Thing, others: list[Thing], axis: int, way: int) -> Iterator[str]:
    here, there = _at(thing), _at(goal)
    along, across = way * (here[axis] - there[axis]), abs(here[1 - axis] - there[1 - axis])
    if across - NOT_YET_M <= along <= FLANK_FAR_M:
        yield "it is there already"
    spot = list(there)
    spot[axis] += way * (goal.reach(goal.pose.quaternion)[axis] + max(thing.half_extents[:2]) + FLANK_GAP_M)
    yield from _taken([(spot[0], spot[1])], thing, others)
