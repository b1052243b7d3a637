"""How it moves, whether it succeeds or not."""

from __future__ import annotations

import polars as pl

from robodx.analysis.metrics.base import episode_metric


@episode_metric(unit="", better="higher")
def stability(episodes: pl.DataFrame) -> pl.Series:
    """exp(−mean change of the joint targets from step to step, in radians): 1 is standing still."""
    return episodes["stability"]


@episode_metric(unit="", better="higher")
def smoothness(episodes: pl.DataFrame) -> pl.Series:
    """SPARC, the negative length of the speed's spectrum: nearer to zero is smoother."""
    return episodes["sparc"]


@episode_metric(unit="ratio", better="lower")
def length_ratio(episodes: pl.DataFrame) -> pl.Series:
    """The hand's path over the expert's in the same situation, of episodes that succeed."""
    return episodes.select(pl.when("success").then("length_ratio")).to_series()


@episode_metric(unit="s", better="lower")
def time_to_success(episodes: pl.DataFrame) -> pl.Series:
    """How long an episode that succeeds takes."""
    return episodes.select(pl.when("success").then("duration_s")).to_series()


@episode_metric(unit="m²/s⁶", better="lower")
def mean_squared_jerk(episodes: pl.DataFrame) -> pl.Series:
    """The mean square of the hand's third derivative."""
    return episodes["mean_squared_jerk"]


@episode_metric(unit="count", better="lower")
def drops(episodes: pl.DataFrame) -> pl.Series:
    """Things dropped in an episode."""
    return episodes["drops"]
