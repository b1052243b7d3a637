"""A comparison of two runs as a person reads it: a table, and a sentence that says what it comes to."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from robodx.analysis.compare import Comparison, Row, compare
from robodx.analysis.statistics.estimates import Estimate
from robodx.analysis.variants import CLEAN
from robodx.analysis.wording import PER_ROW
from robodx.output import print_text
from robodx.terminal.console import print_json, table_lines, wrapped


def print_comparison(first: Path, second: Path, *, margin: float, as_json: bool) -> bool:
    """Whether the second run has not regressed."""
    found = compare(first, second, margin=margin)
    if as_json:
        print_json({"a": str(first), "b": str(second), **as_dict(found)})
    else:
        print_text(*lines(found), sep="\n")
    return found.overall.verdict is None or found.overall.verdict.word != "regressed"


def lines(found: Comparison) -> list[str]:
    """The sentence comes last, where it is seen."""
    who = dict(zip("AB", names(found), strict=True))
    where = (
        f", both under {found.variants[0]}" if found.variants not in ((), (CLEAN,)) and len(found.variants) == 1 else ""
    )
    notes = [*_cautions(found), *_legend(found), sentence(found)]
    return [
        *wrapped(", ".join(f"{letter}: {name}" for letter, name in who.items()) + where),
        "",
        *_table(found),
        "",
        *(line for text in notes for line in wrapped(text)),
    ]


def as_dict(found: Comparison) -> dict[str, Any]:
    """For a program, with the sentence too."""
    return {**asdict(found), "is_finished": not found.unfinished, "says": sentence(found)}


def names(found: Comparison) -> tuple[str, str]:
    """The policies, and where these are the same the folders too."""
    a, b = found.policy_a, found.policy_b
    return (f"{a} ({found.run_a})", f"{b} ({found.run_b})") if a == b and found.run_a != found.run_b else (a, b)


def sentence(found: Comparison) -> str:
    """The verdict over all, with what it rests on."""
    row = found.overall
    a, b = names(found)
    basis = f"from {_count(found, row)}"
    if row.verdict is None:
        return f"No verdict on {b}: {row.errors} trials ended in errors, so the rest is no fair sample."
    if row.verdict.word == "undecided":
        more = f" About {row.verdict.more} more of these would probably decide it." if row.verdict.more else ""
        return f"It is undecided whether {b} differs from {a}: {points(row.difference)} points {basis}.{more}"
    if row.verdict.word == "held":
        within = _margin(found)
        return f"{b} held against {a}: the difference, {points(row.difference)} points {basis}, lies within {within}."
    link = "improved on" if row.verdict.word == "improved" else "regressed from"
    return f"{b} {link} {a}: {points(row.difference)} points {basis}."


def points(difference: Estimate) -> str:
    """In points of success, with the sign."""
    if difference.value is None or difference.low is None or difference.high is None:
        return "—"
    value, low, high = (_signed(round(100 * x)) for x in (difference.value, difference.low, difference.high))
    return f"{value} [{low}, {high}]"


def p_value(p: float | None) -> str | None:
    return None if p is None else f"{p:.3f}" if p >= 0.001 else "< 0.001"


def _table(found: Comparison) -> Iterator[str]:
    """Tasks variant by variant, then what they come to."""
    header, *texts = table_lines([_cells(row) for row in found.rows])
    yield header
    before: str | None = found.variants[0] if len(found.variants) == 1 else ""
    for row, text in zip(found.rows, texts, strict=True):
        if row.variant != before:
            yield "" if row.variant is None else f"{row.variant}:"
        before = row.variant
        yield text


def _cells(row: Row) -> dict[str, Any]:
    return {
        "task": row.name if row.variant is None else row.name.removesuffix(f" {row.variant}"), "n": row.n,
        "A": _rate(row.rate_a), "B": _rate(row.rate_b), "difference": points(row.difference),
        "p": p_value(row.adjusted_p), "errors": row.errors or None,
        "verdict": "none: too many errors" if row.verdict is None else str(row.verdict),
    }  # fmt: skip


def _rate(found: Estimate) -> str:
    # Their intervals are in `robodx summary`, and say less of the difference than its own.
    return "—" if found.value is None else f"{100 * found.value:.0f}%"


def _signed(number: int) -> str:
    return f"{number:+d}".replace("-", "−") if number else "0"


def _margin(found: Comparison) -> str:
    return f"± {100 * found.margin:g} points"


def _count(found: Comparison, row: Row) -> str:
    if found.is_paired:
        return f"{row.n} pairs of the same situations"
    return f"{row.n} situations, {f'{found.shared} trials' if found.shared else 'none'} of them shared"


def _cautions(found: Comparison) -> Iterator[str]:
    if found.unfinished:
        are = "is" if len(found.unfinished) == 1 else "are"
        yield f"{' and '.join(found.unfinished)} {are} not finished: only the episodes so far are compared."
    left_out = [f"{count} episodes of {run}" for count, run in ((found.only_a, "A"), (found.only_b, "B")) if count]
    if left_out:
        yield f"Left out, because the other run has no matching trials: {' and '.join(left_out)}."
    if found.other_versions:
        yield f"Not compared, because their scoring changed: {'; '.join(found.other_versions)}."
    if len(found.variants) > 1:
        what = "clean and stressed" if CLEAN in found.variants else "all stressed"
        yield f"Means over tasks mix {len(found.variants)} variants ({what}): each row above counts equally."


def _legend(found: Comparison) -> list[str]:
    if found.stopped != "planned":
        which = test = "always-valid, because the results decided when to stop"
    elif found.is_paired:
        which, test = "Tango's; over several tasks a bootstrap, every task counting equally", "exact McNemar"
    else:
        which, test = (
            "Newcombe's; over several tasks every task counts equally",
            "Fisher; over several tasks from the interval",
        )
    shared = f"of which {found.shared} trials are in both" if found.shared else "which share no trial"
    n = "pairs of the same trials" if found.is_paired else f"situations of both runs, {shared}"
    alike = f"; {found.alike} identical ones count once" if found.alike else ""
    return [
        f"n: {n}{alike}.",
        f"A, B: success rates; difference: B minus A in points, with its 95% interval ({which}).",
        f"p: {test}; Holm-adjusted among rows of the same kind. {PER_ROW}",
        f"held: the whole interval of the difference lies within {_margin(found)}.",
    ]
