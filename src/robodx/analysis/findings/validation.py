"""How good the diagnosis is: what was planted, held against what it found."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Literal, get_args

from robodx.analysis.findings.base import Diagnosis, Finding
from robodx.analysis.findings.decisions import ALPHA, PairSeen, Tally
from robodx.analysis.findings.factors import is_same_factor
from robodx.analysis.statistics.estimates import Estimate, wilson
from robodx.analysis.statistics.paired import mcnemar_p

Group = Literal[
    "one fault", "held-out fault", "earlier held-out fault", "weaker base", "two faults",
    "luck_by_task", "luck_by_sentence", "luck_by_family", "luck_by_picture", "stops_per_second", "stops_per_grasp",
    "no fault",
]  # fmt: skip
GROUPS: tuple[Group, ...] = get_args(Group)
NOTHING = "no weakness found"
# Both of a pair are to be among so many.
TOP = 3
# Findings about how it is done, whether it fails or not: symptoms, which stand apart from causes.
WAYS_OF_ACTING = ("unstable control", "unsafe contact")
# Of what has no cause that could be found, any is false.
WITHOUT_CAUSE: tuple[Group, ...] = (
    "luck_by_task", "luck_by_sentence", "luck_by_family", "luck_by_picture", "stops_per_second", "stops_per_grasp",
    "no fault",
)  # fmt: skip
# Where every second or grasp may fail, it is true that longer tasks fail more often: conditions on how much there is to
# do are no false causes there.
HAZARDS: tuple[Group, ...] = ("stops_per_second", "stops_per_grasp")
HOW_MUCH = ("act", "acts", "clauses", "grasps", "expert_grasps", "expert_duration_s", "waits")
# By somebody else, who did not choose them by whether they show: who fails in fewer of the generated situations than
# this has nothing that must be found, and nothing wrong may be said of it.
HELD_OUT: tuple[Group, ...] = ("held-out fault", "earlier held-out fault")
LEAST_COST = 0.1


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
            is_named = kind == found and (about.startswith(subject) if subject else not about)
            return is_named and answer.given is None
        # What needs something beside it is no fault of one factor.
        if answer.given is not None:
            return False
        return answer.attribute != "" and is_same_factor(self.attribute, self.level, answer.attribute, answer.levels)

    def __str__(self) -> str:
        return self.name or f"{self.attribute}={self.level}"


@dataclass(frozen=True)
class Answer:
    """Something that a diagnosis says of a policy."""

    name: str
    attribute: str = ""
    levels: tuple[str, ...] = ()
    # What it was found to need beside it.
    given: str | None = None

    @classmethod
    def of(cls, finding: Finding) -> Answer:
        return cls(finding.name, finding.attribute, finding.levels, finding.given)

    def __str__(self) -> str:
        beside = f" and {self.given}" if self.given else ""
        return f"{self.name} ({self.attribute}={'|'.join(self.levels)}{beside})" if self.attribute else self.name


@dataclass(frozen=True)
class Temptation:
    """What chance offered: pairs whose outcomes differ, and conditions that an uncorrected test would have claimed."""

    pairs: int = 0
    differ: int = 0
    claims: int = 0


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
    # The share of generated situations that fail.
    cost: float | None = None
    # The top finding, and what pairs have ruled out.
    top: Answer | None = None
    ruled_out: tuple[Answer, ...] = ()
    temptation: Temptation = Temptation()

    @property
    def is_small(self) -> bool:
        """Whether it is a fault that need not be found."""
        return self.group in HELD_OUT and self.cost is not None and self.cost < LEAST_COST


@dataclass(frozen=True)
class Retest:
    """Two runs of one policy on disjoint seeds, over all such pairs of runs."""

    # The top finding of the one is that of the other: the same factor and level, or its parent.
    again: Estimate
    # What the one has shown to be a cause, the other has ruled out.
    contradicted: Estimate
    # How often two different policies have the same top finding.
    others: Estimate


@dataclass(frozen=True)
class Score:
    """How often a group was correct: top finding, both of a pair among the first three, or no false claim."""

    group: Group
    right: Estimate


def answers(diagnosis: Diagnosis) -> list[Answer]:
    """Causes, the most important first; where there are none, how it fails."""
    causes = [Answer.of(one) for one in diagnosis.decided]
    return causes or [Answer(one.name) for one in diagnosis.symptoms]


def judge(
    group: Group,
    planted: str,
    seed_set: int,
    expected: Sequence[Expected],
    diagnosis: Diagnosis,
    cost: float | None = None,
) -> Verdict:
    found = answers(diagnosis)
    symptoms = [Answer(one.name) for one in diagnosis.symptoms]
    if group in WITHOUT_CAUSE:
        # A symptom is no claim of a cause.
        found = [one for one in found if one.attribute]
        is_true = [group in HAZARDS and one.attribute in HOW_MUCH for one in found]
        is_right = all(is_true)
    elif group == "two faults":
        # One of the two may show in how it is done, beside a cause of the other.
        found = list(dict.fromkeys([*found, *symptoms]))
        is_right = all(any(each.is_met_by(one) for one in found[:TOP]) for each in expected)
    else:
        # Who acts in a bad way everywhere may fail because of it somewhere.
        shown = [*found[:1], *(one for one in symptoms if one.name in WAYS_OF_ACTING)]
        is_right = bool(expected) and all(any(each.is_met_by(one) for one in shown) for each in expected)
    names = tuple(str(one) for one in found)
    verdict = Verdict(
        group, planted, seed_set, tuple(expected), names, is_right, diagnosis.episodes, diagnosis.success.value, cost,
        found[0] if found else None,
        tuple(Answer("", one.attribute, one.levels) for one in diagnosis.excluded),
    )  # fmt: skip
    # A way of failing is no cause that is claimed.
    says_nothing = not [one for one in found if one.attribute]
    return replace(verdict, is_right=is_right or (verdict.is_small and says_nothing))


def temptation(tallies: Sequence[Tally]) -> Temptation:
    """From the pairs of one run. A plain test looks at each condition by itself, once, at 5%."""
    pairs = [pair for tally in tallies for pair in tally.pairs]
    differ = sum(pair.treated_success != pair.placebo_success for pair in pairs)
    claims = sum(_is_claimed(tally.undo) or _is_claimed(tally.put_in, is_put_in=True) for tally in tallies)
    return Temptation(len(pairs), differ, claims)


def _is_claimed(pairs: Sequence[PairSeen], *, is_put_in: bool = False) -> bool:
    """Whether McNemar's test says that the condition costs success."""
    gains, losses = (
        sum(pair.treated_success == won and pair.placebo_success != won for pair in pairs) for won in (True, False)
    )
    if is_put_in:
        gains, losses = losses, gains
    return gains > losses and mcnemar_p(gains, losses) <= ALPHA


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


