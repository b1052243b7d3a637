"""Left and right, before and behind: sides and directions as the robot sees them that looks ahead as it stands."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol

from robodx.language.meaning import Direction
from robodx.language.reference import Visible
from robodx.registry import require
from robodx.scoring.relations import LEVEL_M, Geometric
from robodx.sim.geometry import Pose, Vector, about, multiply, turned
from robodx.sim.scene import Thing

if TYPE_CHECKING:
    from robodx.sim.world import World


class Facing(Visible, Protocol):
    """What is known of a world, or made out in pictures, to tell the sides of things."""

    def thing(self, name: str) -> Thing: ...
    def pose(self, name: str) -> Pose: ...


def faced(view: Facing, name: str) -> Vector:
    """Where a thing is along the robot's own axes: ahead, to its left, up."""
    return turned(view.position(name), -view.heading_rad)


def faced_reach(view: Facing, name: str) -> Vector:
    """How far it reaches along these axes."""
    if not view.heading_rad:
        return view.reach(name)
    return view.thing(name).reach(multiply(about("z", -view.heading_rad), view.pose(name).quaternion))


@dataclass(frozen=True)
class _Further(Geometric):
    """One thing further than another along an axis of the robot, by at least a margin between centres."""

    thing: str
    other: str
    margin_m: float = 0.0

    def ahead(self, thing: Vector, other: Vector) -> float:
        raise TypeError(f"{type(self).__name__} does not say which way")

    def excess(self, world: World) -> float:
        return self.margin_m + LEVEL_M - self.ahead(faced(world, self.thing), faced(world, self.other))


@dataclass(frozen=True)
class LeftOf(_Further):
    def ahead(self, thing: Vector, other: Vector) -> float:
        return thing[1] - other[1]

    def __str__(self) -> str:
        return f"{self.thing} left of {self.other}"


@dataclass(frozen=True)
class RightOf(_Further):
    def ahead(self, thing: Vector, other: Vector) -> float:
        return other[1] - thing[1]

    def __str__(self) -> str:
        return f"{self.thing} right of {self.other}"


@dataclass(frozen=True)
class InFrontOf(_Further):
    """Nearer the robot than the other."""

    def ahead(self, thing: Vector, other: Vector) -> float:
        return other[0] - thing[0]

    def __str__(self) -> str:
        return f"{self.thing} in front of {self.other}"


@dataclass(frozen=True)
class Behind(_Further):
    """Further from the robot than the other."""

    def ahead(self, thing: Vector, other: Vector) -> float:
        return thing[0] - other[0]

    def __str__(self) -> str:
        return f"{self.thing} behind {self.other}"


Flank = Literal["left of", "right of", "in front of", "behind"]
# Along which axis of the robot, and which way.
FLANKS: dict[Flank, tuple[int, int]] = {
    "left of": (1, 1),
    "right of": (1, -1),
    "in front of": (0, -1),
    "behind": (0, 1),
}


@dataclass(frozen=True)
class Flanking(Geometric):
    """Next to another on a given side of it: past its face, not far off, and further that way than sideways."""

    thing: str
    other: str
    side: Flank
    gap_m: float = 0.1

    def __post_init__(self) -> None:
        require("side to be on", self.side, FLANKS)

    def excess(self, world: World) -> float:
        axis, way = FLANKS[self.side]
        here, there = faced(world, self.thing), faced(world, self.other)
        along = way * (here[axis] - there[axis])
        gap = along - faced_reach(world, self.thing)[axis] - faced_reach(world, self.other)[axis]
        return max(-gap, gap - self.gap_m, abs(here[1 - axis] - there[1 - axis]) - along)

    def __str__(self) -> str:
        return f"{self.thing} {self.side} {self.other}"


HEADINGS: dict[Direction, tuple[int, int]] = {"left": (0, 1), "right": (0, -1), "forward": (1, 0), "back": (-1, 0)}


@dataclass(frozen=True)
class Displaced(Geometric):
    """Moved so far in a direction of the robot from where it started, within a tolerance along and across."""

    thing: str
    start: tuple[float, float]
    direction: Direction
    distance_m: float
    tolerance_m: float = 0.03

    def excess(self, world: World) -> float:
        here, heading = world.position(self.thing), turned((*HEADINGS[self.direction], 0), world.heading_rad)
        missed = (abs(here[i] - self.start[i] - self.distance_m * heading[i]) for i in (0, 1))
        return max(missed) - self.tolerance_m

    def __str__(self) -> str:
        return f"{self.thing} {100 * self.distance_m:g} cm {self.direction} of where it was"
