"""Stages in order, what must never happen, and how far an episode got."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from robodx.scoring.conditions import Condition
from robodx.sim.log import LogEntry

if TYPE_CHECKING:
    from robodx.sim.world import World

# Partial progress is looked at every so many steps: it changes slowly, and reaching a stage is tested at every step.
PROGRESS_EVERY = 4
# A stage that is not reached is never worth as much as one that is.
BEST_UNREACHED = 0.99


@dataclass(frozen=True)
class Stage:
    """A point to be reached by any of its alternatives; each alternative is a condition (`&` for several at once)."""

    alternatives: tuple[Condition, ...]

    @classmethod
    def of(cls, stage: Stage | Condition) -> Stage:
        return stage if isinstance(stage, Stage) else cls((stage,))

    def holds(self, world: World) -> bool:
        if len(self.alternatives) == 1:
            return self.alternatives[0].holds(world)
        # A list: an alternative that remembers must see every step.
        return any([condition.holds(world) for condition in self.alternatives])

    def progress(self, world: World) -> float:
        return max([condition.progress(world) for condition in self.alternatives])

    def __str__(self) -> str:
        return " or ".join(str(condition) for condition in self.alternatives)


@dataclass
class Score:
    """Follows the stages through an episode: only the current one is tested, and a passed one stays passed."""

    stages: tuple[Stage, ...]
    never: tuple[Condition, ...] = ()
    stage_steps: list[int] = field(default_factory=list)
    broken: Condition | None = None
    _best: float = 0.0
    _start: float | None = None

    def update(self, world: World, *, is_last: bool = False) -> None:
        for condition in self.never:
            if self.broken is None and condition.holds(world):
                self.broken = condition
                world.log.add(LogEntry(world.step, world.time_s, "broken", str(condition)))
        while self.broken is None and len(self.stage_steps) < len(self.stages):
            stage = self.stages[len(self.stage_steps)]
            if not stage.holds(world):
                if self._start is None or is_last or world.step % PROGRESS_EVERY == 0:
                    self._note_progress(stage.progress(world))
                break
            self.stage_steps.append(world.step)
            world.log.add(LogEntry(world.step, world.time_s, "stage", str(stage), value=float(len(self.stage_steps))))
            self._best, self._start = 0.0, None

    def _note_progress(self, progress: float) -> None:
        # Counted from where the stage began, so that doing nothing earns nothing.
        if self._start is None:
            self._start = progress
        gained = (progress - self._start) / max(1.0 - self._start, 1e-6)
        self._best = max(self._best, min(gained, BEST_UNREACHED))

    @property
    def reached(self) -> int:
        return len(self.stage_steps)

    @property
    def is_complete(self) -> bool:
        return self.reached == len(self.stages)

    @property
    def is_over(self) -> bool:
        return len(self.stage_steps) == len(self.stages) or self.broken is not None

    @property
    def is_success(self) -> bool:
        return self.is_complete and self.broken is None

    @property
    def progress(self) -> float:
        """The mean over stages: passed 1, the current one its best so far, later ones 0."""
        current = 0.0 if self.is_complete else self._best
        return (self.reached + current) / len(self.stages)
