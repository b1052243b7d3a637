"""Whether outcomes fall or rise with the level of a stressor: an ordered test within situations."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
PERMUTATIONS = 10_000
# So many permutations are held in memory at a time.
CHUNK = 500
ROUNDING = 1e-9


class Trend(NamedTuple):
    """The mean change of the outcome from one level to the next, and its two-sided p; None without a comparison."""

    slope: float | None
    p: float | None
    situations: int


def trend(outcomes: npt.ArrayLike, rng: np.random.Generator, permutations: int = PERMUTATIONS) -> Trend:
    """The trend over levels of `outcomes` (situations, levels), levels in order, NaN where one is missing.

    If the stressor does nothing, the outcomes of a situation could have come in any order, whatever the task and
    however random the policy: they are permuted within situations, which keeps the carriers apart as strata.
    The statistic is Page's with the outcomes in place of their ranks, which says the same of successes.
    """
    table = np.asarray(outcomes, dtype=np.float64)
    if table.ndim != 2:
        raise ValueError(f"outcomes of shape {table.shape} are not situations × levels")
    present = ~np.isnan(table)
    is_compared = present.sum(axis=1) >= 2
    table, present = table[is_compared], present[is_compared]
    if not len(table):
        return Trend(None, None, 0)
    steps = np.where(present, np.arange(table.shape[1], dtype=np.float64), np.nan)
    steps -= np.nanmean(steps, axis=1, keepdims=True)
    observed = float(np.nansum(steps * table))
    slope = observed / float(np.nansum(steps**2))
    return Trend(slope, _p(table, present, abs(observed), rng, permutations), len(table))


def _p(
    table: Floats, present: npt.NDArray[np.bool_], observed: float, rng: np.random.Generator, permutations: int
) -> float:
    """The share of arrangements at least as steep, the observed one among them."""
    sums = np.zeros(permutations)
    for pattern in np.unique(present, axis=0):
        rows = table[(present == pattern).all(axis=1)][:, pattern]
        rows = rows[np.ptp(rows, axis=1) > 0]  # equal outcomes add nothing in any order
        (levels,) = np.nonzero(pattern)
        steps = levels - levels.mean()
        for start in range(0, permutations, CHUNK):
            size = min(CHUNK, permutations - start)
            shuffled = rng.permuted(np.broadcast_to(rows, (size, *rows.shape)), axis=2)
            sums[start : start + size] += shuffled.sum(axis=1) @ steps
    return float(1 + (np.abs(sums) >= observed - ROUNDING).sum()) / (1 + permutations)
