"""How much of a perturbation an episode met: with long chunks a rare fault may go by unseen."""

from __future__ import annotations

import polars as pl

from robodx.analysis.metrics.base import episode_metric


@episode_metric(unit="share", better="neither")
def exposure_share(episodes: pl.DataFrame) -> pl.Series:
    """The share of a policy's queries that carried a perturbed observation."""
    return _share(episodes, "perturbed_queries", "queries")


@episode_metric(unit="share", better="neither")
def perturbed_step_share(episodes: pl.DataFrame) -> pl.Series:
    """The share of control steps whose command was perturbed before it was executed."""
    return _share(episodes, "perturbed_steps", "steps")


def _share(episodes: pl.DataFrame, part: str, whole: str) -> pl.Series:
    return episodes.select(pl.when(pl.col(whole) > 0).then(pl.col(part) / pl.col(whole))).to_series()
