"""How fast the policy answers, measured at its boundary."""

from __future__ import annotations

import polars as pl

from robodx.analysis.metrics.base import episode_metric


@episode_metric(unit="1/s", better="higher")
def call_rate(episodes: pl.DataFrame) -> pl.Series:
    """Queries per second that the policy can answer, averaged over episodes."""
    return episodes["calls_per_s"]


@episode_metric(unit="1/s", better="higher")
def inference_rate(episodes: pl.DataFrame) -> pl.Series:
    """Actions per second that the policy can provide, averaged over episodes."""
    return episodes["actions_per_s"]


@episode_metric(unit="ms", better="lower")
def latency_p50(episodes: pl.DataFrame) -> pl.Series:
    """Median inference latency within an episode, averaged over episodes."""
    return episodes["inference_ms_p50"]


@episode_metric(unit="ms", better="lower")
def latency_p95(episodes: pl.DataFrame) -> pl.Series:
    """95th percentile of the inference latency within an episode, averaged over episodes."""
    return episodes["inference_ms_p95"]


@episode_metric(unit="ms", better="lower")
def latency_p99(episodes: pl.DataFrame) -> pl.Series:
    """99th percentile of the inference latency within an episode, averaged over episodes."""
    return episodes["inference_ms_p99"]
