"""Two variants on the same situations: whether they differ, by how much, and what stress costs beyond mere luck."""

from __future__ import annotations

import math
from dataclasses import replace
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from robodx.analysis.statistics.estimates import CONFIDENCE, NOTHING, Estimate, wilson
from robodx.analysis.statistics.permutation import swap_test
from robodx.analysis.statistics.resampling import RESAMPLES, Limits, bootstrap_macro_mean

Bools = npt.NDArray[np.bool_]


class Discordant(NamedTuple):
    """Of `pairs` situations, how many only the first variant solved and how many only the second."""

    only_a: int
    only_b: int
    pairs: int


class Retained(NamedTuple):
    """The shares of clean successes that were solved again, under stress and without, and what stress lost more."""

    stressed: Estimate
    identity: Estimate
    excess_loss: Estimate
    p: float | None


def discordant(a: npt.ArrayLike, b: npt.ArrayLike) -> Discordant:
    first, second = _variants(a, b)
    return Discordant(int((first & ~second).sum()), int((second & ~first).sum()), len(first))


def mcnemar(a: npt.ArrayLike, b: npt.ArrayLike) -> float | None:
    """The exact two-sided p of two variants that differ; 1 where no pair does, None where there is no pair."""
    only_a, only_b, pairs = discordant(a, b)
    return mcnemar_p(only_a, only_b) if pairs else None


def mcnemar_p(only_a: int, only_b: int) -> float:
    from scipy.special import bdtr  # type: ignore[import-untyped]

    return min(1.0, 2 * float(bdtr(min(only_a, only_b), only_a + only_b, 0.5)))


def paired_difference(a: npt.ArrayLike, b: npt.ArrayLike, confidence: float = CONFIDENCE) -> Estimate:
    """How much higher the rate of b is than that of a, with Tango's score interval.

    A stochastic policy's own flips go both ways, so this difference needs no repeated variant.
    """
    return tango(*discordant(a, b), confidence=confidence)


def tango(only_a: float, only_b: float, pairs: int, confidence: float = CONFIDENCE) -> Estimate:
    """Of the usual intervals it keeps its level for few pairs and has a width where no pair differs."""
    if min(only_a, only_b) < 0 or only_a + only_b > pairs:
        raise ValueError(f"{only_a} and {only_b} discordant of {pairs} pairs")
    if pairs == 0:
        return NOTHING
    value = (only_b - only_a) / pairs
    return Estimate(
        value,
        -_tango_upper(only_b, only_a, pairs, confidence),
        _tango_upper(only_a, only_b, pairs, confidence),
        pairs,
    )


def _tango_upper(only_a: float, only_b: float, pairs: int, confidence: float) -> float:
    # Here, for it takes a third of a second to import.
    from scipy.optimize import brentq  # type: ignore[import-untyped]

    z = NormalDist().inv_cdf(0.5 + confidence / 2)
    value = (only_b - only_a) / pairs
    if only_b == pairs:
        return 1.0

    def excess(difference: float) -> float:
        """Above zero where the difference is too large for what was seen."""
        # The likeliest share of pairs that only a solves, given the difference: the larger root of a quadratic.
        linear = (2 * pairs - only_b + only_a) * difference - only_b - only_a
        constant = -only_a * difference * (1 - difference)
        share = (math.sqrt(max(0.0, linear**2 - 8 * pairs * constant)) - linear) / (4 * pairs)
        variance = max(0.0, 2 * share + difference * (1 - difference)) / pairs
        return (difference - value) - z * math.sqrt(variance)

    # Where no pair differs there is no variance at the estimate itself, but there is beside it.
    start = value if excess(value) < 0 else value + 1e-9
    return float(brentq(excess, start, 1.0))


def agreeing(difference: Estimate, p: float | None, confidence: float = CONFIDENCE) -> Estimate:
    """The interval with zero in it where its test does not exclude that.

    Exact tests are the more careful: score intervals leave out zero where four pairs of five differ, all one way
    (p = 0.125), and include it wherever the test does.
    """
    if p is None or p <= 1 - confidence or difference.low is None or difference.high is None:
        return difference
    return replace(difference, low=min(0.0, difference.low), high=max(0.0, difference.high))


def paired_test(
    before: npt.NDArray[np.float64], after: npt.NDArray[np.float64], lost: float, won: float, rng: np.random.Generator
) -> tuple[Estimate, float | None]:
    """After less before of each situation, `lost` and `won` of them by one only, with an interval that agrees with p.

    Exact where each situation was tried once; of means over repeats by exchanging the two within situations.
    """
    if not len(before):
        return NOTHING, None
    is_once = np.isin(before, (0.0, 1.0)).all() and np.isin(after, (0.0, 1.0)).all()
    p = mcnemar_p(round(lost), round(won)) if is_once else swap_test(before, after, rng)
    return agreeing(tango(lost, won, len(before)), p), p


def paired_bootstrap(
    a: npt.ArrayLike,
    b: npt.ArrayLike,
    strata: npt.ArrayLike,
    rng: np.random.Generator,
    *,
    bounds: Limits | None = (-1.0, 1.0),
    confidence: float = CONFIDENCE,
    resamples: int = RESAMPLES,
) -> Estimate:
    """The mean over tasks of b − a, for numbers of any kind whose differences lie within `bounds`."""
    first, second = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    if first.shape != second.shape:
        raise ValueError(f"variants of shapes {first.shape} and {second.shape} are not paired")
    return bootstrap_macro_mean(second - first, strata, rng, bounds=bounds, confidence=confidence, resamples=resamples)


def retained(
    clean: npt.ArrayLike, identity: npt.ArrayLike, stressed: npt.ArrayLike, confidence: float = CONFIDENCE
) -> Retained:
    """What stress loses of the clean successes, beyond what the same policy loses by merely trying again.

    Where the policy is stochastic, situations it solved once are solved less often the next time: the clean variant was
    chosen for its luck. The repeated variant suffers the same, so among the clean successes identity and stressed ones
    are exchangeable if the stressor does nothing, and the difference of their shares is expected to be zero. Hence
    the interval and the exact test of a paired difference hold; pooling tasks can only widen them.
    """
    again, under_stress = _variants(identity, stressed)
    solved, _ = _variants(clean, identity)
    again, under_stress = again[solved], under_stress[solved]
    n = len(again)
    return Retained(
        wilson(int(under_stress.sum()), n, confidence),
        wilson(int(again.sum()), n, confidence),
        paired_difference(under_stress, again, confidence),
        mcnemar(again, under_stress),
    )


def excess_loss(
    clean: npt.ArrayLike, identity: npt.ArrayLike, stressed: npt.ArrayLike, confidence: float = CONFIDENCE
) -> Estimate:
    """The share of clean successes lost under stress in excess of the repeated variant's."""
    return retained(clean, identity, stressed, confidence).excess_loss


def _variants(a: npt.ArrayLike, b: npt.ArrayLike) -> tuple[Bools, Bools]:
    first, second = np.asarray(a), np.asarray(b)
    if first.shape != second.shape or first.ndim != 1:
        raise ValueError(f"variants of shapes {first.shape} and {second.shape} are not paired")
    # An empty list has no type of its own.
    if len(first) and (first.dtype != np.bool_ or second.dtype != np.bool_):
        raise ValueError(f"outcomes of types {first.dtype} and {second.dtype} are not booleans")
    return first.astype(np.bool_), second.astype(np.bool_)