def retest(verdicts: Iterable[Verdict], group: Group) -> Retest:
    runs = [one for one in verdicts if one.group == group]
    pairs = list(combinations(runs, 2))
    same = [(a, b) for a, b in pairs if a.planted == b.planted]
    different = [(a, b) for a, b in pairs if a.planted != b.planted]
    either_way = [pair for a, b in same for pair in ((a, b), (b, a)) if pair[0].top and pair[0].top.attribute]
    return Retest(
        wilson(sum(_agree(a.top, b.top) for a, b in same), len(same)),
        wilson(sum(_is_ruled_out(a.top, b) for a, b in either_way), len(either_way)),
        wilson(sum(_agree(a.top, b.top) for a, b in different), len(different)),
    )


def _agree(one: Answer | None, other: Answer | None) -> bool:
    """To find nothing twice is no agreement."""
    if one is None or other is None:
        return False
    if not one.attribute or not other.attribute:
        return one.name == other.name
    return any(
        is_same_factor(a.attribute, level, b.attribute, b.levels)
        for a, b in ((one, other), (other, one))
        for level in a.levels
    )


def _is_ruled_out(top: Answer | None, run: Verdict) -> bool:
    """Also where some of its levels are."""
    return top is not None and any(
        top.attribute == one.attribute and set(top.levels) & set(one.levels) for one in run.ruled_out
    )
