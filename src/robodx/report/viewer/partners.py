"""With what an episode can be put side by side: other variants and other policies in the same situation."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import polars as pl

from robodx.analysis.variants import CLEAN
from robodx.report.viewer.library import Run

MOST = 40


def partners(run: Run, mine: Mapping[str, Any], others: Iterable[Run]) -> list[dict[str, Any]]:
    """Of a row of the run's listing. Of a stressed episode the clean one is first, of a clean one the stressed.

    Episodes of one situation share it, whoever acts, under whatever stress, and whatever of it was changed.
    """
    if mine["situation"] is None:
        return []
    runs = {one.found.id: one for one in (run, *others)}
    found = [
        {**row, "run_name": one.found.name, "is_same_run": one is run}
        for one in runs.values()
        for row in one.listing.filter(pl.col("situation") == mine["situation"]).iter_rows(named=True)
        if not (one is run and row["trial_id"] == mine["trial_id"])
    ]
    for row in found:
        row["relation"] = _relation(mine, row)
    found.sort(key=lambda row: _rank(mine, row))
    shown = ("run", "run_name", "trial_id", "policy", "variant", "repeat", "outcome", "relation")
    return [{name: row[name] for name in shown} for row in found[:MOST]]


def _relation(mine: Mapping[str, Any], other: Mapping[str, Any]) -> str:
    if other["policy"] == mine["policy"]:
        return "variant" if other["variant"] != mine["variant"] else "repeat"
    return "policy" if other["variant"] == mine["variant"] else "policy and variant"


def _rank(mine: Mapping[str, Any], other: Mapping[str, Any]) -> tuple[Any, ...]:
    return (
        ("variant", "policy", "policy and variant", "repeat").index(other["relation"]),
        not other["is_same_run"],
        other["repeat"] != mine["repeat"],
        other["variant"] != CLEAN,
        # What it changed is more telling than what it did not.
        other["outcome"] == mine["outcome"],
        -other["variant_rank"],
        other["policy"],
    )
