"""The facts of one episode: what was asked, what happened and how things moved, for whoever is to judge it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

# Fingers that close get hold of what is between them within this time.
GRASP_S = 0.5
# A gripper told to close by less than this is not meant to take anything.
CLOSING = 0.1
# What the log calls the robot itself and the table.
ROBOT = "robot"
ARENA = "arena"


@dataclass(frozen=True)
class Requirement:
    """A stage, or what must never be: its words, the things to be handled for it, and all that it speaks of."""

    says: str
    handled: frozenset[str]
    mentioned: frozenset[str]
    # Whether the robot is to take hold of what it handles.
    wants_grasp: bool = False


@dataclass(frozen=True)
class Entry:
    """An entry of the log."""

    step: int
    kind: str
    object: str
    other: str = ""
    value: float = 0.0
    # Of a grasp and its end: which of the hands, by its place among the tools.
    hand: int = 0


@dataclass(frozen=True)
class Hold:
    """A thing between the fingers, from one step to another; `end` is None if it was held until the end."""

    object: str
    start: int
    end: int | None
    is_dropped: bool
    hand: int = 0


@dataclass(frozen=True)
class EpisodeFacts:
    """One episode of n control steps."""

    invalid_action: str | None
    period_s: float
    stages: tuple[Requirement, ...]
    stage_steps: Sequence[int]
    # What must never be and came to be, and when.
    broken: Requirement | None
    broken_step: int | None
    # Things that the words rule out by name: "not the red one".
    excluded: frozenset[str]
    # When the policy was first asked with the last instruction: before, it could not know of it.
    informed_step: int
    entries: Sequence[Entry]
    positions: Mapping[str, Array]  # of each thing (n + 1, 3)
    tilts_rad: Mapping[str, Array]  # of each thing's own vertical against where it pointed at first (n + 1,)
    movable: frozenset[str]
    times_s: Array  # (n + 1,)
    tools: Array  # (n + 1, arms, 3)
    joints: Array  # what was executed (n, joints)
    openings: Array  # what the grippers were told (n, arms)
    # How often each limit cut a command short.
    limit_steps: Mapping[str, int]

    @property
    def steps(self) -> int:
        return len(self.joints)

    @cached_property
    def holds(self) -> tuple[Hold, ...]:
        """Every time that something was held, in order of their beginnings."""
        holds: list[Hold] = []
        open_holds: dict[tuple[int, str], int] = {}
        for entry in self.entries:
            held = (entry.hand, entry.object)
            if entry.kind == "grasp":
                open_holds[held] = entry.step
            elif entry.kind in ("drop", "release") and held in open_holds:
                start = open_holds.pop(held)
                holds.append(Hold(entry.object, start, entry.step, entry.kind == "drop", entry.hand))
        holds += [Hold(name, start, None, False, hand) for (hand, name), start in open_holds.items()]
        return tuple(sorted(holds, key=lambda hold: hold.start))

    def stage_at(self, step: int) -> int:
        """Which stage was the current one before this step."""
        return sum(reached < step for reached in self.stage_steps)

    def last_stage_step(self, before: int | None = None) -> int:
        """When the last stage was reached, or the last before a step; 0 if none was."""
        return max((step for step in self.stage_steps if before is None or step < before), default=0)

    def touched(self, name: str) -> int | None:
        """The step of the robot's first touch."""
        return next((e.step for e in self.entries if e.kind == "contact" and e.object == name), None)

    @cached_property
    def closings(self) -> tuple[int, ...]:
        """The steps at which fingers that were told to close had time to, without then holding anything."""
        return tuple(step for commanded in self.openings.T for step in self._closings(commanded))

    def _closings(self, commanded: Array) -> Iterator[int]:
        wait = round(GRASP_S / self.period_s)
        falling = np.diff(commanded, prepend=commanded[:1]) < 0
        step = 0
        while step < len(commanded):
            start = step
            while step < len(commanded) and falling[step]:
                step += 1
            if step > start and commanded[max(start - 1, 0)] - commanded[step - 1] > CLOSING:
                is_holding = any(hold.start <= start and (hold.end or self.steps) >= step for hold in self.holds)
                if not is_holding and not any(start < hold.start <= step + wait for hold in self.holds):
                    yield min(step, self.steps)
            step = max(step, start + 1)

    def is_held_again(self, hold: Hold) -> bool:
        return any(other.object == hold.object and other.start > hold.start for other in self.holds)

    def apart_m(self, name: str, other: str, step: int) -> float:
        """Two things, as seen from above."""
        return float(np.linalg.norm((self.positions[name][step] - self.positions[other][step])[:2]))

    def distance_m(self, name: str, step: int) -> float:
        """From the nearest hand."""
        return float(np.linalg.norm(self.tools[step] - self.positions[name][step], axis=1).min())

    def nearest_m(self, names: Sequence[str], step: int) -> float:
        """How near a hand is to any place where one of the things has been by then."""
        been = np.concatenate([self.positions[name][: step + 1] for name in names])
        return float(np.linalg.norm(self.tools[step][:, None] - been, axis=2).min())
