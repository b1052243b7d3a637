"""A bootstrap for any function of episodes: seeds are drawn within tasks, and all variants of a seed come together."""

from __future__ import annotations

import math
from collections.abc import Callable
from statistics import NormalDist

import numpy as np
import numpy.typing as npt
import polars as pl

from robodx.analysis.statistics.estimates import CONFIDENCE, NOTHING, Estimate
from robodx.analysis.statistics.resampling import Limits

# Each costs a call of the function, about a millisecond for a thousand episodes.
RESAMPLES = 1_000
# Where the function has no value for more of the resamples than this, the others are no fair sample of them.
MAX_WITHOUT_VALUE = 0.05
# Resamples that differ by no more than this differ by rounding.
ALIKE = 1e-12


def bootstrap_seeds(
    function: Callable[[pl.DataFrame], float | None],
    episodes: pl.DataFrame,
    rng: np.random.Generator,
    *,
    bounds: Limits | None = None,
    confidence: float = CONFIDENCE,
    resamples: int = RESAMPLES,
) -> Estimate:
    """The function's value and a percentile interval.

    A bootstrap knows nothing of what was not seen: with `bounds` the interval is at least as wide as Wilson's would be
    had nothing happened, and without them values that are all alike get none.
    """
    value = function(episodes)
    tasks = _rows_by_seed(episodes)
    n = sum(map(len, tasks))
    if value is None:
        return Estimate(None, None, None, n) if n else NOTHING
    drawn = [function(_resample(episodes, tasks, rng)) for _ in range(resamples)]
    values = np.array([one for one in drawn if one is not None])
    if len(values) < (1 - MAX_WITHOUT_VALUE) * resamples:
        return Estimate(value, None, None, n)
    below, above = _stretched_percentiles(values - value, tasks, confidence)
    if bounds is not None:
        # As large a share of what was not seen may lie at either bound as Wilson's interval grants.
        squared = NormalDist().inv_cdf(0.5 + confidence / 2) ** 2
        unseen = squared / (n + squared)
        below, above = min(below, unseen * (bounds[0] - value)), max(above, unseen * (bounds[1] - value))
        below, above = max(below, bounds[0] - value), min(above, bounds[1] - value)
    if below == above == 0:
        return Estimate(value, None, None, n)
    return Estimate(value, value + below, value + above, n)


def _stretched_percentiles(
    deviations: npt.NDArray[np.float64], tasks: list[list[npt.NDArray[np.intp]]], confidence: float
) -> Limits:
    """How far the resamples lie below and above; zero where they are all alike."""
    from scipy.special import stdtrit  # type: ignore[import-untyped]

    if float(np.ptp(deviations)) < ALIKE:
        return 0.0, 0.0
    # A resample spreads less than the sample did, and with few seeds percentiles are too narrow: Student's t is not.
    freedom = sum(len(seeds) - 1 for seeds in tasks)
    upper = 0.5 + confidence / 2
    stretch = math.sqrt(1 + len(tasks) / freedom) * float(stdtrit(freedom, upper)) / NormalDist().inv_cdf(upper)
    low, high = stretch * np.quantile(deviations, [1 - upper, upper])
    return min(0.0, float(low)), max(0.0, float(high))


def _rows_by_seed(episodes: pl.DataFrame) -> list[list[npt.NDArray[np.intp]]]:
    """For each task, the rows of each of its seeds."""
    groups = (
        episodes.select("task", "seed").with_row_index("row")
        .group_by("task", "seed", maintain_order=True).agg("row")
        .group_by("task", maintain_order=True).agg("row")
    )  # fmt: skip
    return [[np.array(rows, dtype=np.intp) for rows in seeds] for seeds in groups["row"].to_list()]


def _resample(
    episodes: pl.DataFrame, tasks: list[list[npt.NDArray[np.intp]]], rng: np.random.Generator
) -> pl.DataFrame:
    """As many seeds of each task as there are, drawn with replacement; one drawn twice counts as two."""
    chosen = [seeds[index] for seeds in tasks for index in rng.integers(len(seeds), size=len(seeds))]
    labels = np.repeat(np.arange(len(chosen)), [len(rows) for rows in chosen])
    return episodes[np.concatenate(chosen)].with_columns(seed=pl.Series(labels, dtype=pl.Int64))
