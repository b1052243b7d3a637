"""A median with an interval that supposes nothing of how values are distributed."""

from __future__ import annotations

import numpy as np
import polars as pl

from robodx.analysis.statistics.estimates import CONFIDENCE, NOTHING, Estimate


def median(values: pl.Series, confidence: float = CONFIDENCE) -> Estimate:
    """The interval lies between two of the sorted values: how many are below the true median is a coin's binomial.

    Fewer than six values leave no 95% interval, and the median comes without.
    """
    # Here, for it takes half a second to import.
    from scipy.stats import binom  # type: ignore[import-untyped]

    known = np.sort(values.drop_nulls().drop_nans().to_numpy().astype(np.float64))
    n = len(known)
    if n == 0:
        return NOTHING
    outside = int(binom.ppf((1 - confidence) / 2, n, 0.5))
    if binom.cdf(outside - 1, n, 0.5) > (1 - confidence) / 2 or outside == 0:
        return Estimate(float(np.median(known)), None, None, n)
    return Estimate(float(np.median(known)), float(known[outside - 1]), float(known[n - outside]), n)
