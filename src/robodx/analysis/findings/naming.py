"""What a candidate is called: its kind, what it is about, and a sentence with its numbers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from robodx.analysis.findings.failure_modes import MOTOR, FailureMode
from robodx.analysis.findings.kinds.base import FindingKind, by_priority
from robodx.analysis.findings.search import Candidate, Counts
from robodx.analysis.findings.strata import OTHERS, compared_with
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


def statement(
    name: Name, candidate: Candidate, inside: Estimate, outside: Estimate, counts: Counts, left_out: int
) -> str:
    """A sentence with its numbers; `left_out` other trials are those of other findings, and not compared."""
    stratum, happens = candidate.stratum, candidate.failure_mode.says
    every = f"{'all' if stratum.sort == 'all' else 'the'} {stratum.says}"
    where = _share(inside, counts.inside, f"{inside.n} {stratum.says}", every)
    rest = compared_with(stratum.sort)
    counted = f"{outside.n} other trials" if rest == OTHERS else f"{outside.n} of {rest}"
    elsewhere = f", and in {_share(outside, counts.outside, counted, rest)}" if outside.n else ""
    if outside.n and left_out:
        elsewhere += f" ({left_out} trials of other findings are left out)"
    return f"{name.kind.says(name.subject)}: {happens} in {where}{elsewhere}."


def _share(rate: Estimate, count: int, counted: str, every: str) -> str:
    """As "12 of 12 trials"; where strata are weighed only the rate is true of them: "85% of the trials"."""
    if rate.value is None:
        return f"none of {every}"
    return f"{count} of {counted}" if round(rate.value * rate.n) == count else f"{rate.value:.0%} of {every}"
