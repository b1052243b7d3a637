"""The episodes a diagnosis reads: one policy's, without errors and stand-ins, with what arm each belongs to."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from robodx.analysis.metrics.observations import observations

# Who asked for the trials by which candidates are confirmed, in the column `suite`.
CONFIRMATION = "confirmation"
# Made perfect in one component by `robodx why`: no longer the policy's own.
SUBSTITUTION = "substitution"


def prepared(episodes: pl.DataFrame, about: Mapping[str, Any]) -> pl.DataFrame:
    """With the columns `stress` ("sensor/noise/v2", or null), `is_realtime` and `is_base` (neither of these)."""
    cards: Mapping[str, Mapping[str, Any]] = about.get("perturbations", {})
    request = about.get("request", {})
    asked = {tuple(one) for one in request.get("perturbations", ())}
    clock = request.get("clock", "lockstep")
    applied = [
        [(one["name"], one["severity"]) for one in row or () if (one["name"], one["severity"]) not in asked]
        for row in episodes["perturbations"].to_list()
    ]
    is_own = [all(cards.get(name, {}).get("kind") != SUBSTITUTION for name, _ in one) for one in applied]
    arms = [_arm(one, cards) for one in applied]
    table = episodes.with_columns(
        pl.Series("stress", arms, pl.String),
        is_realtime=(pl.col("clock") != clock) & pl.col("clock").str.starts_with("realtime"),
    ).with_columns(is_base=pl.col("stress").is_null() & ~pl.col("is_realtime"))
    return observations(table.filter(pl.Series(is_own, dtype=pl.Boolean)))


def _arm(applied: list[tuple[str, float]], cards: Mapping[str, Mapping[str, Any]]) -> str | None:
    if not applied:
        return None
    if len(applied) > 1:
        return "combined/" + "+".join(sorted(name for name, _ in applied))
    ((name, severity),) = applied
    levels = {float(value): level for level, value in cards.get(name, {}).get("levels", {}).items()}
    return f"{name}/{levels.get(float(severity), f'{severity:g}')}"


def is_fresh(episodes: pl.DataFrame) -> NDArray[np.bool_]:
    """Those kept for confirming: what a diagnosis asked for to that end, else every other seed."""
    asked = (episodes["suite"] == CONFIRMATION).fill_null(False).to_numpy()
    return asked if asked.any() else (episodes["seed"] % 2 == 1).to_numpy()
