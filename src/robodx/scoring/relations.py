"""Where things are: relations between things, left and right as the robot sees them (it faces +x, left is +y)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from robodx.scoring.conditions import Condition, closeness
from robodx.sim.geometry import conjugate, multiply, rotate, to_rotation_vector

if TYPE_CHECKING:
    from robodx.sim.world import World


@dataclass(frozen=True)
class On(Condition):
    """Resting on top: the lower face at the other's upper face, and the two overlapping as seen from above."""

    thing: str
    support: str
    height_tolerance_m: float = 0.005
    # Less overlap than this is a thing about to tip off.
    overlap_m: float = 0.005

    def holds(self, world: World) -> bool:
        across, up = self._errors(world)
        return across <= 0.0 and up <= self.height_tolerance_m

    def progress(self, world: World) -> float:
        across, up = self._errors(world)
        return closeness(math.hypot(max(0.0, across), max(0.0, up - self.height_tolerance_m)), 0.0)

    def _errors(self, world: World) -> tuple[float, float]:
        """How much too far apart sideways (negative: overlapping), and how far off in height."""
        (ax, ay, az), (bx, by, bz) = world.position(self.thing), world.position(self.support)
        (arx, ary, arz), (brx, bry, brz) = world.reach(self.thing), world.reach(self.support)
        across = max(abs(ax - bx) - arx - brx, abs(ay - by) - ary - bry) + self.overlap_m
        return across, abs((az - arz) - (bz + brz))

    def __str__(self) -> str:
        return f"{self.thing} on {self.support}"


@dataclass(frozen=True)
class In(Condition):
    """Inside a container: the centre within its walls, the lower face below its rim."""

    thing: str
    container: str

    def holds(self, world: World) -> bool:
        (ax, ay, az), (bx, by, bz) = world.position(self.thing), world.position(self.container)
        rx, ry, rz = world.reach(self.container)
        bottom = az - world.reach(self.thing)[2]
        return abs(ax - bx) <= rx and abs(ay - by) <= ry and bz - rz - 0.002 <= bottom <= bz + rz

    def progress(self, world: World) -> float:
        if self.holds(world):
            return 1.0
        distance = math.dist(world.position(self.thing), world.position(self.container))
        return min(0.99, closeness(distance, 0.0))

    def __str__(self) -> str:
        return f"{self.thing} in {self.container}"


@dataclass(frozen=True)
class CentredOn(Condition):
    """The centre within a distance of the other's centre (or of a frame on it), as seen from above."""

    thing: str
    other: str
    tolerance_m: float
    frame: str | None = None

    def holds(self, world: World) -> bool:
        return self._distance(world) <= self.tolerance_m

    def progress(self, world: World) -> float:
        return closeness(self._distance(world), self.tolerance_m)

    def _distance(self, world: World) -> float:
        ax, ay, _ = world.position(self.thing)
        bx, by, _ = world.frame(self.other, self.frame).position if self.frame else world.position(self.other)
        return math.hypot(ax - bx, ay - by)

    def __str__(self) -> str:
        return f"{self.thing} within {1000 * self.tolerance_m:g} mm of the centre of {self.other}"


@dataclass(frozen=True)
class Near(Condition):
    """Centres within a distance."""

    thing: str
    other: str
    distance_m: float = 0.05

    def holds(self, world: World) -> bool:
        return math.dist(world.position(self.thing), world.position(self.other)) <= self.distance_m

    def progress(self, world: World) -> float:
        return closeness(math.dist(world.position(self.thing), world.position(self.other)), self.distance_m)

    def __str__(self) -> str:
        return f"{self.thing} within {100 * self.distance_m:g} cm of {self.other}"


