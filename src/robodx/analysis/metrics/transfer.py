"""What is left of success elsewhere: retention as a ratio of two estimates, the transfer gap as a difference."""

from __future__ import annotations

import math

import numpy as np
import polars as pl

from robodx.analysis.metrics.base import estimate
from robodx.analysis.metrics.success import success_rate
from robodx.analysis.statistics.estimates import Estimate


def ratio(numerator: Estimate, denominator: Estimate) -> Estimate:
    """The ratio of two independent estimates that are not negative, its interval from theirs (Donner and Zou 2012).

    None where the denominator is zero. Where the denominator may well be zero the ratio has no upper bound, and `high`
    is None. For variants on shared seeds, which tend to agree, the interval is wider than it need be.
    """
    n = numerator.n + denominator.n
    if numerator.value is None or not denominator.value:
        return Estimate(None, None, None, n)
    top, bottom = numerator.value, denominator.value
    if numerator.low is None or numerator.high is None or denominator.low is None or denominator.high is None:
        return Estimate(top / bottom, None, None, n)
    # The bounds r solve (top − r · bottom)² = (distance of the bounds on one side)²: r² a − 2 r · top · bottom + c = 0.
    product = top * bottom
    a, c = denominator.high * (2 * bottom - denominator.high), numerator.low * (2 * top - numerator.low)
    low = c / (product + math.sqrt(product**2 - a * c)) if top else 0.0
    a, c = denominator.low * (2 * bottom - denominator.low), numerator.high * (2 * top - numerator.high)
    high = (product + math.sqrt(product**2 - a * c)) / a if a else None
    return Estimate(top / bottom, low, high, n)


def difference(first: Estimate, second: Estimate) -> Estimate:
    """first − second of two independent estimates: Newcombe's construction for any pair of intervals."""
    n = first.n + second.n
    if first.value is None or second.value is None:
        return Estimate(None, None, None, n)
    value = first.value - second.value
    if first.low is None or first.high is None or second.low is None or second.high is None:
        return Estimate(value, None, None, n)
    below = math.hypot(first.value - first.low, second.high - second.value)
    above = math.hypot(first.high - first.value, second.value - second.low)
    return Estimate(value, value - below, value + above, n)


def retention(test: pl.DataFrame, train: pl.DataFrame, rng: np.random.Generator) -> Estimate:
    """Success on test phrasings, unseen scenes or under stress, over success on what was trained; same tasks of both.

    None where training was never successful: then there is nothing to retain.
    """
    test, train = _shared_tasks(test, train)
    return ratio(estimate(success_rate, test, rng), estimate(success_rate, train, rng))


def transfer_gap(single: pl.DataFrame, joint: pl.DataFrame, rng: np.random.Generator) -> Estimate:
    """TG: success of checkpoints trained on one task each, less that of one trained on all; same tasks of both.

    Below zero the jointly trained one is better.
    """
    single, joint = _shared_tasks(single, joint)
    return difference(estimate(success_rate, single, rng), estimate(success_rate, joint, rng))


def _shared_tasks(first: pl.DataFrame, second: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    return first.join(second, on="task", how="semi"), second.join(first, on="task", how="semi")
