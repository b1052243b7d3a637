"""A comparison of two runs as a person reads it: a table, and a sentence that says what it comes to."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

from robodx.analysis.compare import Comparison, Row, compare
from robodx.analysis.estimates import Estimate
from robodx.terminal.console import print_json, table_lines


def print_comparison(first: Path, second: Path, *, margin: float, as_json: bool) -> bool:
    """Whether the second run has not regressed."""
    found = compare(first, second, margin=margin)
    if as_json:
        print_json({"a": str(first), "b": str(second), **as_dict(found)})
    else:
        print(*lines(found), sep="\n")
    return found.overall.verdict is None or found.overall.verdict.word != "regressed"


def lines(found: Comparison) -> list[str]:
    """The sentence comes last, where it is seen."""
    rows = [
        {
            "of": row.kind, "what": row.name, "n": row.n, "A": str(row.rate_a), "B": str(row.rate_b),
            "difference": points(row.difference),
            "p": _p(row.adjusted_p),
            "errors": row.errors or None,
            "verdict": "none: too many errors" if row.verdict is None else str(row.verdict),
        }
        for row in found.rows
    ]  # fmt: skip
    who = f"A: {found.policy_a}, B: {found.policy_b}"
    return [who, "", *table_lines(rows), "", *_cautions(found), *_legend(found), sentence(found)]


def as_dict(found: Comparison) -> dict[str, Any]:
    """For a program, with the sentence too."""
    return {**asdict(found), "says": sentence(found)}


def sentence(found: Comparison) -> str:
    """The verdict over all, with what it rests on."""
    row = found.overall
    a, b, margin = found.policy_a, found.policy_b, f"± {100 * found.margin:g} points"
    basis = f"from {_count(found, row)}"
    if row.verdict is None:
        return f"No verdict on {b}: {row.errors} trials ended in errors, and the rest is no fair sample."
    if row.verdict.word == "undecided":
        more = f" About {row.verdict.more} more would probably decide." if row.verdict.more else ""
        return f"Undecided whether {b} differs from {a}: {points(row.difference)} points {basis}.{more}"
    if row.verdict.word == "held":
        return f"{b} held: its difference to {a}, {points(row.difference)} points {basis}, lies within {margin}."
    link = "improved on" if row.verdict.word == "improved" else "regressed from"
    return f"{b} {link} {a}: {points(row.difference)} points {basis}."


def points(difference: Estimate) -> str:
    """In points of success, with the sign."""
    if difference.value is None or difference.low is None or difference.high is None:
        return "—"
    value, low, high = (_signed(round(100 * x)) for x in (difference.value, difference.low, difference.high))
    return f"{value} [{low}, {high}]"


def _p(p: float | None) -> str | None:
    return None if p is None else f"{p:.3f}" if p >= 0.001 else "< 0.001"


def _signed(number: int) -> str:
    return f"{number:+d}".replace("-", "−") if number else "0"


def _count(found: Comparison, row: Row) -> str:
    return f"{row.n} pairs of the same situations" if found.is_paired else f"{row.n} situations, none of them shared"


def _cautions(found: Comparison) -> list[str]:
    left_out = [f"{count} episodes of {run}" for count, run in ((found.only_a, "A"), (found.only_b, "B")) if count]
    told = [f"Left out, for the other run has nothing like them: {' and '.join(left_out)}."] if left_out else []
    if found.other_versions:
        told.append(f"Not compared, for their scoring was changed: {'; '.join(found.other_versions)}.")
    return told


def _legend(found: Comparison) -> list[str]:
    if found.stopped != "planned":
        which = test = "always valid, for what was seen decided when to stop"
    elif found.is_paired:
        which, test = "Tango's; over several tasks, which count the same, a bootstrap of situations", "exact McNemar"
    else:
        which, test = (
            "Newcombe's; over several tasks each counts the same",
            "Fisher; over several tasks by the interval",
        )
    n = "pairs of the same trials" if found.is_paired else "situations of both runs, which share none"
    alike = f", {found.alike} alike bit for bit not counted" if found.alike else ""
    return [
        f"n: {n}{alike}.",
        f"difference: points of success, B less A, with its 95% interval ({which}).",
        f"p: {test}; adjusted (Holm) among rows of a kind.",
        f"held: shown to differ by less than {100 * found.margin:g} points.",
    ]
