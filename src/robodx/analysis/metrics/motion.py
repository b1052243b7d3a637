"""How it moves, whether it succeeds or not."""

from __future__ import annotations

import polars as pl

from robodx.analysis.metrics.base import episode_metric


@episode_metric(unit="", better="higher")
def stability(episodes: pl.DataFrame) -> pl.Series:
    """exp(−mean speed of the commanded joints, in radians per 1/20 s): 1 means standing still, at any control rate."""
    return episodes["stability"]


@episode_metric(unit="", better="higher")
def smoothness(episodes: pl.DataFrame) -> pl.Series:
    """SPARC, the negative arc length of the speed spectrum: closer to zero is smoother."""
    return episodes["sparc"]


@episode_metric(unit="ratio", better="lower")
def length_ratio(episodes: pl.DataFrame) -> pl.Series:
    """Path length of the hand divided by the expert's in the same situation, over successful episodes."""
    return episodes.select(pl.when("success").then("length_ratio")).to_series()


@episode_metric(unit="s", better="lower")
def time_to_success(episodes: pl.DataFrame) -> pl.Series:
    """Duration of successful episodes."""
    return episodes.select(pl.when("success").then("duration_s")).to_series()


@episode_metric(unit="m²/s⁶", better="lower")
def mean_squared_jerk(episodes: pl.DataFrame) -> pl.Series:
    """Mean squared jerk of the hand."""
    return episodes["mean_squared_jerk"]


@episode_metric(unit="count", better="lower")
def drops(episodes: pl.DataFrame) -> pl.Series:
    """Objects dropped per episode."""
    return episodes["drops"]
