"""Evidence that may be looked at after every episode: intervals and p-values that early stopping does not spoil.

A gambler bets on every observation against a mean m. If m is the truth, no way of betting makes money on average, and
by Ville's inequality the capital ever reaches 20 with probability 1/20 at most. The interval is all m against which it
is below that now. The bets are a fixed grid of fractions of the largest bet that cannot ruin, on either side; the
capital is their average. So it does not depend on the order of the observations, and it stays valid for the mean over
tasks that differ, if each look is taken when every task has had its share of the observations: for a fixed bet, the
expected growth over unlike tasks is at most that over as many tasks like their mean. docs/statistics.md says more.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robodx.analysis.statistics.estimates import CONFIDENCE, NOTHING, Estimate

# Finer grids gain nothing up to a hundred thousand observations.
BETS = (np.arange(50) + 0.5) / 50
# How near to the ends of the range a bound is looked for.
NEARLY = 1e-9
SMALLEST_P = 1e-12

# How it was decided that a run has enough episodes: beforehand; for all tasks at once, when a comparison was decided;
# or for each task by itself, so that tasks have unequal numbers by reason of their outcomes.
Stopped = Literal["planned", "together", "apart"]


class Range(NamedTuple):
    """Where observations lie for certain."""

    low: float
    high: float


RATES = Range(0.0, 1.0)
DIFFERENCES = Range(-1.0, 1.0)


def stopped_how(request: Mapping[str, Any]) -> Stopped:
    """From what run.json says was asked for."""
    # A cliff search asks more of the severities that tell more, and so may the suite bias of values.
    asked = [name.split("/") for name in request.get("selectors", ())]
    grows = any(suite == "cliff" or (suite == "bias" and "adaptive" in within) for suite, *within in asked)
    if request.get("until_width") is not None or grows:
        return "apart"
    return "together" if request.get("until_decided") else "planned"


def log_evidence(values: NDArray[np.float64], counts: ArrayLike, mean: float, within: Range) -> NDArray[np.float64]:
    """The log of the capital won against `mean` by observations seen `counts` times each: (…, values) gives (…)."""
    from scipy.special import logsumexp  # type: ignore[import-untyped]

    # A bet is a fraction of the largest that cannot ruin, which is what makes the set of means an interval.
    upward = np.log1p(BETS * ((values[:, None] - within.low) / (mean - within.low) - 1))  # (values, bets)
    downward = np.log1p(BETS * ((within.high - values[:, None]) / (within.high - mean) - 1))
    grown = np.asarray(counts, dtype=np.float64) @ np.hstack([upward, downward])
    return np.asarray(logsumexp(grown, axis=-1) - math.log(2 * len(BETS)))


def mean_sequence(observations: ArrayLike, confidence: float = CONFIDENCE, *, within: Range = RATES) -> Estimate:
    """The mean of what lies within a range, with an interval that holds at every n at once."""
    values, counts = np.unique(np.asarray(observations, dtype=np.float64), return_counts=True)
    return _interval(values, counts, within, confidence)


def confidence_sequence(successes: int, n: int, confidence: float = CONFIDENCE) -> Estimate:
    """A rate with an interval that holds at every n at once."""
    if not 0 <= successes <= n:
        raise ValueError(f"{successes} successes of {n} trials")
    return _interval(np.array([0.0, 1.0]), np.array([n - successes, successes]), RATES, confidence)


def difference_sequence(differences: ArrayLike, confidence: float = CONFIDENCE) -> Estimate:
    """The mean of paired differences, each from -1 to 1, with an interval that holds at every n at once."""
    return mean_sequence(differences, confidence, within=DIFFERENCES)


def p_of_no_difference(differences: ArrayLike) -> float:
    """Of paired differences with mean zero, whenever one looks: the inverse of the capital won against zero."""
    values, counts = np.unique(np.asarray(differences, dtype=np.float64), return_counts=True)
    _check(values, DIFFERENCES)
    return min(1.0, math.exp(-float(log_evidence(values, counts, 0.0, DIFFERENCES))))


def mean_over_tasks(
    tasks: Sequence[ArrayLike], stopped: Stopped, confidence: float = CONFIDENCE, *, within: Range = RATES
) -> Estimate:
    """Of a run that its outcomes ended; the observations of each task in their order.

    Where tasks have had their shares together, all observations count the same. Where each stopped when it liked, the
    interval rests on as many of each as the first to stop has, and is stretched to hold the mean of all.
    """
    arrays = [np.asarray(task, dtype=np.float64) for task in tasks]
    if not arrays or not all(map(len, arrays)):
        return Estimate(None, None, None, sum(map(len, arrays)))
    complete = min(map(len, arrays)) if stopped == "apart" else None
    found = mean_sequence(np.concatenate([array[:complete] for array in arrays]), confidence, within=within)
    if stopped != "apart" or found.low is None or found.high is None:
        return found
    value = float(np.mean([array.mean() for array in arrays]))
    return Estimate(value, min(found.low, value), max(found.high, value), sum(map(len, arrays)))


def unpaired_sequence(
    a: Callable[[float], Estimate], b: Callable[[float], Estimate], confidence: float = CONFIDENCE
) -> Estimate:
    """How much larger b is than a, on other situations: from an interval of each, both true at once."""
    each = 1 - (1 - confidence) / 2
    first, second = a(each), b(each)
    n = first.n + second.n
    if first.value is None or first.low is None or first.high is None:
        return Estimate(None, None, None, n)
    if second.value is None or second.low is None or second.high is None:
        return Estimate(None, None, None, n)
    return Estimate(second.value - first.value, second.low - first.high, second.high - first.low, n)


def p_from(interval: Callable[[float], Estimate]) -> float | None:
    """The smallest error rate at which an interval, given for a confidence, leaves out zero."""

    def leaves_out_zero(log_p: float) -> bool:
        estimate = interval(1 - math.exp(log_p))
        return estimate.low is not None and estimate.high is not None and not estimate.low <= 0 <= estimate.high

    if interval(CONFIDENCE).value is None:
        return None
    low, high = math.log(SMALLEST_P), math.log(1 - NEARLY)
    if not leaves_out_zero(high):
        return 1.0
    while high - low > 1e-3:
        middle = (low + high) / 2
        low, high = (low, middle) if leaves_out_zero(middle) else (middle, high)
    return math.exp(high)


def _interval(values: NDArray[np.float64], counts: NDArray[np.int64], within: Range, confidence: float) -> Estimate:
    # Here, for it takes a third of a second to import.
    from scipy.optimize import brentq  # type: ignore[import-untyped]

    _check(values, within)
    n = int(counts.sum())
    if n == 0:
        return NOTHING
    mean = float(counts @ values) / n
    enough = -math.log(1 - confidence)

    def shortfall(guess: float) -> float:
        return float(log_evidence(values, counts, guess, within)) - enough

    lowest, highest = within.low + NEARLY, within.high - NEARLY
    # Against the mean of what was seen nothing is won, whatever the bet.
    inside = min(max(mean, lowest), highest)
    low = within.low if shortfall(lowest) < 0 else float(brentq(shortfall, lowest, inside))
    high = within.high if shortfall(highest) < 0 else float(brentq(shortfall, inside, highest))
    return Estimate(mean, low, high, n)


def _check(values: NDArray[np.float64], within: Range) -> None:
    outside = values[~((values >= within.low) & (values <= within.high))]
    if len(outside):
        raise ValueError(f"{outside[0]} is not from {within.low:g} to {within.high:g}")
