"""What the table of episodes does not say itself: readable names of its arms, and what run.json knows of tasks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

CLEAN = "clean"
LOCKSTEP = "lockstep"
# The repeat that the suite `stress` gives to its identity arm, which does again what the clean arm does.
IDENTITY = 1
IS_IDENTITY = (pl.col("suite") == "stress").fill_null(False) & (pl.col("repeat") == IDENTITY)


def with_cards(episodes: pl.DataFrame, tasks: Mapping[str, Mapping[str, Any]]) -> pl.DataFrame:
    """With the column `primitive`, and `chance` where an old record lacks it, from the task cards of run.json."""
    chances = {task: card.get("chance") for task, card in tasks.items()}
    primitives = {task: card.get("primitive") for task, card in tasks.items()}
    of_task = pl.col("task")
    return episodes.with_columns(
        primitive=of_task.replace_strict(primitives, default=None, return_dtype=pl.String),
        chance=pl.coalesce("chance", of_task.replace_strict(chances, default=None, return_dtype=pl.Float64)),
    )


def with_arms(episodes: pl.DataFrame, perturbations: Mapping[str, Mapping[str, Any]]) -> pl.DataFrame:
    """With the columns `arm`, as "noise=v2" or "" for clean, and `arm_rank`, by which arms are sorted.

    Levels have names where the run's cards of perturbations know them. Where there are several clocks, those on which
    the world does not wait are part of the name.
    """
    names = {
        name: {float(severity): level for level, severity in card.get("levels", {}).items()}
        for name, card in perturbations.items()
    }
    has_clocks = episodes["clock"].n_unique() > 1
    keys = [
        (
            tuple((one["name"], one["severity"]) for one in applied or ()),
            clock if has_clocks and clock != LOCKSTEP else "",
        )
        for applied, clock in episodes.select("perturbations", "clock").iter_rows()
    ]
    ranks = {key: rank for rank, key in enumerate(sorted(set(keys), key=lambda key: (key[1] or "", key[0])))}
    words = {key: " + ".join([*(_word(*one, names) for one in key[0]), *filter(None, key[1:])]) for key in ranks}
    return episodes.with_columns(
        pl.Series("arm", [words[key] for key in keys], pl.String),
        pl.Series("arm_rank", [ranks[key] for key in keys], pl.Int64),
    )


def _word(name: str, severity: float, names: Mapping[str, Mapping[float, str]]) -> str:
    return f"{name}={names.get(name, {}).get(severity, severity)}"