@dataclass(frozen=True)
class Beside(Condition):
    """Side by side at the same height: the gap between the faces along one axis, aligned along the other."""

    thing: str
    other: str
    gap_m: float = 0.005
    offset_m: float = 0.01
    height_tolerance_m: float = 0.005

    def holds(self, world: World) -> bool:
        gap, offset, height = self._errors(world)
        return gap <= self.gap_m and offset <= self.offset_m and height <= self.height_tolerance_m

    def progress(self, world: World) -> float:
        gap, offset, height = self._errors(world)
        far = max(gap - self.gap_m, offset - self.offset_m, height - self.height_tolerance_m)
        return closeness(max(0.0, far), 0.0)

    def _errors(self, world: World) -> tuple[float, float, float]:
        (ax, ay, az), (bx, by, bz) = world.position(self.thing), world.position(self.other)
        (arx, ary, arz), (brx, bry, brz) = world.reach(self.thing), world.reach(self.other)
        dx, dy = abs(ax - bx), abs(ay - by)
        gap, offset = (dx - arx - brx, dy) if dx >= dy else (dy - ary - bry, dx)
        return gap, offset, abs((az - arz) - (bz - brz))

    def __str__(self) -> str:
        return f"{self.thing} right beside {self.other}"


@dataclass(frozen=True)
class _Direction(Condition):
    """One thing further than another along an axis of the table, by at least a margin between centres."""

    thing: str
    other: str
    margin_m: float = 0.0

    def ahead(self, world: World) -> float:
        raise TypeError(f"{type(self).__name__} does not say which way")

    def holds(self, world: World) -> bool:
        return self.ahead(world) > self.margin_m

    def progress(self, world: World) -> float:
        return 1.0 if self.holds(world) else min(0.99, closeness(self.margin_m - self.ahead(world), 0.0))


@dataclass(frozen=True)
class LeftOf(_Direction):
    def ahead(self, world: World) -> float:
        return world.position(self.thing)[1] - world.position(self.other)[1]

    def __str__(self) -> str:
        return f"{self.thing} left of {self.other}"


@dataclass(frozen=True)
class RightOf(_Direction):
    def ahead(self, world: World) -> float:
        return world.position(self.other)[1] - world.position(self.thing)[1]

    def __str__(self) -> str:
        return f"{self.thing} right of {self.other}"


@dataclass(frozen=True)
class InFrontOf(_Direction):
    """Nearer the robot than the other."""

    def ahead(self, world: World) -> float:
        return world.position(self.other)[0] - world.position(self.thing)[0]

    def __str__(self) -> str:
        return f"{self.thing} in front of {self.other}"


@dataclass(frozen=True)
class Behind(_Direction):
    """Further from the robot than the other."""

    def ahead(self, world: World) -> float:
        return world.position(self.thing)[0] - world.position(self.other)[0]

    def __str__(self) -> str:
        return f"{self.thing} behind {self.other}"


@dataclass(frozen=True)
class Above(_Direction):
    """Higher than the other, and over it."""

    def ahead(self, world: World) -> float:
        (ax, ay, az), (bx, by, bz) = world.position(self.thing), world.position(self.other)
        rx, ry, _ = world.reach(self.other)
        return az - bz if abs(ax - bx) <= rx and abs(ay - by) <= ry else -math.hypot(ax - bx, ay - by)

    def __str__(self) -> str:
        return f"{self.thing} above {self.other}"


@dataclass(frozen=True)
class Lifted(Condition):
    """The lower face this far above the table."""

    thing: str
    height_m: float

    def __post_init__(self) -> None:
        if self.height_m <= 0:
            raise ValueError(f"a height to lift to must be positive, not {self.height_m:g} m")

    def holds(self, world: World) -> bool:
        return self._height(world) >= self.height_m

    def progress(self, world: World) -> float:
        return min(1.0, max(0.0, self._height(world) / self.height_m))

    def _height(self, world: World) -> float:
        return world.position(self.thing)[2] - world.reach(self.thing)[2]

    def __str__(self) -> str:
        return f"{self.thing} lifted by {100 * self.height_m:g} cm"


