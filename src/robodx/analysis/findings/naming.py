"""What a candidate is called: its kind, what it is about, and a sentence with its numbers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from robodx.analysis.findings.failure_modes import MOTOR, FailureMode
from robodx.analysis.findings.kinds.base import FindingKind, by_priority
from robodx.analysis.findings.search import Candidate
from robodx.analysis.findings.thresholds import THRESHOLDS, Thresholds
from robodx.analysis.statistics.estimates import Estimate
from robodx.errors import UserError


class Name(NamedTuple):
    kind: FindingKind
    subject: str


def named(candidate: Candidate, failure_modes: list[FailureMode], thresholds: Thresholds = THRESHOLDS) -> Name:
    """By the stratum where that says what is lacking, else by what mostly happens in it."""
    kinds = by_priority()
    name = (
        _first((kind, kind.by_stratum(candidate)) for kind in kinds)
        or _by_failure_mode(kinds, candidate, failure_modes, thresholds.mostly)
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
    kinds: list[FindingKind], candidate: Candidate, failure_modes: list[FailureMode], mostly: float
) -> Name | None:
    """By what most of its episodes have in common; of several, what the most have."""
    stratum, shown = candidate.stratum, candidate.shows
    # A group of tasks that fails in various ways is named for itself.
    if stratum.sort in ("family", "tier", "task") and not candidate.failure_mode.is_telling:
        return None
    # Where one skill fails, that hands then meet things is what comes of it.
    is_skill = stratum.requirement[:1] == ("motor",) and not candidate.failure_mode.is_choice
    considered = [failure_mode for failure_mode in failure_modes if not is_skill or failure_mode.name in MOTOR]
    # And what shows in all that is done names only itself.
    considered = [
        failure_mode
        for failure_mode in considered
        if failure_mode.sort != "flag" or failure_mode is candidate.failure_mode
    ]
    shares = [(int((failure_mode.has & shown).sum()), failure_mode) for failure_mode in considered]
    for shown_by, failure_mode in sorted(shares, key=lambda pair: -pair[0]):
        if shown_by < mostly * shown.sum():
            break
        if (name := _first((kind, kind.by_failure_mode(failure_mode)) for kind in kinds)) is not None:
            return name
    return None


def statement(name: Name, candidate: Candidate, inside: Estimate, outside: Estimate) -> str:
    """A sentence with its numbers."""
    stratum = candidate.stratum
    where = f"{'all' if stratum.sort == 'all' else 'the'} {stratum.says}"
    rest = "" if not outside.n else f", and in {_percent(outside)} of all other trials"
    return f"{name.kind.says(name.subject)}: {candidate.failure_mode.says} in {_percent(inside)} of {where}{rest}."


def _percent(rate: Estimate) -> str:
    return "none" if rate.value is None else f"{rate.value:.0%}"
