"""The log of what happened in an episode: who touched what, what was grasped, dropped, hit or limited, and when."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

LogKind = Literal[
    "contact", "grasp", "release", "drop", "collision", "limit", "stage", "broken", "event", "instruction", "refined"
]


@dataclass(slots=True)
class LogEntry:
    """One happening. `value` is a peak force in newtons for a collision, else what the kind says, else 0."""

    step: int
    time_s: float
    kind: LogKind
    object: str
    other: str = ""
    value: float = 0.0
    # Of a grasp and its end.
    hand: str = ""


@dataclass
class Log:
    """Entries in the order they happened."""

    entries: list[LogEntry] = field(default_factory=list)
    first_touched: str | None = None

    def add(self, entry: LogEntry) -> LogEntry:
        self.entries.append(entry)
        if entry.kind == "contact" and self.first_touched is None:
            self.first_touched = entry.object
        return entry

    def add_refined(self, step: int, time_s: float, text: str | None) -> None:
        """That a layer before the policy told it these words in place of its instruction, if they are others now."""
        before = next((entry.object for entry in reversed(self.entries) if entry.kind == "refined"), None)
        if text is not None and text != before:
            self.add(LogEntry(step, time_s, "refined", text))

    def count(self, kind: LogKind) -> int:
        return sum(entry.kind == kind for entry in self.entries)

    def objects(self, kind: LogKind) -> list[str]:
        return [entry.object for entry in self.entries if entry.kind == kind]
