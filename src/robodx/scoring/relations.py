"""Where things are: relations between things."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from robodx.scoring.conditions import Condition, closeness
from robodx.sim.geometry import Pose, Vector

if TYPE_CHECKING:
    from robodx.sim.scene import Thing
    from robodx.sim.world import World


@dataclass(frozen=True)
class Geometric(Condition):
    """A condition on where things are: `excess` is by how many metres it is missed, 0 or less where it holds."""

    def excess(self, world: World) -> float:
        raise TypeError(f"{type(self).__name__} does not say by how much it is missed")

    def holds(self, world: World) -> bool:
        return self.excess(world) <= 0.0

    def progress(self, world: World) -> float:
        return closeness(self.excess(world))


def footprint_gap(world: World, a: str, b: str) -> float:
    """How far apart two things are as seen from above, as they are turned; negative by how much they overlap."""
    return _gap(world.thing(a), world.pose(a), world.thing(b), world.pose(b))


def _gap(a: Thing, pose_a: Pose, b: Thing, pose_b: Pose) -> float:
    (ax, ay, _), (bx, by, _) = pose_a.position, pose_b.position
    sides = _sides(a, pose_a) + _sides(b, pose_b)
    gap = -math.inf
    # Boxes are as far apart as they are along that of their own sides along which they are furthest.
    for nx, ny, _ in sides:
        distance, length = abs((ax - bx) * nx + (ay - by) * ny), math.hypot(nx, ny)
        if distance / length <= gap:
            continue  # the sides only take away from it
        for x, y, half in sides:
            distance -= half * abs(nx * x + ny * y)
        gap = max(gap, distance / length)
    return gap


def _sides(thing: Thing, pose: Pose) -> list[tuple[float, float, float]]:
    """Of each side of a thing's box that is seen from above: its direction there, and its half extent."""
    w, x, y, z = pose.quaternion
    half_x, half_y, half_z = thing.half_extents
    # What `Pose.axis` gives, to the last bit, but without the heights: this is asked often.
    sides = (
        (1 - 2 * y * y - 2 * z * z, 2 * (x * y + w * z), half_x),
        (2 * (x * y - w * z), 1 - 2 * z * z - 2 * x * x, half_y),
        (2 * (x * z + w * y), 2 * (y * z - w * x), half_z),
    )
    return [side for side in sides if abs(side[0]) + abs(side[1]) > FLAT]


@dataclass(frozen=True)
class On(Geometric):
    """Resting on top: the lower face at the other's upper face, and the two overlapping as seen from above."""

    thing: str
    support: str
    height_tolerance_m: float = 0.005
    # Less overlap than this is a thing about to tip off.
    overlap_m: float = 0.005

    def excess(self, world: World) -> float:
        # Each is looked up once: this is asked often.
        thing, support = world.thing(self.thing), world.thing(self.support)
        above, below = world.pose(self.thing), world.pose(self.support)
        bottom = above.position[2] - thing.reach(above.quaternion)[2]
        top = below.position[2] + support.reach(below.quaternion)[2]
        up = abs(bottom - top) - self.height_tolerance_m
        across = _gap(thing, above, support, below) + self.overlap_m
        return math.hypot(max(0.0, across), max(0.0, up))

    def __str__(self) -> str:
        return f"{self.thing} on {self.support}"


@dataclass(frozen=True)
class In(Geometric):
    """Inside a container: the centre within its walls, the lower face between its floor and its rim."""

    thing: str
    container: str
    # Soft contacts let a thing sink in a little.
    sink_m: float = 0.002

    def excess(self, world: World) -> float:
        container = world.thing(self.container)
        x, y, _ = world.pose(self.container).inverse().apply(world.position(self.thing))
        half_x, half_y = container.cavity_half or container.half_extents[:2]
        bottom = world.position(self.thing)[2] - world.reach(self.thing)[2]
        middle, half_z = world.position(self.container)[2], world.reach(self.container)[2]
        return math.hypot(
            max(0.0, abs(x) - half_x),
            max(0.0, abs(y) - half_y),
            max(0.0, bottom - (middle + half_z), middle - half_z - self.sink_m - bottom),
        )

    def __str__(self) -> str:
        return f"{self.thing} in {self.container}"


@dataclass(frozen=True)
class CentredOn(Geometric):
    """The centre within a distance of the other's centre (or of a frame on it), as seen from above."""

    thing: str
    other: str
    tolerance_m: float
    frame: str | None = None

    def excess(self, world: World) -> float:
        centre = world.frame(self.other, self.frame).position if self.frame else world.position(self.other)
        return math.dist(world.position(self.thing)[:2], centre[:2]) - self.tolerance_m

    def __str__(self) -> str:
        return f"{self.thing} within {1000 * self.tolerance_m:g} mm of the centre of {self.other}"


