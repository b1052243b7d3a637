"""A cliff search in words and as a small table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

import polars as pl

from robodx.analysis.statistics.estimates import TESTABLE
from robodx.analysis.statistics.psychometric import Cliff
from robodx.errors import UserError
from robodx.output import print_text
from robodx.records.table import load
from robodx.records.values import settled
from robodx.suites.base import SuiteRequest
from robodx.suites.cliff import Point, Search
from robodx.terminal.console import counted, print_json, table_lines, wrapped

BAR = 20
MORE = "To decide, search again with more --episodes, in another folder."


def print_cliff(run: Path, search: Search, *, as_json: bool) -> None:
    """Where the cliff is, or why it cannot be said, and what came of each severity."""
    episodes = load(run)
    if as_json:
        print_json({"run": str(run), **as_dict(search, episodes)})
        return
    for line in lines(search, episodes):
        print_text(line)
    print_text(f"The episodes are in {run}.")


def lines(search: Search, episodes: pl.DataFrame) -> list[str]:
    found, curve = search.read(episodes), search.curve(episodes)
    table = [
        {
            f"severity ({search.stressor.unit})" if search.stressor.unit else "severity": f"{point.severity:g}",
            "success": f"{point.successes}/{point.n}",
            "fitted": probability(point.foreseen),
            "": "█" * round(BAR * point.foreseen),
        }
        for point in curve
    ]
    errors = search.errors(episodes)
    told = f"{counted(errors, 'episode')} ended in an error and {'is' if errors == 1 else 'are'}"
    return [
        f"{search.request.policy} on {search.task.id} under {search.stressor.name}",
        *(f"  {line}" for line in table_lines(table)),
        *wrapped(_clean(found, curve) + (f" {told} not counted." if errors else "")),
        *wrapped(sentence(found, search.stressor.name, search.stressor.unit)),
    ]


def _clean(found: Cliff, curve: Sequence[Point]) -> str:
    """An estimate: what the table has at severity 0, to which all other severities contribute."""
    clean = [point for point in curve if point.severity == 0]
    return (
        f"Success without stress: {found.clean} (fitted to all {counted(found.n, 'episode')}, "
        f"{clean[0].n if clean else 0} of them without stress; 95% credible interval)."
    )


def sentence(found: Cliff, stressor: str, unit: str = "") -> str:
    """The finding, as one would say it."""
    of_unit = f" {unit}" if unit else ""
    most = f"{found.maximum:g}{of_unit}"
    odds = f"the probability of no cliff up to {most} is {probability(found.p_no_cliff)}"
    if not found.is_testable:
        return f"Not testable: success without stress is below {TESTABLE:.0%}, too low to look for half of it."
    if found.is_absent:
        return f"No cliff up to {stressor} {most}: success stays above half of its clean level ({odds})."
    if found.low is None:
        return f"Undecided: {odds}. {MORE}"
    if found.severity is None:
        return f"Undecided: if there is a cliff, it is at {found.low:.3g}{of_unit} or above; {odds}. {MORE}"
    if found.high is None:
        so_far = f"{found.severity:.3g} [{found.low:.3g}, {found.maximum:g}+]{of_unit}"
        return f"Undecided: the estimate so far is {so_far}; {odds}. {MORE}"
    return (
        f"Cliff at {stressor} {found.severity:.3g} [{found.low:.3g}, {found.high:.3g}]{of_unit}: success is half of "
        f"its clean level there; {odds}."
    )


def probability(p: float) -> str:
    """Nothing is certain that was estimated."""
    return ">99%" if p > 0.99 else "<1%" if p < 0.01 else f"{p:.0%}"


def searches(about: Mapping[str, Any]) -> list[Search]:
    """Those that a run was asked for, from its run.json; not those of tasks that are unknown here, as a plugin's."""
    request = about.get("request", {})
    found = []
    for selector in request.get("selectors", ()):
        suite, *within = selector.split("/")
        if suite == "cliff":
            if missing := {"policy", "seeds", "robot", "perturbations", "clock"} - request.keys():
                raise UserError(f"run.json asks for {selector}, but does not say request.{min(missing)}")
            applied = tuple((name, settled(value)) for name, value in request["perturbations"])
            # Repeats it has none.
            suite_request = SuiteRequest(
                request["policy"], request["seeds"], request["robot"], 1, applied, request["clock"], tuple(within)
            )
            with suppress(UserError):
                found.append(Search.of(suite_request))
    return found


def note(found: Cliff) -> str:
    """A few words for a bar."""
    if found.n == 0:
        return "cliff unknown"
    if found.severity is None:
        return f"no cliff: {probability(found.p_no_cliff)}"
    low, high = (f"{found.maximum:g}+" if end is None else f"{end:.2g}" for end in (found.low, found.high))
    return f"cliff {found.severity:.2g} [{low}, {high}]"


def as_dict(search: Search, episodes: pl.DataFrame) -> dict[str, Any]:
    found = search.read(episodes)
    return {
        "policy": search.request.policy,
        "task": search.task.id,
        "stressor": search.stressor.name,
        "maximum": found.maximum,
        "verdict": found.verdict,
        "cliff": {"severity": found.severity, "low": found.low, "high": found.high},
        "p_no_cliff": found.p_no_cliff,
        "clean": asdict(found.clean),
        "n": found.n,
        "errors": search.errors(episodes),
        "curve": [asdict(point) for point in search.curve(episodes)],
    }
