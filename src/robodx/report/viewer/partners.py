"""With what an episode can be put side by side: other variants and other policies in the same situation."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import polars as pl

from robodx.analysis.variants import CLEAN
from robodx.report.viewer.library import Run

MOST = 40
# Which of the two episodes of a pair one is, as the design table has it.
ARM = "arm"
# How near another episode is to one: in the same pair, what it is held against, and what is held against it.
SAME_PAIR, SOURCE, HELD_AGAINST_IT, APART = range(4)


def partners(run: Run, mine: Mapping[str, Any], others: Iterable[Run]) -> list[dict[str, Any]]:
    """Of a row of the run's listing. What it was run to be compared with is first, as the design tables say.

    Then of a stressed episode the clean one, and of a clean one the stressed. Episodes of one situation share it,
    whoever acts, under whatever stress, and whatever of it was changed.
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
    near = _near(pl.concat([one.design for one in runs.values()]), mine["trial_id"])
    for row in found:
        row["nearness"], row["role"] = near.get(row["trial_id"], (APART, None))
        row["relation"] = "pair" if row["nearness"] < APART else _relation(mine, row)
    found.sort(key=lambda row: _rank(mine, row))
    shown = ("run", "run_name", "trial_id", "policy", "variant", "repeat", "outcome", "relation", "role")
    return [{name: row[name] for name in shown} for row in found[:MOST]]


def _near(design: pl.DataFrame, trial: str) -> dict[str, tuple[int, str]]:
    """By trial id, how near those are that the design compares with this one, and what they are to it."""
    own = design.filter(pl.col("trial_id") == trial)
    sources = own["source_id"].drop_nulls().to_list()
    pairs = {_pair(row)[1] for row in own.iter_rows(named=True)}
    found = {
        row["trial_id"]: (HELD_AGAINST_IT, row["variant"])
        for row in design.filter(pl.col("source_id") == trial).iter_rows(named=True)
    }
    found |= dict.fromkeys(sources, (SOURCE, "source"))
    for row in design.filter(pl.col("source_id").is_in(sources)).iter_rows(named=True):
        arm, pair = _pair(row)
        if arm and pair in pairs:
            found[row["trial_id"]] = (SAME_PAIR, arm)
    # The same trial may be in another run, too.
    found.pop(trial, None)
    return found


def _pair(row: Mapping[str, Any]) -> tuple[str | None, tuple[str, ...]]:
    """Which of a pair's episodes it is, if it is in one, and what those have in common."""
    # A damaged table may have empty ones.
    factors = [one for one in row["factors"] if one is not None]
    arm = next((one["text"] for one in factors if one["name"] == ARM), None)
    shared = sorted(str(tuple(one.values())) for one in factors if one["name"] != ARM)
    return arm, (row["suite"], row["variant"], row["source_id"], *shared)


def _relation(mine: Mapping[str, Any], other: Mapping[str, Any]) -> str:
    if other["policy"] == mine["policy"]:
        return "variant" if other["variant"] != mine["variant"] else "repeat"
    return "policy" if other["variant"] == mine["variant"] else "policy and variant"


def _rank(mine: Mapping[str, Any], other: Mapping[str, Any]) -> tuple[Any, ...]:
    return (
        other["nearness"],
        # Of several that are as near, what it changed is more telling than what it did not.
        other["nearness"] < APART and other["outcome"] == mine["outcome"],
        ("pair", "variant", "policy", "policy and variant", "repeat").index(other["relation"]),
        not other["is_same_run"],
        other["repeat"] != mine["repeat"],
        other["variant"] != CLEAN,
        other["outcome"] == mine["outcome"],
        -other["variant_rank"],
        other["policy"],
    )