@dataclass(frozen=True)
class Near(Geometric):
    """Centres within a distance."""

    thing: str
    other: str
    distance_m: float = 0.05

    def excess(self, world: World) -> float:
        return math.dist(world.position(self.thing), world.position(self.other)) - self.distance_m

    def __str__(self) -> str:
        return f"{self.thing} within {100 * self.distance_m:g} cm of {self.other}"


@dataclass(frozen=True)
class HandNear(Geometric):
    """A hand's tool within a distance of the thing's centre."""

    thing: str
    distance_m: float

    def excess(self, world: World) -> float:
        return world.distance_to_hand(world.position(self.thing)) - self.distance_m

    def __str__(self) -> str:
        return f"hand within {100 * self.distance_m:.1f} cm of {self.thing}"


@dataclass(frozen=True)
class HandAt(Geometric):
    """A hand's tool within a distance of a place."""

    place: Vector
    distance_m: float

    def excess(self, world: World) -> float:
        return world.distance_to_hand(self.place) - self.distance_m

    def __str__(self) -> str:
        x, y, z = self.place
        return f"hand within {100 * self.distance_m:.1f} cm of ({x:.3f}, {y:.3f}, {z:.3f}) m"


@dataclass(frozen=True)
class Beside(Geometric):
    """Side by side at the same height: faces within a gap of each other, and aligned along the other's side."""

    thing: str
    other: str
    gap_m: float = 0.005
    offset_m: float = 0.01
    height_tolerance_m: float = 0.005
    # One that overlaps the other by more is in it or on it, not beside it.
    overlap_m: float = 0.005

    def excess(self, world: World) -> float:
        x, y, _ = world.pose(self.other).inverse().apply(world.position(self.thing))
        half_x, half_y, _ = world.thing(self.other).half_extents
        offset = abs(y) if abs(x) - half_x >= abs(y) - half_y else abs(x)
        bottoms = [world.position(name)[2] - world.reach(name)[2] for name in (self.thing, self.other)]
        gap = footprint_gap(world, self.thing, self.other)
        return max(
            gap - self.gap_m,
            -gap - self.overlap_m,
            offset - self.offset_m,
            abs(bottoms[0] - bottoms[1]) - self.height_tolerance_m,
        )

    def __str__(self) -> str:
        return f"{self.thing} {'right beside' if self.offset_m < 1 else f'within {self.gap_m:g} m of'} {self.other}"


# A side that stands upright has no direction as seen from above.
FLAT = 1e-6
# Exactly level is neither above nor below, and neither left nor right.
LEVEL_M = 1e-9


@dataclass(frozen=True)
class Above(Geometric):
    """Higher than the other by a margin between centres, and over it."""

    thing: str
    other: str
    margin_m: float = 0.0

    def excess(self, world: World) -> float:
        (ax, ay, az), (bx, by, bz) = world.position(self.thing), world.position(self.other)
        rx, ry, _ = world.reach(self.other)
        return math.hypot(
            max(0.0, abs(ax - bx) - rx),
            max(0.0, abs(ay - by) - ry),
            max(0.0, self.margin_m + LEVEL_M - (az - bz)),
        )

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
        # Of its own height, which is a few centimetres: over the scale of the table nothing would show.
        return min(1.0, max(0.0, self._height(world) / self.height_m))

    def _height(self, world: World) -> float:
        return world.position(self.thing)[2] - world.reach(self.thing)[2]

    def __str__(self) -> str:
        return f"{self.thing} lifted by {100 * self.height_m:.3g} cm"


@dataclass(frozen=True)
class Between(Geometric):
    """Near the midpoint of two others, and about as far from one as from the other; as seen from above."""

    thing: str
    first: str
    second: str
    tolerance_m: float = 0.03
    equidistance_m: float = 0.025

    def excess(self, world: World) -> float:
        here, a, b = (world.position(name)[:2] for name in (self.thing, self.first, self.second))
        middle = ((a[0] + b[0]) / 2, (a[1] + b[1]) / 2)
        uneven = abs(math.dist(here, a) - math.dist(here, b))
        return max(math.dist(here, middle) - self.tolerance_m, uneven - self.equidistance_m)

    def __str__(self) -> str:
        return f"{self.thing} between {self.first} and {self.second}"


@dataclass(frozen=True)
class InsideRegion(Geometric):
    """The centre inside a rectangle of the table."""

    thing: str
    x: tuple[float, float]
    y: tuple[float, float]

    def excess(self, world: World) -> float:
        x, y, _ = world.position(self.thing)
        return math.hypot(max(self.x[0] - x, 0.0, x - self.x[1]), max(self.y[0] - y, 0.0, y - self.y[1]))

    def __str__(self) -> str:
        return f"{self.thing} in x {self.x}, y {self.y}"