@dataclass(frozen=True)
class Between(Condition):
    """Near the midpoint of two others, and about as far from one as from the other; as seen from above."""

    thing: str
    first: str
    second: str
    tolerance_m: float = 0.03
    equidistance_m: float = 0.025

    def holds(self, world: World) -> bool:
        off, uneven = self._errors(world)
        return off <= self.tolerance_m and uneven <= self.equidistance_m

    def progress(self, world: World) -> float:
        off, uneven = self._errors(world)
        return min(closeness(off, self.tolerance_m), closeness(uneven, self.equidistance_m))

    def _errors(self, world: World) -> tuple[float, float]:
        here, a, b = (world.position(name)[:2] for name in (self.thing, self.first, self.second))
        middle = ((a[0] + b[0]) / 2, (a[1] + b[1]) / 2)
        return math.dist(here, middle), abs(math.dist(here, a) - math.dist(here, b))

    def __str__(self) -> str:
        return f"{self.thing} between {self.first} and {self.second}"


@dataclass(frozen=True)
class InsideRegion(Condition):
    """The centre inside a rectangle of the table."""

    thing: str
    x: tuple[float, float]
    y: tuple[float, float]

    def holds(self, world: World) -> bool:
        return self._distance(world) == 0.0

    def progress(self, world: World) -> float:
        return closeness(self._distance(world), 0.0)

    def _distance(self, world: World) -> float:
        x, y, _ = world.position(self.thing)
        return math.hypot(max(self.x[0] - x, 0.0, x - self.x[1]), max(self.y[0] - y, 0.0, y - self.y[1]))

    def __str__(self) -> str:
        return f"{self.thing} in x {self.x}, y {self.y}"


@dataclass(frozen=True)
class Tilted(Condition):
    """An axis of the thing within an angle of straight up; `upright` when the angle is small."""

    thing: str
    max_angle_rad: float
    axis: str = "z"

    def holds(self, world: World) -> bool:
        return self._angle(world) <= self.max_angle_rad

    def progress(self, world: World) -> float:
        excess = self._angle(world) - self.max_angle_rad
        return min(1.0, max(0.0, 1.0 - excess / math.pi))

    def _angle(self, world: World) -> float:
        return math.acos(min(1.0, max(-1.0, world.pose(self.thing).axis(self.axis)[2])))

    def __str__(self) -> str:
        return f"{self.axis} axis of {self.thing} within {self.max_angle_rad:g} rad of upright"


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
        excess = self._angle(world) - self.max_angle_rad
        return min(1.0, max(0.0, 1.0 - excess / math.pi))

    def _angle(self, world: World) -> float:
        a, b = world.pose(self.thing).axis(self.axis), world.pose(self.other).axis(self.other_axis)
        return math.acos(min(1.0, max(-1.0, sum(p * q for p, q in zip(a, b, strict=True)))))

    def __str__(self) -> str:
        return f"{self.axis} axis of {self.thing} along {self.other}"


@dataclass(frozen=True)
class Inserted(Condition):
    """A frame of one thing this deep in a hole of another (whose x axis points in), centred and turned to fit."""

    thing: str
    hole_of: str
    depth_m: float
    tip: str = "tip"
    hole: str = "hole"
    lateral_m: float = 0.005
    angle_rad: float = 0.2

    def holds(self, world: World) -> bool:
        depth, lateral, angle = self._errors(world)
        return depth >= self.depth_m and lateral <= self.lateral_m and angle <= self.angle_rad

    def progress(self, world: World) -> float:
        depth, lateral, _ = self._errors(world)
        missing = math.hypot(max(0.0, self.depth_m - depth), max(0.0, lateral - self.lateral_m))
        return 1.0 if self.holds(world) else min(0.99, closeness(missing, 0.0))

    def _errors(self, world: World) -> tuple[float, float, float]:
        hole = world.frame(self.hole_of, self.hole)
        tip = world.frame(self.thing, self.tip)
        offset = [a - b for a, b in zip(tip.position, hole.position, strict=True)]
        x, y, z = rotate(conjugate(hole.quaternion), (offset[0], offset[1], offset[2]))
        turn = to_rotation_vector(multiply(conjugate(hole.quaternion), tip.quaternion))
        return x, math.hypot(y, z), math.hypot(*turn)

    def __str__(self) -> str:
        return f"{self.thing} {1000 * self.depth_m:g} mm deep in {self.hole_of}"
