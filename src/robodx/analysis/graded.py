"""Stability, adaptability and rate by level: of tests whose levels are tasks, not stressors that are put on tasks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from robodx.analysis.metrics.base import METRICS, estimate
from robodx.analysis.metrics.observations import distinct_episodes
from robodx.analysis.statistics.estimates import Estimate
from robodx.analysis.statistics.medians import median
from robodx.records.derived_design import designed
from robodx.records.design import COLUMN

# By the family of its tasks; what else has levels is there for its stability.
TESTS = {"pursuit": "inference_frequency", "adaptability": "adaptability"}
STABILITY = "stability"


@dataclass(frozen=True)
class Graded:
    """One policy at one level of one test, that is on one task and one clock."""

    policy: str
    # "stability", "adaptability" or "inference_frequency".
    test: str
    level: str
    task: str
    clock: str
    success: Estimate
    # Means over situations.
    stability: Estimate
    # Medians over episodes: how often it can be asked in a second, and how many actions it gives.
    calls_per_s: Estimate
    actions_per_s: Estimate
    latency_ms_p95: Estimate


def levels(episodes: pl.DataFrame, about: Mapping[str, Any]) -> list[Graded]:
    """Of tasks that a suite graded: by test and level, first where the world waits, then where it does not."""
    rows = designed(episodes, about).explode(COLUMN).drop_nulls(COLUMN)
    purpose = pl.col(COLUMN).struct
    is_clock = purpose.field("factors").list.first().struct.field("name") == "clock"
    is_graded = purpose.field("level").is_not_null() & (
        (purpose.field("variant") == "clean") | is_clock.fill_null(False)
    )
    graded = (
        rows.filter(is_graded)
        .with_columns(level=purpose.field("level"), test=pl.col("family").replace_strict(TESTS, default=STABILITY))
        .drop(COLUMN)
        .unique("trial_id", maintain_order=True)
    )
    keys = ["policy", "test", "level", "task", "clock"]
    is_waiting = pl.col("clock") == "lockstep"
    ordered = graded.sort("policy", "test", "level", ~is_waiting, "clock", "task", maintain_order=True)
    return [_graded(key, part) for key, part in ordered.group_by(keys, maintain_order=True)]


def _graded(key: tuple[object, ...], part: pl.DataFrame) -> Graded:
    policy, test, level, task, clock = map(str, key)
    rng = np.random.default_rng(0)
    distinct = distinct_episodes(part)
    return Graded(
        policy, test, level, task, clock,
        estimate(METRICS["success_rate"], part, rng), estimate(METRICS["stability"], part, rng),
        median(distinct["calls_per_s"]), median(distinct["actions_per_s"]), median(distinct["inference_ms_p95"]),
    )  # fmt: skip
