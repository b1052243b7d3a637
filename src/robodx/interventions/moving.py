"""Moving things over the table, into a region or within their own, with the same asked of the same things."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from fnmatch import fnmatchcase
from typing import TypeVar

import numpy as np

from robodx.experts.grasps import ROUND, nearest_turn, yaw_of
from robodx.interventions.base import NotApplicable
from robodx.interventions.changing import changed, heard, with_things
from robodx.interventions.room import ANYWHERE, Spot, is_apart, obstacles
from robodx.language.plain_wording import understood
from robodx.scoring.events import Appear, Move, Push, Roll, RunBelt
from robodx.scoring.from_meaning import looks
from robodx.scoring.parts import walk
from robodx.scoring.relations import Beside, HandAt, InsideRegion
from robodx.scoring.sides import Displaced
from robodx.sim.geometry import Pose
from robodx.sim.scene import Thing
from robodx.situations.attributes import INNER_X_M, INNER_Y_M, MIDDLE_X_M, MIDDLE_Y_M, depth_of, edge_of, side_of
from robodx.situations.features import features_of
from robodx.tasks.base import Situation

T = TypeVar("T")

TRIES = 24
# A thing is moved at least so far, into another region or within its own: less would hardly be a change.
LEAST_M = 0.03
# Room for open fingers around a thing that was moved.
GAP_M = 0.04
NOT_YET_M = 0.02
# A thing stands on the table if its lower face is no further from it.
STANDS_M = 0.004
# What happens at places of its own: a thing moved elsewhere would not meet it, or meet it otherwise.
TIED_TO_PLACES = (Appear, Move, Push, Roll, RunBelt, HandAt, InsideRegion)


@dataclass(frozen=True)
class RegionOfTable:
    """A part of the table, told by one recorded attribute; its bounds hold it, and the attribute tells exactly."""

    word: str
    level: str
    x: tuple[float, float] = ANYWHERE.x
    y: tuple[float, float] = ANYWHERE.y

    def sets(self, role: str) -> dict[str, str]:
        return {f"{role}_{self.word}": self.level}

    def has(self, x_m: float, y_m: float) -> bool:
        return LEVELS[self.word](x_m, y_m) == self.level


LEVELS: dict[str, Callable[[float, float], str]] = {
    "side": lambda x_m, y_m: side_of(y_m),
    "depth": lambda x_m, y_m: depth_of(x_m),
    "edge": edge_of,
}
REGIONS = {
    "left": RegionOfTable("side", "left", y=(MIDDLE_Y_M[1], ANYWHERE.y[1])),
    "middle": RegionOfTable("side", "middle", y=MIDDLE_Y_M),
    "right": RegionOfTable("side", "right", y=(ANYWHERE.y[0], MIDDLE_Y_M[0])),
    "near": RegionOfTable("depth", "near", x=(ANYWHERE.x[0], MIDDLE_X_M[0])),
    "halfway": RegionOfTable("depth", "middle", x=MIDDLE_X_M),
    "far": RegionOfTable("depth", "far", x=(MIDDLE_X_M[1], ANYWHERE.x[1])),
    "edge": RegionOfTable("edge", "yes"),
    "centre": RegionOfTable("edge", "no", x=INNER_X_M, y=INNER_Y_M),
}


def places_of(role: str) -> tuple[str, ...]:
    """What is recorded of where a thing lies, in words."""
    return tuple(f"{role}_{word}" for word in LEVELS)


def spot_of(thing: Thing) -> Spot:
    return thing.pose.position[0], thing.pose.position[1]


def turn_deg(thing: Thing) -> float | None:
    """From its nearest sides to the table's edges, -45 to 45; None of what is round."""
    return None if thing.kind in ROUND else math.degrees(nearest_turn(yaw_of(thing.pose), math.pi / 2))


def at_spot(thing: Thing, spot: Spot) -> Pose:
    """There, as high and turned as it is."""
    return Pose((*spot, thing.pose.position[2]), thing.pose.quaternion)


def moved_into(
    situation: Situation, thing: Thing, role: str, region: RegionOfTable, rng: np.random.Generator
) -> Situation:
    """Along one axis of the table if there is room; what else is told of its place keeps its level.

    Only whether it lies at the edge may change, where there is no other way.
    """
    x, y = spot_of(thing)
    if region.has(x, y):
        raise NotApplicable(f"the {thing.name} lies there already")
    check_movable(situation, thing)
    kept = [word for word in LEVELS if word != region.word]
    along_y, along_x = ((x, x), region.y), (region.x, (y, y))
    straight = {"side": [along_y], "depth": [along_x], "edge": [along_y, along_x]}[region.word]
    ways = [(bounds, kept) for bounds in (*straight, (region.x, region.y))]
    if "edge" in kept:
        ways += [(bounds, [word for word in kept if word != "edge"]) for bounds, _ in ways]
    may_change = (*places_of(role), *_along_with(situation, role))
    for (bounds_x, bounds_y), words in ways:
        for _ in range(TRIES):
            spot = rng.uniform(*bounds_x), rng.uniform(*bounds_y)
            if not region.has(*spot) or math.dist(spot, (x, y)) < LEAST_M:
                continue
            if any(LEVELS[word](*spot) != LEVELS[word](x, y) for word in words):
                continue
            after = _try(situation, {thing.name: at_spot(thing, spot)}, may_change)
            if after is not None:
                return after
    raise NotApplicable(f"there is no place for the {thing.name} there that leaves the rest as it is")


