"""Why a policy fails, as a person reads it: what each substitution recovers, and what that comes to."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from robodx.analysis.cause_sentences import adds, as_dict, conclusion, not_told_apart, unrecovered, verdict
from robodx.analysis.causes import Cause, Causes
from robodx.analysis.wording import PER_ROW
from robodx.output import print_text
from robodx.terminal.comparison import p_value, points
from robodx.terminal.console import counted, print_json, table_lines, wrapped


def print_causes(run: str, found: Causes, failed: int, *, as_json: bool = False) -> None:
    """`failed` is how many failed trials the run has to ask about."""
    if as_json:
        stated = " ".join(_sentences(found, failed))
        print_json({"run": run, "failed": failed, "conclusion": stated, **as_dict(found)})
        return
    for line in lines(found, failed):
        print_text(line)


def lines(found: Causes, failed: int) -> Iterator[str]:
    """A row for each substitution that applies, and the conclusion."""
    yield f"{counted(found.again.n, 'failed trial')}, run again with one component made perfect at a time:"
    yield from table_lines([_row(one, found) for one in (found.again, *found.substitutions) if one.n])
    yield ""
    for sentence in _sentences(found, failed):
        yield from wrapped(sentence)
    if beside := [one.substitution for one in found.substitutions if not one.n]:
        yield from wrapped(f"Not applicable to any of these trials, or not asked for: {', '.join(beside)}.")
    yield from wrapped(
        "alone: the trials it applies to that succeed with it; adds: of the trials that fail again when repeated, the "
        "least and the most it adds over all orders of the substitutions, that is, those that no other recovers and "
        "all that it recovers; beyond repeating: alone minus what succeeds when simply repeated, in points; p: exact, "
        f"Holm-adjusted. {PER_ROW} Several substitutions may recover the same trial: the rows do not add up."
    )


def _sentences(found: Causes, failed: int) -> Iterator[str]:
    yield conclusion(found)
    if found.leading and not found.is_shown:
        episodes = found.to_ask(failed)
        only = f"The run has only {counted(failed, 'failed trial')}: run more seeds."
        yield only if episodes is None else f"Use --episodes {episodes}."
    yield from not_told_apart(found)
    yield from unrecovered(found)


def _row(cause: Cause, found: Causes) -> dict[str, Any]:
    is_control = cause is found.again
    return {
        "component": cause.component,
        "substitution": cause.substitution,
        "alone": f"{cause.count} of {cause.n} ({cause.recovered})",
        "adds": None if is_control else adds(cause),
        "beyond repeating": None if is_control else points(cause.excess),
        "p": p_value(cause.p_holm),
        "verdict": verdict(cause, found),
    }
