"""Success with the motor part divided out, by the success on the primitive that a task builds on."""

from __future__ import annotations

import math

import numpy as np
import polars as pl

from robodx.analysis.metrics.base import mean_estimate, metric
from robodx.analysis.metrics.observations import STRATUM, by_situation
from robodx.analysis.metrics.transfer import ratio
from robodx.analysis.statistics.estimates import NOTHING, Estimate

VARIANT = tuple(name for name in STRATUM if name not in ("task", "task_version"))
RATES = (0.0, 1.0)


def mean_of_ratios(episodes: pl.DataFrame, rng: np.random.Generator, confidence: float) -> Estimate:
    """Tasks that share a primitive make one ratio to it; the ratios are put together as independent ones (Zou 2007).

    Resampling would not do: where a primitive always succeeded it would be taken for certain.
    """
    parts: list[tuple[int, Estimate]] = []
    for (*_, primitive), tasks in _declared(episodes).group_by(*VARIANT, "primitive", maintain_order=True):
        of_primitive = episodes.filter(pl.col("task") == primitive).join(
            tasks, on=VARIANT, how="semi", nulls_equal=True
        )
        above, below = (
            mean_estimate(by_situation(table, table["success"]), rng, bounds=RATES, confidence=confidence)
            for table in (tasks, of_primitive)
        )
        found = ratio(above, below)
        if found.value is not None:
            parts.append((tasks["task"].n_unique(), found))
    if not parts:
        return NOTHING
    total = sum(weight for weight, _ in parts)
    value = sum(weight * (one.value or 0.0) for weight, one in parts) / total
    low = value - math.hypot(*(weight * ((one.value or 0.0) - (one.low or 0.0)) for weight, one in parts)) / total
    highs = [weight * (one.high - (one.value or 0.0)) for weight, one in parts if one.high is not None]
    high = value + math.hypot(*highs) / total if len(highs) == len(parts) else None
    return Estimate(value, max(0.0, low), high, sum(one.n for _, one in parts))


@metric(unit="ratio", better="higher", interval=mean_of_ratios, uses_primitives=True)
def control_normalised_success(episodes: pl.DataFrame) -> float | None:
    """A task's success divided by the success of its motor primitive, over tasks that declare one.

    Not capped: by luck a task may do better than its primitive, and cutting that off would bias the mean. A task whose
    primitive was not run in the same variant, or never succeeded there, has no say.
    """
    mean = control_normalised_by_task(episodes)["ratio"].mean()
    return float(mean) if isinstance(mean, float) else None


def control_normalised_by_task(episodes: pl.DataFrame) -> pl.DataFrame:
    """A row a task that declares a primitive, with `rate`, `primitive_rate` and `ratio`, null where it has none."""
    of_primitives = _rates(episodes, "task").select(*VARIANT, primitive="task", primitive_rate="rate")
    return (
        _rates(_declared(episodes), "task", "primitive")
        .join(of_primitives, on=[*VARIANT, "primitive"], how="left", nulls_equal=True, maintain_order="left")
        .with_columns(ratio=pl.when(pl.col("primitive_rate") > 0).then(pl.col("rate") / pl.col("primitive_rate")))
    )


def _declared(episodes: pl.DataFrame) -> pl.DataFrame:
    if "primitive" not in episodes.columns:
        return episodes.clear().with_columns(primitive=pl.lit(None, pl.String))
    return episodes.filter(pl.col("primitive").is_not_null())


def _rates(episodes: pl.DataFrame, *keys: str) -> pl.DataFrame:
    seeds = episodes.group_by(*VARIANT, *keys, "seed", maintain_order=True).agg(rate=pl.col("success").mean())
    return seeds.group_by(*VARIANT, *keys, maintain_order=True).agg(pl.col("rate").mean())
