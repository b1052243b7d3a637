"""The macro-averaged success rate over fixed tasks, with a score interval that also holds near 0 and 1."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from robodx.analysis.statistics.estimates import CONFIDENCE, NOTHING, Estimate

Floats = npt.NDArray[np.float64]
# Halvings of the multiplier's exponent, from 1e-12 to 1e12 times the number of trials.
HALVINGS = 45
LARGEST_EXPONENT = 12.0


class Bounds(NamedTuple):
    low: Floats
    high: Floats


def macro_rate(successes: Sequence[int], n: Sequence[int], confidence: float = CONFIDENCE) -> Estimate:
    """The mean over tasks of the success rate within each; a task without trials has no say.

    Wilson's interval carried over to several tasks: a macro mean is excluded when it lies z standard errors off
    under the task rates that are the likeliest with that mean. With one task it is Wilson's. Resampling the seeds
    would give no width at all where every trial of a task went alike, which is the usual case.
    """
    won, trials = np.asarray(successes, dtype=np.float64), np.asarray(n, dtype=np.float64)
    if won.shape != trials.shape or (won < 0).any() or (won > trials).any():
        raise ValueError(f"{list(successes)} successes of {list(n)} trials")
    won, trials = won[trials > 0], trials[trials > 0]
    if not len(trials):
        return NOTHING
    value = float((won / trials).mean())
    low, high = macro_bounds(won[None], trials, confidence)
    return Estimate(value, min(value, float(low[0])), max(value, float(high[0])), int(trials.sum()))


def macro_bounds(successes: Floats, n: Floats, confidence: float = CONFIDENCE) -> Bounds:
    """The interval for each row of `successes` (rows, tasks), given the trials of each task, none of them zero."""
    return Bounds(1 - _upper(n - successes, n, confidence), _upper(successes, n, confidence))


def _upper(successes: Floats, n: Floats, confidence: float) -> Floats:
    """The largest macro mean not excluded, found over the multiplier that pulls the likeliest rates upwards."""
    z = NormalDist().inv_cdf(0.5 + confidence / 2)
    observed = (successes / n).mean(axis=1)
    inside = np.full(len(successes), -LARGEST_EXPONENT)
    outside = np.full(len(successes), LARGEST_EXPONENT)
    for _ in range(HALVINGS):
        middle = (inside + outside) / 2
        rates = _likeliest(successes, n, n.sum() * 10.0**middle)
        distance = rates.mean(axis=1) - observed
        is_inside = distance <= z * np.sqrt(_variance(rates, n))
        inside, outside = np.where(is_inside, middle, inside), np.where(is_inside, outside, middle)
    bound = _likeliest(successes, n, n.sum() * 10.0**inside).mean(axis=1)
    return np.where((successes == n).all(axis=1), 1.0, np.clip(bound, 0.0, 1.0))


def _likeliest(successes: Floats, n: Floats, pull: Floats) -> Floats:
    """The task rates (rows, tasks) of highest likelihood for a mean raised by the multiplier `pull`.

    They solve s / p − (n − s) / (1 − p) = −pull, a quadratic whose form depends on the sign of its middle term:
    the other form would subtract nearly equal numbers. Rounding must not lift a rate above 1: its variance would
    be negative.
    """
    pull = pull[:, None]
    middle = n - pull
    root = np.sqrt(middle**2 + 4 * pull * successes)
    falling = np.divide(2 * successes, middle + root, out=np.zeros_like(root), where=middle + root > 0)
    return np.minimum(1.0, np.where(middle >= 0, falling, (root - middle) / (2 * pull)))


def _variance(rates: Floats, n: Floats) -> Floats:
    """The variance of the macro mean. Rates fitted to few trials look too sure of themselves by the degrees of
    freedom that the fit took: one for each task, less the one that the mean fixes."""
    tasks = len(n)
    taken = (tasks - 1) / tasks
    spread: Floats = rates * (1 - rates) / np.maximum(n - taken, 0.5)
    total: Floats = spread.sum(axis=1) / tasks**2
    return total
