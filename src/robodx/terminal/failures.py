"""How episodes fail, and what went wrong with those that ended in an error, as a person reads it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from robodx.analysis.failure_summary import Failed, Failures
from robodx.analysis.metrics.failures import UNKNOWN, FailureShare
from robodx.analysis.summary import Summary
from robodx.analysis.variants import CLEAN
from robodx.terminal.console import counted, table_lines, wrapped

SHOWN_TYPES = 3
SHOWN_FAILURES = 40
SHOWN_ERRORS = 5


def lines(summary: Summary, *, in_full: bool) -> Iterator[str]:
    """Kinds with an example each or, in full, by variant and episode by episode; then errors."""
    has_policies = summary.episodes["policy"].n_unique() > 1
    for failures in summary.failures():
        whose = f" of {failures.policy}" if has_policies else ""
        whose += f" {failures.variant}" if failures.variant else ""
        yield from _of_failures(failures, whose, has_example=not in_full)
    if in_full:
        if not summary.has_one_variant:
            yield from table_lines([_of_variant(one, has_policies) for one in summary.failures(by_variant=True)])
            yield ""
        failed = summary.failed()
        for one in failed[:SHOWN_FAILURES]:
            yield from _example(one, one.policy if has_policies else "")
        if len(failed) > SHOWN_FAILURES:
            yield f"… and {len(failed) - SHOWN_FAILURES} more"
        yield ""
    if errors := summary.errors():
        yield f"Errors, not counted as episodes ({sum(error.count for error in errors)}):"
        for error in errors[:SHOWN_ERRORS]:
            yield from wrapped(f"  {error.count} × {error.says}", indent="      ")
        if len(errors) > SHOWN_ERRORS:
            yield f"  … and {len(errors) - SHOWN_ERRORS} more"
        yield ""


def _of_failures(failures: Failures, whose: str, *, has_example: bool) -> Iterator[str]:
    if failures.kinds:
        yield from table_lines(
            [
                {f"failures{whose}": kind.label, "count": kind.count, "share": str(kind.share),
                 "types": _types(failures.types_of[kind.label])}
                for kind in failures.kinds
            ]
        )  # fmt: skip
        yield ""
        if has_example and failures.examples:
            yield "Examples (--failures lists all):"
            for kind in failures.kinds:
                if kind.label in failures.examples:
                    yield from _example(failures.examples[kind.label], "")
            yield ""
    if failures.flags_on_successes:
        flags = ", ".join(f"{flag.replace('_', ' ')} {share}" for flag, share in failures.flags_on_successes.items())
        solved = counted(failures.successes, "distinct successful episode")
        yield from wrapped(f"Quality flags in {solved}{whose}: {flags}.")


def _of_variant(failures: Failures, has_policies: bool) -> dict[str, Any]:
    return {
        "policy": failures.policy if has_policies else None, "variant": failures.variant,
        "failed": f"{failures.n - failures.successes} of {failures.n}",
        "kinds of failure": ", ".join(f"{kind.label} {kind.count}" for kind in failures.kinds) or None,
    }  # fmt: skip


def _example(one: Failed, whose: str) -> Iterator[str]:
    where = [whose, one.task, "" if one.variant == CLEAN else one.variant, f"seed {one.seed}"]
    where += [f"repeat {one.repeat}"] if one.repeat and one.variant == CLEAN else []
    where += [] if one.step is None else [f"step {one.step}"]
    what = ", ".join(filter(None, [one.kind, one.type if one.type != one.kind else None]))
    says = "" if one.says is None else f": {one.says}"
    yield from wrapped(f"  {', '.join(filter(None, where))}: {what}{says}", indent="      ")


def _types(types: Sequence[FailureShare]) -> str | None:
    types = [one for one in types if one.label != UNKNOWN]
    words = [f"{one.label} {one.count}" for one in types[:SHOWN_TYPES]]
    return ", ".join([*words, "…"] if len(types) > SHOWN_TYPES else words) or None
