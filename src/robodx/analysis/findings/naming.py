"""What a condition or a symptom is called: its kind, what it is about, and a sentence with its numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from robodx.analysis.findings.base import Certainty, Crossed, PairEvidence, leans
from robodx.analysis.findings.conditions import Condition, Mask
from robodx.analysis.findings.failure_modes import FailureMode
from robodx.analysis.findings.kinds.base import FindingKind, by_priority
from robodx.analysis.statistics.estimates import Estimate
from robodx.errors import UserError

# Of the failures in it, so many fail in one way for that to be how it fails.
MOSTLY = 0.6
# Where nothing failed as the tasks lay it out.
FAILS = FailureMode("failure", "failure", np.zeros(0, dtype=np.bool_), "it fails")


class Name(NamedTuple):
    kind: FindingKind
    subject: str


def named(condition: Condition, mode: FailureMode) -> Name:
    """By the kind that knows such conditions; of several the one with the highest priority."""
    name = _first(lambda kind: kind.by_condition(condition, mode))
    assert name is not None, "one kind names whatever no other does"
    return name


def symptom(mode: FailureMode) -> Name:
    name = _first(lambda kind: kind.by_failure_mode(mode))
    assert name is not None, "one kind names whatever no other does"
    return name


def _first(ask: Callable[[FindingKind], str | None]) -> Name | None:
    for kind in by_priority():
        subject = ask(kind)
        if subject is not None:
            if not isinstance(subject, str):
                raise UserError(f'a rule of the kind of finding "{kind.name}" gave {subject!r}: not a text, or None')
            return Name(kind, subject)
    return None


def mostly(failed: Mask, modes: Sequence[FailureMode]) -> FailureMode:
    """How most of these failures fail; that they fail, where there is no such way."""
    anyhow = next((mode for mode in modes if mode.sort == "failure"), FAILS)
    if not failed.any():
        return anyhow
    told = [mode for mode in modes if mode.sort in ("type", "mistaken", "wrong thing")]
    shares = [(int((mode.has & failed).sum()), -place) for place, mode in enumerate(told)]
    count, place = max(shares, default=(0, 0))
    return told[-place] if count >= max(1, MOSTLY * int(np.sum(failed))) else anyhow


def statement(
    name: Name,
    when: str,
    happens: str,
    certainty: Certainty,
    undo: PairEvidence | None,
    put_in: PairEvidence | None,
    inside: Estimate,
    outside: Estimate,
    *,
    along: Sequence[str] = (),
    crossed: Crossed | None = None,
    counted: str = FAILS.says,
) -> str:
    """What is wrong, and the numbers that say so. What changed along with it in all its pairs may be it as well.

    `inside` and `outside` are how often it does what `counted` says.
    """
    says = name.kind.says(name.subject)
    told = f"{says}: {counted}" if says else _sentence(counted)
    bundle = f", or because of what changed with that ({_grouped(along)})" if along else ""
    if certainty == "cause" and undo is None and put_in is not None:
        lost = f"{put_in.pairs - put_in.changed} of {put_in.pairs} trials fail when {when}"
        return f"{says or told}: {lost}, and {put_in.pairs - put_in.placebo} of the same trials otherwise."
    if certainty == "cause" and crossed is not None:
        return f"{told} because {when} and {crossed.beside}{bundle}. {crossed.says}."
    if certainty == "cause":
        return f"{told} because {when}{bundle}. {_sentence(_undone(undo))}; {_put(put_in)}."
    if certainty == "needed":
        beside = f", but {_put(put_in)}: something else is needed too" if put_in and put_in.verdict == "none" else ""
        only = "perhaps only together with something else"
        return f"{told} because {when}, {only}{bundle}. {_sentence(_undone(undo))}{beside}."
    if certainty == "sufficient":
        rest = (
            "Where it is there anyway, taking it away did not help"
            if undo and undo.verdict == "none"
            else f"{_sentence(_undone(undo))}, which is {_not_conclusive(undo)}"
            if undo
            else "Taking it away could not be tested"
        )
        return f"{told} because {when}{bundle}: {_put(put_in)}. {rest}."
    # Where all failures are counted, how most of those inside fail is told beside them.
    mostly = "" if happens == counted or counted != FAILS.says else f" (mostly, {happens})"
    rates = f"{counted} in {_share(inside)} of such trials{mostly}, and in {_share(outside)} of others"
    if certainty == "associated":
        return f"{told} more often when {when}: {rates}. That it is because of this was not tested."
    may = "It may fail" if counted == FAILS.says else f"Perhaps {counted}"
    if certainty == "undecided":
        return f"{may} because {when}: {_undecided(rates, undo, put_in, inside, outside)}"
    return f"{may} more often when {when}: {rates}."


def _undecided(
    rates: str, undo: PairEvidence | None, put_in: PairEvidence | None, inside: Estimate, outside: Estimate
) -> str:
    """The screening where it suggests this, and what the pairs say so far."""
    pairs = "; ".join([*([_undone(undo)] if undo else []), *([_put(put_in)] if put_in else [])])
    if (inside.value or 0.0) <= (outside.value or 0.0):
        return f"{pairs}, which is {_not_conclusive(undo, put_in)}."
    so_far = "did not decide it" if leans(undo, put_in) else "do not show it so far"
    return f"{rates}. Pairs in which this was changed {so_far}: {pairs}{_corrected(undo, put_in)}."


def _not_conclusive(*every: PairEvidence | None) -> str:
    return f"not conclusive{_corrected(*every)}"


def _corrected(*every: PairEvidence | None) -> str:
    """Why they do not decide where an interval beside them seems to."""
    reasons = [one.why_open for one in every if one is not None and one.why_open]
    return f" ({', and '.join(reasons)})" if reasons else ""


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}"


def _grouped(names: Sequence[str]) -> str:
    """As "room: table colour, wall colour" of "room table colour" and "room wall colour"."""
    whose = {name.partition(" ")[0] for name in names}
    if len(names) < 2 or len(whose) > 1 or not all(" " in name for name in names):
        return ", ".join(names)
    return f"{whose.pop()}: {', '.join(name.partition(' ')[2] for name in names)}"


def _undone(evidence: PairEvidence | None) -> str:
    assert evidence is not None
    return (
        f"taken away, {evidence.changed} of {evidence.pairs} such situations succeed (with a placebo "
        f"{evidence.placebo})"
    )


def _put(evidence: PairEvidence | None) -> str:
    if evidence is None:
        return "that it suffices could not be tested"
    return (
        f"brought about where it is not, {evidence.pairs - evidence.changed} of {evidence.pairs} fail (with a placebo "
        f"{evidence.pairs - evidence.placebo})"
    )


def _share(rate: Estimate) -> str:
    return "none" if rate.value is None else f"{round(rate.value * rate.n)} of {rate.n}"
