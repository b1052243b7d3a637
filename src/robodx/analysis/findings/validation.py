"""How good the diagnosis is: what was planted, held against what it found."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from robodx.analysis.findings.base import Diagnosis, Finding
from robodx.analysis.statistics.estimates import Estimate, wilson

Group = Literal["one fault", "weaker base", "two faults", "no fault"]
GROUPS: tuple[Group, ...] = ("one fault", "weaker base", "two faults", "no fault")
NOTHING = "no weakness found"
# Both of a pair are to be among so many.
TOP = 3


@dataclass(frozen=True)
class Expected:
    """The finding that a fault must cause; of a subject its beginning is enough, but none is to be named if none is."""

    kind: str
    subject: str

    def is_met_by(self, finding: Finding) -> bool:
        is_about = finding.subject.startswith(self.subject) if self.subject else not finding.subject
        return finding.kind == self.kind and is_about

    def __str__(self) -> str:
        return f"{self.kind}: {self.subject}" if self.subject else self.kind


@dataclass(frozen=True)
class Verdict:
    """What one run of the validation came to. Only what was confirmed counts as found."""

    group: Group
    planted: str
    expected: tuple[Expected, ...]
    found: tuple[str, ...]
    is_right: bool
    episodes: int


@dataclass(frozen=True)
class Score:
    """How often a group was correct: top finding, both of a pair among the first three, or no false alarm."""

    group: Group
    right: Estimate


def judge(group: Group, planted: str, expected: Sequence[Expected], diagnosis: Diagnosis) -> Verdict:
    confirmed = [finding for finding in diagnosis.findings if finding.certainty == "confirmed"]
    if group == "no fault":
        is_right = not confirmed
    else:
        shown = confirmed[: TOP if group == "two faults" else 1]
        is_right = all(any(each.is_met_by(finding) for finding in shown) for each in expected)
    names = tuple(finding.name for finding in confirmed)
    return Verdict(group, planted, tuple(expected), names, is_right, diagnosis.episodes)


def scores(verdicts: Iterable[Verdict]) -> list[Score]:
    table = list(verdicts)
    return [
        Score(group, wilson(sum(one.is_right for one in part), len(part)))
        for group in GROUPS
        if (part := [one for one in table if one.group == group])
    ]


def confusion(verdicts: Iterable[Verdict], group: Group) -> dict[str, Counter[str]]:
    """Planted × top finding: how often each."""
    table: dict[str, Counter[str]] = {}
    for one in verdicts:
        if one.group == group:
            table.setdefault(one.planted, Counter())[one.found[0] if one.found else NOTHING] += 1
    return table
