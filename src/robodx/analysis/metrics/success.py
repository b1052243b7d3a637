"""How often it succeeds, plainly and on a scale where guessing is zero."""

from __future__ import annotations

import math

import numpy as np
import polars as pl

from robodx.analysis.metrics.base import episode_metric, macro_mean, mean_estimate, metric
from robodx.analysis.metrics.observations import by_situation
from robodx.analysis.statistics.estimates import NOTHING, Estimate, above_chance


@episode_metric(unit="rate", better="higher")
def success_rate(episodes: pl.DataFrame) -> pl.Series:
    """Success / (success + failure + timeout)."""
    return episodes["success"]


def mean_above_chance(episodes: pl.DataFrame, rng: np.random.Generator, confidence: float) -> Estimate:
    """Each task's interval moved to its own scale, and these put together as those of independent rates (Zou 2007)."""
    table = _with_choice(episodes)
    situations = by_situation(table, table["success"]).with_columns(
        chance=by_situation(table, table["chance"])["value"]
    )
    parts = []
    for _, task in situations.group_by("stratum", maintain_order=True):
        rate = mean_estimate(task, rng, bounds=(0.0, 1.0), confidence=confidence)
        corrected = above_chance(rate, float(task["chance"][0]))
        assert corrected.value is not None and corrected.low is not None and corrected.high is not None
        parts.append((corrected.value, corrected.low, corrected.high, corrected.n))
    if not parts:
        return NOTHING
    value = sum(part[0] for part in parts) / len(parts)
    below = math.hypot(*(part[0] - part[1] for part in parts)) / len(parts)
    above = math.hypot(*(part[2] - part[0] for part in parts)) / len(parts)
    return Estimate(value, value - below, value + above, sum(part[3] for part in parts))


@metric(unit="", better="higher", interval=mean_above_chance)
def chance_corrected_success(episodes: pl.DataFrame) -> float | None:
    """(success − chance) / (1 − chance), over tasks with a chance below 1.

    Below zero is worse than guessing. A task with a chance of 1 has no choice to get right, and no say.
    """
    table = _with_choice(episodes)
    return macro_mean(table, (table["success"].cast(pl.Float64) - table["chance"]) / (1 - table["chance"]))


def _with_choice(episodes: pl.DataFrame) -> pl.DataFrame:
    return episodes.filter(pl.col("chance") < 1)
