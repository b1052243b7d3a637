"""The bias coefficient, the plain spread and the interaction coefficient of arrays of success rates.

Values are on the last axis and contexts on the one before it; any axes before these are kept, so that thousands of
permuted or resampled grids are one array. A rate that is not known is nan.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
# Keeps the ratio finite where hardly anything succeeds.
EPSILON = 1e-6
# How many numbers an array of permutations holds at a time.
CHUNK = 4_000_000
ROUNDING = 1e-12


def rates_of(success: Floats, context_of: Ints) -> Floats:
    """From outcomes (..., blocks, values) to rates (..., contexts, values); blocks are sorted by context."""
    starts = starts_of(context_of)
    known = ~np.isnan(success)
    if known.all():
        summed = np.add.reduceat(success, starts, axis=-2)
        blocks = np.diff(np.append(starts, len(context_of)))
        return np.asarray(summed / blocks[:, None])
    summed = np.add.reduceat(np.where(known, success, 0.0), starts, axis=-2)
    counts = np.add.reduceat(known.astype(np.float64), starts, axis=-2)
    return np.asarray(np.divide(summed, counts, out=np.full(summed.shape, np.nan), where=counts > 0))


def starts_of(context_of: Ints) -> Ints:
    """Of blocks that are sorted by context, the first of each."""
    return np.flatnonzero(np.diff(context_of, prepend=-1)).astype(np.int64)


def by_context(rates: Floats) -> Floats:
    """CV of each context (..., contexts): population std over values / (mean + ε); nan where nothing succeeds."""
    mean, std = _moments(rates)
    return np.where(mean > 0, std / (np.where(mean > 0, mean, 1.0) + EPSILON), np.nan)


def coefficient(rates: Floats) -> Floats:
    """The bias coefficient: the mean of CV over contexts, those without one left out; nan where that is all of them."""
    with _silent():
        return np.asarray(np.nanmean(by_context(rates), axis=-1))


def spreads(rates: Floats) -> Floats:
    """The plain std over values of each context (..., contexts): CV is large where a context is merely hard."""
    return _moments(rates)[1]


def main_variance(rates: Floats) -> Floats:
    """The variance over values of their mean over contexts: large where values matter alike in all contexts."""
    with _silent():
        return np.asarray(np.nanvar(np.nanmean(rates, axis=-2), axis=-1))


def interaction(rates: Floats) -> Floats:
    """IEC of the last factor given the one before it, of rates (..., contexts, given, values).

    The mean over contexts of the std over the given values of CV, over its mean. What has no CV is left out; a context
    in which all CVs are zero has no ratio.
    """
    given = by_context(rates)  # (..., contexts, given)
    mean, std = _moments(given)
    ratios = np.where(mean > 0, std / np.where(mean > 0, mean, 1.0), np.nan)
    with _silent():
        return np.asarray(np.nanmean(ratios, axis=-1))


def _moments(numbers: Floats) -> tuple[Floats, Floats]:
    """Mean and population std over the last axis, of what is known; nan where nothing is."""
    with _silent():
        if np.isnan(numbers).any():
            mean, std = np.asarray(np.nanmean(numbers, axis=-1)), np.asarray(np.nanstd(numbers, axis=-1))
        else:
            mean, std = numbers.mean(axis=-1), numbers.std(axis=-1)
    # Equal numbers have no spread, and a ratio to what rounding leaves of it would be anything.
    return mean, np.where(std < ROUNDING, 0.0, std)


@contextmanager
def _silent() -> Iterator[None]:
    """The mean of nothing is nan, as is said."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        yield
