"""Moving one thing over the table, into a region or within its own."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from robodx.interventions.base import NotApplicable
from robodx.interventions.changing import REACH_X_M, REACH_Y_M, changed, is_clear, with_things
from robodx.sim.geometry import Pose
from robodx.sim.scene import Thing
from robodx.situations.attributes import depth_of, side_of
from robodx.tasks.base import Situation

TRIES = 200
# Within its region a thing is moved at least so far: a change of the same sort as into another.
LEAST_M = 0.03


@dataclass(frozen=True)
class RegionOfTable:
    """A part of the table, told by one recorded attribute."""

    word: str
    level: str
    of: Callable[[float, float], str]

    def attribute(self, role: str) -> str:
        return f"{role}_{self.word}"


def _side(x_m: float, y_m: float) -> str:
    return side_of(y_m)


def _depth(x_m: float, y_m: float) -> str:
    return depth_of(x_m)


REGIONS = {
    **{level: RegionOfTable("side", level, _side) for level in ("left", "right")},
    **{level: RegionOfTable("depth", level, _depth) for level in ("near", "far")},
    "centre": RegionOfTable("side", "middle", _side),
}


def moved_into(situation: Situation, thing: Thing, region: RegionOfTable, rng: np.random.Generator) -> Situation:
    x, y, _ = thing.pose.position
    if region.of(x, y) == region.level:
        raise NotApplicable(f"the {thing.name} lies there already")
    return _moved(situation, thing, rng, lambda nx, ny: region.of(nx, ny) == region.level)


def moved_within(situation: Situation, thing: Thing, rng: np.random.Generator) -> Situation:
    x, y, _ = thing.pose.position
    own = (_side(x, y), _depth(x, y))

    def fits(to_x: float, to_y: float) -> bool:
        return (_side(to_x, to_y), _depth(to_x, to_y)) == own and math.dist((x, y), (to_x, to_y)) >= LEAST_M

    return _moved(situation, thing, rng, fits)


def _moved(
    situation: Situation, thing: Thing, rng: np.random.Generator, fits: Callable[[float, float], bool]
) -> Situation:
    """To the first place drawn that fits, has room, and leaves what is meant as it was."""
    if thing.is_fixed:
        raise NotApplicable(f"the {thing.name} is fixed to the table")
    for _ in range(TRIES):
        x, y = rng.uniform(*REACH_X_M), rng.uniform(*REACH_Y_M)
        if not fits(x, y):
            continue
        there = thing.posed(Pose((x, y, thing.pose.position[2]), thing.pose.quaternion))
        scene = with_things(situation.scene, {thing.name: there})
        if not is_clear(scene, [thing.name]):
            continue
        try:
            return changed(situation, scene=scene)
        except NotApplicable:
            # There the words would mean something else.
            continue
    raise NotApplicable(f"there is no place for the {thing.name} that leaves the rest as it is")
