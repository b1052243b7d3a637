"""What is touched, held, still, pressed or lit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from robodx.scoring.conditions import Condition, closeness

if TYPE_CHECKING:
    from robodx.sim.world import World


@dataclass(frozen=True)
class Grasped(Condition):
    """Between both fingers of a hand: of any, or of the one that is named."""

    thing: str
    hand: str | None = None

    def holds(self, world: World) -> bool:
        return world.is_grasped(self.thing) if self.hand is None else self.hand in world.holders(self.thing)

    def progress(self, world: World) -> float:
        return 1.0 if self.holds(world) else _approach(world, self.thing, self.hand)

    def __str__(self) -> str:
        return f"{self.thing} grasped" + (f" with the {self.hand} hand" if self.hand else "")


@dataclass(frozen=True)
class Released(Condition):
    """No part of the robot touches it."""

    thing: str

    def holds(self, world: World) -> bool:
        return not world.touches_robot(self.thing)

    def __str__(self) -> str:
        return f"{self.thing} released"


@dataclass(frozen=True)
class Touching(Condition):
    """Two things touch each other."""

    thing: str
    other: str

    def holds(self, world: World) -> bool:
        return world.touching(self.thing, self.other)

    def __str__(self) -> str:
        return f"{self.thing} touching {self.other}"


@dataclass(frozen=True)
class Touched(Condition):
    """The robot touches it."""

    thing: str

    def holds(self, world: World) -> bool:
        return world.touches_robot(self.thing)

    def progress(self, world: World) -> float:
        return 1.0 if self.holds(world) else _approach(world, self.thing)

    def __str__(self) -> str:
        return f"{self.thing} touched"


@dataclass(frozen=True)
class TouchedFirst(Condition):
    """It was the first thing that the robot touched in this episode."""

    thing: str

    def holds(self, world: World) -> bool:
        return world.log.first_touched == self.thing

    def __str__(self) -> str:
        return f"{self.thing} touched first"


@dataclass(frozen=True)
class TouchedOtherFirst(Condition):
    """The first thing the robot touched was another one."""

    thing: str

    def holds(self, world: World) -> bool:
        return world.log.first_touched not in (None, self.thing)

    def __str__(self) -> str:
        return f"another thing touched before {self.thing}"


@dataclass(frozen=True)
class Static(Condition):
    """At rest."""

    thing: str
    max_speed_m_s: float = 0.01
    max_turn_rad_s: float = 0.5

    def holds(self, world: World) -> bool:
        speed = world.speed(self.thing)
        return speed.linear_m_s < self.max_speed_m_s and speed.angular_rad_s < self.max_turn_rad_s

    def __str__(self) -> str:
        return f"{self.thing} at rest"


@dataclass(frozen=True)
class JointBeyond(Condition):
    """A moving part, `thing/part`, at or past a position: radians of a hinge, metres of a slide."""

    part: str
    position: float

    def __post_init__(self) -> None:
        if self.position <= 0:
            raise ValueError(f"a joint position to reach must be positive, not {self.position:g}")

    def holds(self, world: World) -> bool:
        return world.joint(self.part) >= self.position

    def progress(self, world: World) -> float:
        return min(1.0, max(0.0, world.joint(self.part) / self.position))

    def __str__(self) -> str:
        return f"{self.part} at {self.position:g} or beyond"


@dataclass(frozen=True)
class Lit(Condition):
    """A lamp is on."""

    lamp: str

    def holds(self, world: World) -> bool:
        return world.is_lit(self.lamp)

    def __str__(self) -> str:
        return f"{self.lamp} lit"


def settled(thing: str) -> Condition:
    """Let go of, and at rest."""
    return Released(thing) & Static(thing)


def _approach(world: World, thing: str, hand: str | None = None) -> float:
    """Credit for bringing a hand near: at most half, for the other half is the touch itself."""
    return 0.5 * closeness(world.distance_to_hand(world.position(thing), hand))
