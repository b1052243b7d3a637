"""Which way things point: inserted into a hole, upright, standing, along another."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from robodx.scoring.conditions import Condition, closeness
from robodx.scoring.relations import Geometric
from robodx.sim.geometry import Vector, conjugate, rotate

if TYPE_CHECKING:
    from robodx.sim.world import World


@dataclass(frozen=True)
class Inserted(Geometric):
    """A frame of one thing this deep in a hole of another (whose x axis points in), centred and pointing in."""

    thing: str
    hole_of: str
    depth_m: float
    tip: str = "tip"
    hole: str = "hole"
    lateral_m: float = 0.005
    angle_rad: float = 0.2

    def excess(self, world: World) -> float:
        hole, tip = world.frame(self.hole_of, self.hole), world.frame(self.thing, self.tip)
        dx, dy, dz = (a - b for a, b in zip(tip.position, hole.position, strict=True))
        depth, y, z = rotate(conjugate(hole.quaternion), (dx, dy, dz))
        # Which way round it goes in is the hole's business: what does not fit does not get in.
        turn = _angle(tip.axis("x"), hole.axis("x"))
        # A radian too much counts like a tenth of a metre.
        return math.hypot(
            max(0.0, self.depth_m - depth),
            max(0.0, math.hypot(y, z) - self.lateral_m),
            0.1 * max(0.0, turn - self.angle_rad),
        )

    def __str__(self) -> str:
        return f"{self.thing} {1000 * self.depth_m:g} mm deep in {self.hole_of}"


@dataclass(frozen=True)
class Tilted(Condition):
    """An axis of the thing within an angle of straight up."""

    thing: str
    max_angle_rad: float
    axis: str = "z"

    def holds(self, world: World) -> bool:
        return self._angle(world) <= self.max_angle_rad

    def progress(self, world: World) -> float:
        return _turned(self._angle(world), self.max_angle_rad)

    def _angle(self, world: World) -> float:
        return _angle(world.pose(self.thing).axis(self.axis), (0.0, 0.0, 1.0))

    def __str__(self) -> str:
        return f"{self.axis} axis of {self.thing} within {self.max_angle_rad:g} rad of upright"


@dataclass(frozen=True)
class Standing(Condition):
    """On one of its ends on the table: its axis within an angle of upright, its centre half its length up."""

    thing: str
    max_angle_rad: float = 0.08
    height_tolerance_m: float = 0.005
    axis: str = "x"

    def holds(self, world: World) -> bool:
        return self._angle(world) <= self.max_angle_rad and self._too_high(world) <= self.height_tolerance_m

    def progress(self, world: World) -> float:
        upright = _turned(self._angle(world), self.max_angle_rad)
        return (upright + closeness(self._too_high(world) - self.height_tolerance_m)) / 2

    def _angle(self, world: World) -> float:
        """Either end may be the upper one."""
        x, y, z = world.pose(self.thing).axis(self.axis)
        return math.atan2(math.hypot(x, y), abs(z))

    def _too_high(self, world: World) -> float:
        half = world.thing(self.thing).half_extents["xyz".index(self.axis)]
        return abs(world.position(self.thing)[2] - half)

    def __str__(self) -> str:
        return f"{self.thing} standing within {self.max_angle_rad:g} rad of upright"


@dataclass(frozen=True)
class Aligned(Condition):
    """An axis of one thing within an angle of an axis of another."""

    thing: str
    other: str
    max_angle_rad: float
    axis: str = "x"
    other_axis: str = "x"

    def holds(self, world: World) -> bool:
        return self._angle(world) <= self.max_angle_rad

    def progress(self, world: World) -> float:
        return _turned(self._angle(world), self.max_angle_rad)

    def _angle(self, world: World) -> float:
        return _angle(world.pose(self.thing).axis(self.axis), world.pose(self.other).axis(self.other_axis))

    def __str__(self) -> str:
        return f"{self.axis} axis of {self.thing} along {self.other}"


def _angle(a: Vector, b: Vector) -> float:
    return math.acos(min(1.0, max(-1.0, sum(p * q for p, q in zip(a, b, strict=True)))))


def _turned(angle_rad: float, max_angle_rad: float) -> float:
    """Progress of an angle: 1 within the limit, and half a turn too much is 0."""
    return min(1.0, max(0.0, 1.0 - (angle_rad - max_angle_rad) / math.pi))
