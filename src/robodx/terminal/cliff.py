"""A cliff search in words and as a small table."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import polars as pl

from robodx.analysis.episodes import load
from robodx.analysis.estimates import TESTABLE
from robodx.analysis.psychometric import Cliff
from robodx.suites.cliff import Search
from robodx.terminal.console import print_json, table_lines

BAR = 20


def print_cliff(run: Path, search: Search, *, as_json: bool) -> None:
    """Where the cliff is, or why it cannot be said, and what came of each severity."""
    episodes = load(run)
    if as_json:
        print_json({"run": str(run), **as_dict(search, episodes)})
        return
    for line in lines(search, episodes):
        print(line)
    print(f"The episodes are in {run}.")


def lines(search: Search, episodes: pl.DataFrame) -> list[str]:
    found = search.read(episodes)
    table = [
        {
            "severity": f"{point.severity:g}",
            "success": f"{point.successes}/{point.n}",
            "fitted": f"{point.foreseen:.0%}",
            "": "█" * round(BAR * point.foreseen),
        }
        for point in search.curve(episodes)
    ]
    errors = int((episodes["outcome"] == "error").sum())
    return [
        f"{search.plan.policy} on {search.task.id} under {search.stressor.name}",
        *(f"  {line}" for line in table_lines(table)),
        f"Clean success {found.clean}; 95% credible interval, from {found.n} episodes"
        + (f" and {errors} errors that say nothing." if errors else "."),
        sentence(found, search.stressor.name),
    ]


def sentence(found: Cliff, stressor: str) -> str:
    """The finding, as one would say it."""
    odds = f"no cliff up to {found.maximum:g} has probability {found.p_no_cliff:.0%}"
    if not found.is_testable:
        return f"Not testable here: the clean success is under {TESTABLE:.0%}, and half of it would say nothing."
    if found.is_absent:
        return f"No cliff up to {stressor} {found.maximum:g}: success stays above half of the clean one ({odds})."
    if found.severity is None or found.low is None:
        return f"Undecided: {odds}. More --episodes would tell."
    if found.high is None:
        return f"Undecided: a cliff at {found.low:.3g} or more, if there is one; {odds}. More --episodes would tell."
    return (
        f"Cliff at {stressor} {found.severity:.3g} [{found.low:.3g}, {found.high:.3g}]: there success is half of the "
        f"clean one; {odds}."
    )


def note(found: Cliff) -> str:
    """A few words for a bar."""
    if found.n == 0:
        return "cliff unknown"
    if found.severity is None:
        return f"no cliff: {found.p_no_cliff:.0%}"
    low, high = (f"{found.maximum:g}+" if end is None else f"{end:.2g}" for end in (found.low, found.high))
    return f"cliff {found.severity:.2g} [{low}, {high}]"


def as_dict(search: Search, episodes: pl.DataFrame) -> dict[str, Any]:
    found = search.read(episodes)
    return {
        "policy": search.plan.policy,
        "task": search.task.id,
        "stressor": search.stressor.name,
        "maximum": found.maximum,
        "verdict": found.verdict,
        "cliff": {"severity": found.severity, "low": found.low, "high": found.high},
        "p_no_cliff": found.p_no_cliff,
        "clean": asdict(found.clean),
        "n": found.n,
        "errors": int((episodes["outcome"] == "error").sum()),
        "curve": [asdict(point) for point in search.curve(episodes)],
    }
