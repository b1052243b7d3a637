"""Events: something a task or a perturbation does to the world at a time or when a condition comes to hold."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from robodx.language.meaning import Instruction
from robodx.scoring.conditions import After, Condition
from robodx.sim.geometry import Pose, Vector
from robodx.sim.log import LogEntry

if TYPE_CHECKING:
    from robodx.sim.simulation import Simulation
    from robodx.sim.world import World

Instruct = Callable[[Instruction], None]


class Effect(Protocol):
    """What an event does. `instruct` gives the policy a new instruction."""

    def apply(self, simulation: Simulation, instruct: Instruct) -> None: ...


@dataclass(frozen=True)
class Event:
    """Happens once, as soon as its condition holds; `unless` keeps it back for good if that holds by then."""

    when: Condition
    effect: Effect
    unless: Condition | None = None


def at(seconds: float, effect: Effect) -> Event:
    return Event(After(seconds), effect)


class Script:
    """The events of one episode, and which of them are still to come."""

    def __init__(self, events: tuple[Event, ...]) -> None:
        self._waiting = list(events)

    def update(self, world: World, simulation: Simulation, instruct: Instruct) -> None:
        if not self._waiting:
            return
        # Both are asked at every step: a condition that remembers must see them all.
        asked = [(event, event.unless is not None and event.unless.holds(world)) for event in self._waiting]
        for event, is_kept_back in [(event, back) for event, back in asked if event.when.holds(world)]:
            self._waiting.remove(event)
            if not is_kept_back:
                event.effect.apply(simulation, instruct)
                things = ";".join(_things(event.effect))
                world.log.add(LogEntry(world.step, world.time_s, "event", str(event.effect), things))


def _things(effect: Effect) -> list[str]:
    """The things that an effect is done to, by the fields that name them."""
    named = (getattr(effect, name, None) for name in ("thing", "first", "second"))
    return [name for name in named if isinstance(name, str)]


@dataclass(frozen=True)
class Move:
    """Shift a thing from where it is, at rest."""

    thing: str
    by: Vector

    def apply(self, simulation: Simulation, instruct: Instruct) -> None:
        body = simulation.data.body(self.thing)
        simulation.set_pose(self.thing, Pose.of(body.xpos, body.xquat).shifted(*self.by))

    def __str__(self) -> str:
        x, y, z = self.by
        return f"{self.thing} moves by ({x:.3f}, {y:.3f}, {z:.3f}) m"


@dataclass(frozen=True)
class Push:
    """Give a thing a velocity."""

    thing: str
    velocity_m_s: Vector

    def apply(self, simulation: Simulation, instruct: Instruct) -> None:
        simulation.set_velocity(self.thing, self.velocity_m_s)


@dataclass(frozen=True)
class Roll:
    """Set a sphere rolling along the table: moving, and turning as fast as it moves."""

    thing: str
    velocity_m_s: tuple[float, float]

    def apply(self, simulation: Simulation, instruct: Instruct) -> None:
        (vx, vy), radius = self.velocity_m_s, simulation.scene.thing(self.thing).half_extents[2]
        simulation.set_velocity(self.thing, (vx, vy, 0.0), (-vy / radius, vx / radius, 0.0))

    def __str__(self) -> str:
        vx, vy = self.velocity_m_s
        return f"{self.thing} rolls at ({vx:.3f}, {vy:.3f}) m/s"


@dataclass(frozen=True)
class RunBelt:
    """Let a thing's belt run, which carries along what rests on it."""

    thing: str
    speed_m_s: float

    def apply(self, simulation: Simulation, instruct: Instruct) -> None:
        simulation.run_belt(self.thing, self.speed_m_s)

    def __str__(self) -> str:
        return f"{self.thing} runs at {self.speed_m_s:.3f} m/s"


@dataclass(frozen=True)
class Recolour:
    thing: str
    colour: str

    def apply(self, simulation: Simulation, instruct: Instruct) -> None:
        simulation.set_colour(self.thing, self.colour)


@dataclass(frozen=True)
class SwapColours:
    first: str
    second: str

    def apply(self, simulation: Simulation, instruct: Instruct) -> None:
        a, b = simulation.colours[self.first], simulation.colours[self.second]
        simulation.set_colour(self.first, b)
        simulation.set_colour(self.second, a)

    def __str__(self) -> str:
        return f"{self.first} and {self.second} exchange their colours"


@dataclass(frozen=True)
class SwapPlaces:
    first: str
    second: str

    def apply(self, simulation: Simulation, instruct: Instruct) -> None:
        a, b = (Pose.of(body.xpos, body.xquat) for body in map(simulation.data.body, (self.first, self.second)))
        simulation.set_pose(self.first, b)
        simulation.set_pose(self.second, a)

    def __str__(self) -> str:
        return f"{self.first} and {self.second} exchange their places"


@dataclass(frozen=True)
class Appear:
    """Let a parked thing into the world."""

    thing: str
    pose: Pose

    def apply(self, simulation: Simulation, instruct: Instruct) -> None:
        simulation.unpark(self.thing, self.pose)

    def __str__(self) -> str:
        x, y, z = self.pose.position
        return f"{self.thing} appears at ({x:.3f}, {y:.3f}, {z:.3f}) m"


@dataclass(frozen=True)
class Vanish:
    thing: str

    def apply(self, simulation: Simulation, instruct: Instruct) -> None:
        simulation.park(self.thing)


@dataclass(frozen=True)
class SwitchLamp:
    """Turn a lamp, `thing/lamp`, on or off."""

    lamp: str
    is_on: bool = True
    colour: str = "green"

    def apply(self, simulation: Simulation, instruct: Instruct) -> None:
        simulation.set_lamp(self.lamp, self.is_on, self.colour)

    def __str__(self) -> str:
        return f"{self.lamp} goes {'on' if self.is_on else 'out'}"


@dataclass(frozen=True)
class Dim:
    """Set a scene light's brightness."""

    light: str
    brightness: float

    def apply(self, simulation: Simulation, instruct: Instruct) -> None:
        simulation.set_brightness(self.light, self.brightness)


@dataclass(frozen=True)
class NewInstruction:
    """From now on the policy is told something else."""

    instruction: Instruction

    def apply(self, simulation: Simulation, instruct: Instruct) -> None:
        instruct(self.instruction)

    def __str__(self) -> str:
        return f'the instruction becomes "{self.instruction.text}"'
