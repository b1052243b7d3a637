"""How good the diagnosis is: what was planted, held against what it found."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from robodx.analysis.findings.base import Diagnosis, Finding
from robodx.analysis.findings.factors import is_same_factor
from robodx.analysis.statistics.estimates import Estimate, wilson

Group = Literal["one fault", "held-out fault", "weaker base", "two faults", "patternless", "no fault"]
GROUPS: tuple[Group, ...] = get_args(Group)
NOTHING = "no weakness found"
# Both of a pair are to be among so many.
TOP = 3
# Of what has no cause that could be found, any is false.
WITHOUT_CAUSE: tuple[Group, ...] = ("patternless", "no fault")


@dataclass(frozen=True)
class Expected:
    """What a fault must be found by: the name of a finding or of a symptom, or a recorded attribute and its level."""

    # As "reference confusion: colour"; of what follows the colon its beginning is enough.
    name: str = ""
    attribute: str = ""
    level: str = ""

    def is_met_by(self, answer: Answer) -> bool:
        if self.name:
            kind, _, subject = self.name.partition(": ")
            found, _, about = answer.name.partition(": ")
            return kind == found and (about.startswith(subject) if subject else not about)
        return answer.attribute != "" and is_same_factor(self.attribute, self.level, answer.attribute, answer.levels)

    def __str__(self) -> str:
        return self.name or f"{self.attribute}={self.level}"


@dataclass(frozen=True)
class Answer:
    """Something that a diagnosis says of a policy."""

    name: str
    attribute: str = ""
    levels: tuple[str, ...] = ()

    @classmethod
    def of(cls, finding: Finding) -> Answer:
        return cls(finding.name, finding.attribute, finding.levels)

    def __str__(self) -> str:
        return f"{self.name} ({self.attribute}={'|'.join(self.levels)})" if self.attribute else self.name


@dataclass(frozen=True)
class Verdict:
    """What one run of the validation came to. Only causes that pairs have shown count, and without any the symptoms."""

    group: Group
    planted: str
    seed_set: int
    expected: tuple[Expected, ...]
    found: tuple[str, ...]
    is_right: bool
    episodes: int
    success: float | None = None


@dataclass(frozen=True)
class Score:
    """How often a group was correct: top finding, both of a pair among the first three, or no false claim."""

    group: Group
    right: Estimate


def answers(diagnosis: Diagnosis) -> list[Answer]:
    """Causes, the most important first; where there are none, how it fails."""
    causes = [Answer.of(one) for one in diagnosis.decided]
    return causes or [Answer(one.name) for one in diagnosis.symptoms]


def judge(group: Group, planted: str, seed_set: int, expected: Sequence[Expected], diagnosis: Diagnosis) -> Verdict:
    found = answers(diagnosis)
    if group in WITHOUT_CAUSE:
        # A symptom is no claim of a cause.
        found = [one for one in found if one.attribute]
        is_right = not found
    else:
        shown = found[: TOP if group == "two faults" else 1]
        is_right = bool(expected) and all(any(each.is_met_by(one) for one in shown) for each in expected)
    names = tuple(str(one) for one in found)
    success = diagnosis.success.value
    return Verdict(group, planted, seed_set, tuple(expected), names, is_right, diagnosis.episodes, success)


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


def retest(verdicts: Iterable[Verdict], group: Group) -> Estimate:
    """Of two runs of one policy on disjoint seeds, how often the top cause of the one is the top cause of the other."""
    runs: dict[str, list[str]] = {}
    for one in verdicts:
        if one.group == group:
            runs.setdefault(one.planted, []).append(one.found[0] if one.found else NOTHING)
    pairs = [(a, b) for tops in runs.values() for place, a in enumerate(tops) for b in tops[place + 1 :]]
    # To find nothing twice is no agreement.
    return wilson(sum(a == b != NOTHING for a, b in pairs), len(pairs))