def moved_within(situation: Situation, thing: Thing, role: str, rng: np.random.Generator) -> Situation:
    """As far as there is room, all that is told of its place kept."""
    x, y = spot_of(thing)
    check_movable(situation, thing)
    spots = [(rng.uniform(*ANYWHERE.x), rng.uniform(*ANYWHERE.y)) for _ in range(4 * TRIES)]
    spots = [spot for spot in spots if all(level(*spot) == level(x, y) for level in LEVELS.values())]
    may_change = _along_with(situation, role)
    for spot in sorted(spots, key=lambda spot: -math.dist(spot, (x, y))):
        if math.dist(spot, (x, y)) < LEAST_M:
            break
        after = _try(situation, {thing.name: at_spot(thing, spot)}, may_change)
        if after is not None:
            return after
    raise NotApplicable(f"there is no other place for the {thing.name} in its part of the table")


def _along_with(situation: Situation, role: str) -> tuple[str, ...]:
    """Where a target goes changes with where it lies, if that is said by how far."""
    place = heard(situation).clauses[0].place
    return places_of("goal") if role == "target" and place is not None and not place.of else ()


def check_movable(situation: Situation, *things: Thing) -> None:
    """Nothing happens at a place of its own, and these stand on the table by themselves."""
    for part in walk((situation.stages, situation.never, situation.events)):
        if isinstance(part, TIED_TO_PLACES):
            raise NotApplicable("what happens here is tied to places on the table")
    for thing in things:
        x, y, z = thing.pose.position
        reach = thing.reach(thing.pose.quaternion)
        if thing.is_parked or abs(z - reach[2]) > STANDS_M:
            raise NotApplicable(f"the {thing.name} does not stand on the table")
        for other in situation.scene:
            ox, oy, _ = other.pose.position
            beyond = other.reach(other.pose.quaternion)
            is_over = abs(x - ox) < reach[0] + beyond[0] and abs(y - oy) < reach[1] + beyond[1]
            if is_over and other.name != thing.name and not other.is_parked:
                raise NotApplicable(f"the {thing.name} and the {other.name} are on or in one another")


def _try(situation: Situation, poses: Mapping[str, Pose], may_change: Iterable[str]) -> Situation | None:
    try:
        return laid(situation, poses, may_change)
    except NotApplicable:
        return None


def laid(situation: Situation, poses: Mapping[str, Pose], may_change: Iterable[str]) -> Situation:
    """With these things laid so, if there is room, the same is asked of the same, and no other attribute changes."""
    things = {name: situation.scene.thing(name) for name in poses}
    scene = with_things(situation.scene, {name: things[name].posed(pose) for name, pose in poses.items()})
    moved = [name for name, pose in poses.items() if spot_of(things[name]) != pose.position[:2]]
    if not is_apart(scene, moved, _gap_m(situation)):
        raise NotApplicable("there is no room")
    was, now = heard(situation), understood(situation.instruction.meaning, looks(scene))
    if now is None or now.acts != was.acts:
        raise NotApplicable("the words would mean other things")
    if more := obstacles(now, scene) - obstacles(was, situation.scene):
        raise NotApplicable(min(more)[1])
    after = changed(situation, scene=scene)
    shifts = {name: (spot_of(things[name]), pose.position[:2]) for name, pose in poses.items()}
    after = replace(after, stages=_begun_at(after.stages, shifts), never=_begun_at(after.never, shifts))
    check_kept(situation, after, may_change)
    return after


def _gap_m(situation: Situation) -> float:
    """Room for open fingers; and more than what counts as beside another, for nothing shall be so from the start."""
    beside = [part.gap_m for part in walk((situation.stages, situation.never)) if isinstance(part, Beside)]
    return max([GAP_M, *(gap_m + NOT_YET_M for gap_m in beside)])


def check_kept(before: Situation, after: Situation, may_change: Iterable[str]) -> None:
    """No recorded attribute has another level, but for these, given as patterns."""
    was, now = features_of(before), features_of(after)
    for name in {**was, **now}:
        if was.get(name) != now.get(name) and not any(fnmatchcase(name, pattern) for pattern in may_change):
            raise NotApplicable(f"{name} would change too")


def _begun_at(part: T, shifts: Mapping[str, tuple[Spot, Spot]]) -> T:
    """Conditions on how far a thing has come, from where it lies now."""
    if isinstance(part, Displaced) and part.thing in shifts:
        (x, y), (to_x, to_y) = shifts[part.thing]
        return replace(part, start=(part.start[0] + to_x - x, part.start[1] + to_y - y))
    if isinstance(part, tuple):
        return tuple(_begun_at(one, shifts) for one in part)  # type: ignore[return-value]
    if is_dataclass(part) and not isinstance(part, type):
        values = {field.name: getattr(part, field.name) for field in fields(part) if field.init}
        moved = {name: _begun_at(value, shifts) for name, value in values.items()}
        return part if moved == values else replace(part, **moved)
    return part
