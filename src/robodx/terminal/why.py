"""Why a policy fails, as a person reads it: what each substitution recovers, and what that comes to."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

from robodx.analysis.causes import AGAIN, SUBSTITUTES, Cause, leading, unsure
from robodx.output import print_text
from robodx.terminal.comparison import p_value, points
from robodx.terminal.console import counted, print_json, table_lines, wrapped

# A share from which "most" is no exaggeration, and one below which nothing is explained.
MOST = 0.5
SOME = 0.2


def print_causes(run: str, causes: Sequence[Cause], failed: int, *, as_json: bool = False) -> None:
    """`failed` is how many failed trials the run has to ask about."""
    if as_json:
        stated = [_json(cause) for cause in causes]
        print_json({"run": run, "failed": failed, "conclusion": conclusion(causes, failed), "causes": stated})
        return
    for line in lines(causes, failed):
        print_text(line)


def lines(causes: Sequence[Cause], failed: int) -> Iterator[str]:
    """A row for each substitution that applies, and the conclusion."""
    again = causes[0]
    yield f"{counted(again.n, 'failed trial')}, run again with one component made perfect at a time:"
    yield from table_lines([_row(cause) for cause in causes if cause.n])
    yield ""
    yield from wrapped(conclusion(causes, failed))
    if beside := [cause.substitution for cause in causes if not cause.n]:
        yield from wrapped(f"Not applicable to any of these trials: {', '.join(beside)}.")
    yield from wrapped(
        "recovered: share of the trials it applies to that succeed with it; beyond chance: the same minus the share "
        "that succeeds when simply repeated, in points; p: exact, Holm-adjusted; share: of the trials that fail again "
        "when repeated, those that this substitution recovers and none above it does. Shares depend on this order: a "
        "trial that two substitutions recover counts for the upper one."
    )


def conclusion(causes: Sequence[Cause], failed: int) -> str:
    """In a sentence or two: what is wrong, or how to know; and how much of what fails is luck or unexplained."""
    again, found = causes[0], leading(causes)
    lasting = again.n - round((again.recovered.value or 0.0) * again.n)
    luck = ""
    if again.recovered.value and again.recovered.value >= SOME:
        luck = f" When simply repeated, {_percent(again.recovered.value)} of the failed trials succeed."
    if lasting == 0:
        return f"All {again.n} failed trials succeed when simply repeated: the failures are due to chance."
    if found is None or found.share.value is None or found.share.value < SOME:
        likely = unsure(causes)
        if likely is not None and (likely.share.value or 0.0) >= SOME:
            return f"{_too_few(likely, failed)}{luck}"
        several = "there are several causes, or the cause is another one"
        return f"No single substitution recovers many of the failures: {several}.{luck}"
    n = found.share.n
    trials = f"{round(found.share.value * n)} of {n} trials that fail again when repeated"
    recovers = f"{_says(found)} is the smallest change that recovers {trials}"
    how_far = "mostly" if found.share.value > MOST else "partly"
    return f"{recovers}: it is {how_far} {_problem(found.component)}.{luck}"


def verdict(cause: Cause) -> str | None:
    """A row in words."""
    share = cause.share.value
    if cause.substitution == AGAIN:
        return "by chance" if cause.recovered.value else None
    if share is None or not cause.recovered.value:
        return "recovers nothing"
    if cause.is_unsure:
        return "perhaps, but so does a smaller change" if share < SOME else "much, but too few trials to be sure"
    if not cause.is_shown:
        return "no more than chance" if cause.n else None
    if share < SOME:
        return "helps, but so does a smaller change"
    return "main cause" if share > MOST else "a cause"


def _too_few(cause: Cause, failed: int) -> str:
    """What it recovers, and how many trials would tell whether that is an accident."""
    recovered = f"{_says(cause)} recovers {round((cause.recovered.value or 0.0) * cause.n)} of {cause.n} failed trials"
    stated = f"{recovered}, but {counted(cause.n, 'trial')} {'is' if cause.n == 1 else 'are'} too few to be sure"
    episodes = cause.to_ask(failed)
    if episodes is None:
        return f"{stated}, and the run has only {counted(failed, 'failed trial')}: run more seeds."
    return f"{stated}: use --episodes {episodes}."


def _row(cause: Cause) -> dict[str, Any]:
    is_control = cause.substitution == AGAIN
    return {
        "component": cause.component,
        "substitution": cause.substitution,
        "n": cause.n,
        "recovered": str(cause.recovered),
        "beyond chance": None if is_control else points(cause.excess),
        "p": p_value(cause.p_holm),
        "share": None if is_control else str(cause.share),
        "verdict": verdict(cause),
    }


def _json(cause: Cause) -> dict[str, Any]:
    return {**asdict(cause), "n": cause.n, "verdict": verdict(cause) if cause.n else "not applicable"}


def _says(cause: Cause) -> str:
    does = next(one.does for one in SUBSTITUTES if one.name == cause.substitution)
    return f"{cause.substitution} ({does})"


def _problem(component: str) -> str:
    return f"{'an' if component[0] in 'aeiou' else 'a'} {component} problem"


def _percent(share: float) -> str:
    return f"{100 * share:.0f}%"
