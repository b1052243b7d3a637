"""Bootstrap intervals for means over tasks: seeds are resampled within tasks, which are fixed by design."""

from __future__ import annotations

import math
import sys
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

from robodx.analysis.statistics.estimates import CONFIDENCE, NOTHING, Estimate
from robodx.analysis.statistics.macro import macro_rate
from robodx.errors import UserError

Floats = npt.NDArray[np.float64]
Limits = tuple[float, float]
RESAMPLES = 2_000
# Fewer tasks than this say too little about tasks that nobody has tried.
FEWEST_TASKS = 20
# Values that differ by no more than rounding does, relative to their size.
ALIKE = 1e-9


def bootstrap_macro_mean(
    values: npt.ArrayLike,
    strata: npt.ArrayLike,
    rng: np.random.Generator,
    *,
    bounds: Limits | None = (0.0, 1.0),
    new_tasks: bool = False,
    confidence: float = CONFIDENCE,
    resamples: int = RESAMPLES,
) -> Estimate:
    """The mean over tasks (`strata`) of the mean within each, of values that lie within `bounds` or have none.

    The interval is for these tasks and new seeds; with `new_tasks` it is for tasks like these, which takes 20 of
    them. Successes (only 0 and 1, on these tasks) get the score interval of `macro_rate`, since a bootstrap has no
    width where all trials went alike. Values without bounds that are all alike get no interval.
    """
    groups = _groups(values, strata, bounds)
    n = sum(map(len, groups))
    if not n:
        return NOTHING
    means = np.array([group.mean() for group in groups])
    value = float(means.mean())
    if new_tasks:
        if len(groups) < FEWEST_TASKS:
            raise UserError(f"{len(groups)} tasks are too few for a claim about new ones: it takes {FEWEST_TASKS}")
        # The spread of the task means holds that of the seeds already: resampling these too would count it twice.
        parts, weights = [means], np.ones(1)
    elif bounds == (0.0, 1.0) and all(np.isin(group, (0.0, 1.0)).all() for group in groups):
        return macro_rate([int(group.sum()) for group in groups], [len(group) for group in groups], confidence)
    else:
        parts, weights = _collapse_singles(groups)
    low, high = _interval(parts, weights, value, bounds, rng, confidence, resamples) or (None, None)
    return Estimate(value, low, high, n)


def _groups(values: npt.ArrayLike, strata: npt.ArrayLike, bounds: Limits | None) -> list[Floats]:
    numbers, labels = np.asarray(values, dtype=np.float64), np.asarray(strata)
    if numbers.shape != labels.shape or numbers.ndim != 1:
        raise ValueError(f"values of shape {numbers.shape} with strata of shape {labels.shape}")
    low, high = bounds or (-sys.float_info.max, sys.float_info.max)
    if not ((numbers >= low) & (numbers <= high)).all():
        raise ValueError(f"a value is not within {low} … {high}")
    return [numbers[labels == label] for label in np.unique(labels)]


def _collapse_singles(groups: list[Floats]) -> tuple[list[Floats], Floats]:
    """Strata and their weights, tasks of one seed taken together: one value alone has no spread to resample."""
    several = [group for group in groups if len(group) > 1]
    single = [group for group in groups if len(group) == 1]
    parts = [*several, np.concatenate(single)] if single else several
    weights = np.array([1.0] * len(several) + ([float(len(single))] if single else []))
    return parts, weights / len(groups)


def _interval(
    parts: list[Floats],
    weights: Floats,
    value: float,
    bounds: Limits | None,
    rng: np.random.Generator,
    confidence: float,
    resamples: int,
) -> Limits | None:
    drawn = _stretched_percentiles(parts, weights, rng, confidence, resamples)
    if bounds is None:
        return None if drawn is None else (value + drawn[0], value + drawn[1])
    # Values that the sample happens to lack have no part in a bootstrap. As large a share of them may lie at either
    # bound unseen as Wilson's interval grants to a success that never came: the interval is at least as wide as that.
    squared = NormalDist().inv_cdf(0.5 + confidence / 2) ** 2
    unseen = squared / (sum(map(len, parts)) + squared)
    low, high = value - unseen * (value - bounds[0]), value + unseen * (bounds[1] - value)
    below, above = drawn or (0.0, 0.0)
    return max(bounds[0], min(low, value + below)), min(bounds[1], max(high, value + above))


def _stretched_percentiles(
    parts: list[Floats], weights: Floats, rng: np.random.Generator, confidence: float, resamples: int
) -> Limits | None:
    """How far below and above the mean its resamples lie, stretched for few values; None where all are alike."""
    from scipy.special import stdtrit  # type: ignore[import-untyped]

    deviations, variances, freedoms = np.zeros(resamples), [], []
    for part, weight in zip(parts, weights, strict=True):
        size = len(part)
        if size == 1 or float(np.ptp(part)) <= ALIKE * (1 + float(np.abs(part).max())):
            continue
        drawn = part[rng.integers(size, size=(resamples, size))].mean(axis=1)
        # A resample spreads less than the sample did, by one degree of freedom.
        deviations += weight * math.sqrt(size / (size - 1)) * (drawn - part.mean())
        variances.append(weight**2 * float(part.var(ddof=1)) / size)
        freedoms.append(size - 1)
    if not variances:
        return None
    # Percentiles behave like z; with few seeds the deviations are stretched to Student's t (Welch–Satterthwaite).
    freedom = sum(variances) ** 2 / sum(v * v / f for v, f in zip(variances, freedoms, strict=True))
    upper = 0.5 + confidence / 2
    stretch = float(stdtrit(freedom, upper)) / NormalDist().inv_cdf(upper)
    low, high = stretch * np.quantile(deviations, [1 - upper, upper])
    return min(0.0, float(low)), max(0.0, float(high))
