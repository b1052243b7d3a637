"""What fails: rates of what must never happen, and the shares of kinds and types among failures."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import polars as pl

from robodx.analysis.metrics.base import episode_metric
from robodx.analysis.metrics.observations import STRATUM, distinct_episodes
from robodx.analysis.statistics.estimates import Estimate, wilson

Column = Literal["failure_kind", "failure_type"]
UNKNOWN = "unknown"


@dataclass(frozen=True)
class FailureShare:
    """A label, how many failures carry it, and their share of all failures."""

    label: str
    count: int
    share: Estimate


@episode_metric(unit="rate", better="lower")
def constraint_violation_rate(episodes: pl.DataFrame) -> pl.Series:
    """The share of episodes that failed because a constraint was violated: count, exclusion, order or a `never`."""
    return _is_of_kind(episodes, "constraint")


@episode_metric(unit="rate", better="lower")
def unsafe_rate(episodes: pl.DataFrame) -> pl.Series:
    """The share of episodes that failed because force, speed, joint limits or a collision exceeded a safety limit."""
    return _is_of_kind(episodes, "safety")


@episode_metric(unit="rate", better="lower")
def collision_rate(episodes: pl.DataFrame) -> pl.Series:
    """The share of episodes with a collision, including successful ones."""
    return episodes["collisions"] > 0


def failure_shares(episodes: pl.DataFrame, column: Column = "failure_kind") -> list[FailureShare]:
    """The most frequent first. Failures that nobody attributed, as in old runs, are of the label `unknown`."""
    failed = distinct_episodes(episodes).filter(~pl.col("success"))
    labels = failed[column].fill_null(UNKNOWN)
    counts = labels.value_counts().sort("count", column, descending=[True, False])
    return [FailureShare(str(label), int(count), share_of(int(count), failed)) for label, count in counts.iter_rows()]


def share_of(count: int, episodes: pl.DataFrame) -> Estimate:
    """So many of these episodes; n counts situations, for repeats of one are no further evidence."""
    if episodes.is_empty():
        return wilson(0, 0)
    situations = episodes.select(pl.struct(*STRATUM, "seed").hash()).to_series().n_unique()
    return wilson(count * situations / len(episodes), situations)


def _is_of_kind(episodes: pl.DataFrame, kind: str) -> pl.Series:
    """Unknown for all of them if any failure has no kind, as in old runs: the others alone would flatter."""
    kinds = episodes.select(pl.when("success").then(pl.lit("none")).otherwise("failure_kind")).to_series()
    return kinds == kind if not kinds.has_nulls() else pl.Series([None] * len(kinds), dtype=pl.Boolean)
