"""What a condition is, how conditions compose, and how they remember: held for a time, latched, in order."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from robodx.sim.world import World

# Over this many metres from its goal a thing's closeness falls from 1 to 0: the reach of a table-top task.
PROGRESS_SCALE_M = 0.3
# Half a physics step: the simulator's clock is a sum of floating-point steps and may stand just short of a step's end.
CLOCK_SLACK_S = 1e-3


@dataclass(frozen=True)
class Condition:
    """A frozen predicate over a world. `progress` is how near it is to holding, 1 when it holds."""

    @cached_property
    def remembers(self) -> bool:
        """Whether its answer depends on earlier steps, so that it must be asked at every one."""
        return False

    def holds(self, world: World) -> bool:
        raise TypeError(f"{type(self).__name__} does not say when it holds")

    def progress(self, world: World) -> float:
        return float(self.holds(world))

    def __and__(self, other: Condition) -> All:
        return All((*_flat(self, All), *_flat(other, All)))

    def __or__(self, other: Condition) -> Any:
        return Any((*_flat(self, Any), *_flat(other, Any)))

    def __invert__(self) -> Not:
        return Not(self)

    def held_for(self, seconds: float) -> HeldFor:
        return HeldFor(self, seconds)

    def latched(self) -> Latched:
        return Latched(self)


def closeness(excess_m: float) -> float:
    """1 where nothing is missed, then falling in a straight line to 0."""
    return min(1.0, max(0.0, 1.0 - excess_m / PROGRESS_SCALE_M))


def _flat(condition: Condition, kind: type[All] | type[Any]) -> tuple[Condition, ...]:
    return condition.parts if isinstance(condition, kind) else (condition,)


@dataclass(frozen=True)
class All(Condition):
    """Every part holds at once."""

    parts: tuple[Condition, ...]

    @cached_property
    def remembers(self) -> bool:
        return any(part.remembers for part in self.parts)

    def holds(self, world: World) -> bool:
        if self.remembers:
            # No short cut: a part that remembers must see every step.
            return all([part.holds(world) for part in self.parts])
        for part in self.parts:  # noqa: SIM110  (a generator costs more, and this is asked at every step)
            if not part.holds(world):
                return False
        return True

    def progress(self, world: World) -> float:
        return sum([part.progress(world) for part in self.parts]) / len(self.parts)

    def __str__(self) -> str:
        """A thing of which several parts speak is named once: "red cube on green cube, released and at rest"."""
        groups = [_told(name, [str(part) for part in parts]) for name, parts in itertools.groupby(self.parts, _subject)]
        return ", and ".join(groups) if len(groups) < len(self.parts) else " and ".join(groups)


def _subject(part: Condition) -> str:
    """The thing that its words begin with; "" if they begin otherwise."""
    name = getattr(part, "thing", "")
    return name if str(part).startswith(f"{name} ") else ""


def _told(name: str, parts: list[str]) -> str:
    if not name:
        return " and ".join(parts)
    *first, last = (part.removeprefix(f"{name} ") for part in parts)
    return f"{name} {', '.join(first)} and {last}" if first else parts[0]


@dataclass(frozen=True)
class Any(Condition):
    """At least one part holds."""

    parts: tuple[Condition, ...]

    @cached_property
    def remembers(self) -> bool:
        return any(part.remembers for part in self.parts)

    def holds(self, world: World) -> bool:
        return any([part.holds(world) for part in self.parts])

    def progress(self, world: World) -> float:
        return max(part.progress(world) for part in self.parts)

    def __str__(self) -> str:
        return "(" + " or ".join(str(part) for part in self.parts) + ")"


@dataclass(frozen=True)
class Not(Condition):
    part: Condition

    @cached_property
    def remembers(self) -> bool:
        return self.part.remembers

    def holds(self, world: World) -> bool:
        return not self.part.holds(world)

    def __str__(self) -> str:
        return f"not {self.part}"


@dataclass(frozen=True)
class HeldFor(Condition):
    """The part has held at every control step for this long."""

    part: Condition
    seconds: float

    @cached_property
    def remembers(self) -> bool:
        return True

    def holds(self, world: World) -> bool:
        if not self.part.holds(world):
            world.memory.pop(self, None)
            return False
        since_s, asked_at = world.memory.get(self, (world.time_s, world.step))
        if world.step > asked_at + 1:
            # Nobody asked in between, as in a stage that was not the current one.
            since_s = world.time_s
        world.memory[self] = (since_s, world.step)
        return bool(world.time_s - since_s >= self.seconds - CLOCK_SLACK_S)

    def progress(self, world: World) -> float:
        return self.part.progress(world)

    def __str__(self) -> str:
        return f"{self.part} for {self.seconds:g} s"


@dataclass(frozen=True)
class Latched(Condition):
    """The part has held at some step."""

    part: Condition

    @cached_property
    def remembers(self) -> bool:
        return True

    def holds(self, world: World) -> bool:
        if self.part.holds(world):
            world.memory[self] = True
        return self in world.memory

    def progress(self, world: World) -> float:
        return 1.0 if self in world.memory else self.part.progress(world)

    def __str__(self) -> str:
        return f"once {self.part}"


@dataclass(frozen=True)
class InOrder(Condition):
    """The parts came to hold one after the other, none before its turn."""

    parts: tuple[Condition, ...]

    @cached_property
    def remembers(self) -> bool:
        return True

    def holds(self, world: World) -> bool:
        done, is_broken = world.memory.get(self, (0, False))
        holding = [part.holds(world) for part in self.parts]
        while done < len(holding) and holding[done]:
            done += 1
        is_broken = is_broken or any(holding[done + 1 :])
        world.memory[self] = (done, is_broken)
        return bool(done == len(self.parts) and not is_broken)

    def progress(self, world: World) -> float:
        done, is_broken = world.memory.get(self, (0, False))
        return 0.0 if is_broken else float(done / len(self.parts))

    def __str__(self) -> str:
        return ", then ".join(str(part) for part in self.parts)


@dataclass(frozen=True)
class Count(Condition):
    """Between `at_least` and `at_most` of the parts hold."""

    parts: tuple[Condition, ...]
    at_least: int
    at_most: int | None = None

    @cached_property
    def remembers(self) -> bool:
        return any(part.remembers for part in self.parts)

    def holds(self, world: World) -> bool:
        count = sum([part.holds(world) for part in self.parts])
        return count >= self.at_least and (self.at_most is None or count <= self.at_most)

    def progress(self, world: World) -> float:
        if self.holds(world):
            return 1.0
        count = sum(part.holds(world) for part in self.parts)
        return min(count, self.at_least) / (self.at_least + 1)

    def __str__(self) -> str:
        if self.at_most is None:
            bounds = f"at least {self.at_least}"
        elif self.at_most == self.at_least:
            bounds = f"exactly {self.at_least}"
        else:
            bounds = f"{self.at_least} to {self.at_most}"
        return f"{bounds} of: " + "; ".join(str(part) for part in self.parts)


@dataclass(frozen=True)
class While(Condition):
    """The part holds at a moment at which something else does; that alone is no progress."""

    part: Condition
    when: Condition

    @cached_property
    def remembers(self) -> bool:
        return self.part.remembers or self.when.remembers

    def holds(self, world: World) -> bool:
        return all([self.part.holds(world), self.when.holds(world)])

    def progress(self, world: World) -> float:
        return self.part.progress(world)

    def __str__(self) -> str:
        return f"{self.part} while {self.when}"


@dataclass(frozen=True)
class After(Condition):
    """This much time of the episode has passed."""

    seconds: float

    def holds(self, world: World) -> bool:
        return world.time_s >= self.seconds - CLOCK_SLACK_S

    def __str__(self) -> str:
        return f"{self.seconds:g} s have passed"
