"""How far it comes where it does not succeed."""

from __future__ import annotations

import polars as pl

from robodx.analysis.metrics.base import episode_metric


@episode_metric(unit="score", better="higher")
def progress(episodes: pl.DataFrame) -> pl.Series:
    """Partial credit: the mean over stages; the current stage counts with its best value so far."""
    return episodes["progress"]


@episode_metric(unit="share", better="higher")
def process_success_rate(episodes: pl.DataFrame) -> pl.Series:
    """PSR: the share of stages that an episode reached."""
    return episodes["stages_reached"] / episodes["stages"]
