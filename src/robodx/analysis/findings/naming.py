"""What a candidate is called: its kind, what it is about, and a sentence with its numbers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from robodx.analysis.estimates import Estimate
from robodx.analysis.findings.kinds.base import FindingKind, by_priority
from robodx.analysis.findings.manners import MOTOR, Manner
from robodx.analysis.findings.search import Candidate
from robodx.analysis.findings.thresholds import THRESHOLDS, Thresholds
from robodx.errors import UserError


class Name(NamedTuple):
    kind: FindingKind
    subject: str


def named(candidate: Candidate, manners: list[Manner], thresholds: Thresholds = THRESHOLDS) -> Name:
    """By the condition where that says what is lacking, else by what mostly happens in it."""
    kinds = by_priority()
    name = (
        _first((kind, kind.by_condition(candidate)) for kind in kinds)
        or _by_failure_mode(kinds, candidate, manners, thresholds.mostly)
        or _first((kind, kind.otherwise(candidate)) for kind in kinds)
    )
    assert name is not None, "one kind names whatever no other does"
    return name


def _first(answers: Iterable[tuple[FindingKind, str | None]]) -> Name | None:
    for kind, subject in answers:
        if subject is not None:
            if not isinstance(subject, str):
                raise UserError(f'a rule of the kind of finding "{kind.name}" gave {subject!r}: not a text, or None')
            return Name(kind, subject)
    return None


def _by_failure_mode(
    kinds: list[FindingKind], candidate: Candidate, manners: list[Manner], mostly: float
) -> Name | None:
    """By what most of its episodes have in common; of several, what the most have."""
    condition, shown = candidate.condition, candidate.shows
    # A group of tasks that fails in various ways is named for itself.
    if condition.sort in ("family", "tier", "task") and not candidate.manner.is_telling:
        return None
    # Where one skill fails, that hands then meet things is what comes of it.
    is_skill = condition.demand[:1] == ("motor",) and not candidate.manner.is_choice
    told = [manner for manner in manners if not is_skill or manner.name in MOTOR]
    # And what shows in all that is done names only itself.
    told = [manner for manner in told if manner.sort != "flag" or manner is candidate.manner]
    shares = [(int((manner.has & shown).sum()), manner) for manner in told]
    for shown_by, manner in sorted(shares, key=lambda pair: -pair[0]):
        if shown_by < mostly * shown.sum():
            break
        if (name := _first((kind, kind.by_failure_mode(manner)) for kind in kinds)) is not None:
            return name
    return None


def statement(name: Name, candidate: Candidate, inside: Estimate, outside: Estimate) -> str:
    """A sentence with its numbers."""
    condition = candidate.condition
    where = f"{'all' if condition.sort == 'all' else 'the'} {condition.says}"
    rest = "" if not outside.n else f", and in {_percent(outside)} of the others"
    return f"{name.kind.says(name.subject)}: {candidate.manner.says} in {_percent(inside)} of {where}{rest}."


def _percent(rate: Estimate) -> str:
    return "none" if rate.value is None else f"{rate.value:.0%}"
