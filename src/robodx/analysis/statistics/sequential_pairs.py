"""Whether a change helps more than its placebo: pairs run one after the other until it is shown, or shown to be small.

A pair gives d, success after the change less success after the placebo. Both questions are bets as in `sequential`,
each to one side. Against "no gain" (mean d <= 0) a gambler wins where d is positive; against "a gain of 20 points"
(mean d >= 0.2) where it is not. If what is bet against is true, the capital ever reaches 1 / level with a probability
of at most `level`, however many looks are taken and whenever one stops. The capital is an average over bets of fixed
size. One stakes all of it and is ruined by the first loss: it makes clear answers quick. The rest goes on after losses.
"""

from __future__ import annotations

import math
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robodx.analysis.statistics.estimates import NOTHING, Estimate
from robodx.analysis.statistics.sequential import BETS, DIFFERENCES, NEARLY

Floats = NDArray[np.float64]
Verdict = Literal["effect", "none", "undecided"]
# Which means are bet against: those up to a value, or those from it on.
Side = Literal["up to", "from"]

# A gain below this does not count as one.
SMALL = 0.20
# How often a gain of SMALL may be called none. Unlike the level of an effect it is not divided among candidates.
MISSED = 0.05
# The share of the bet that stakes everything. A quarter finds a change that always helps in 9 pairs at a level of
# 0.05 / 12; 8 would be the least. The other is as small as can be, if 14 pairs without a gain are to exclude 20 points.
# They do so by chance in 0.8 ** 14 = 4.4%, most of the 5%: hence with one gain among them it takes 36 pairs.
ALL_IN: dict[Side, float] = {"up to": 0.25, "from": 0.73}
SIZES = np.append(BETS, 1.0)
# Of the rest larger bets have more, for effects that are worth finding are large.
LOG_SHARES = {
    side: np.log(np.append((1 - all_in) * BETS**2 / np.sum(BETS**2), all_in)) for side, all_in in ALL_IN.items()
}
# More pairs than this nobody runs for one question.
MOST_PAIRS = 1000
HALVINGS = 25


class Decision(NamedTuple):
    """What the pairs up to the verdict say. Pairs that ran beyond it, in the same batch, do not count."""

    verdict: Verdict
    pairs: int
    e_value: float  # of an effect: at least 1 / level where one was shown
    estimate: Estimate  # of the mean of d, with a two-sided 95% interval that holds whenever one looks
    upper: float  # one-sided 95% bound on the mean of d: below SMALL where there is none
    pairs_more: int | None  # until a verdict, if the rates stay as they are; None: more than MOST_PAIRS


def decide(differences: ArrayLike, level: float) -> Decision:
    """The first verdict that the pairs, in this order, lead to; more pairs do not change it.

    At most `level` of the changes that do not help are called an effect, and at most 5% of those that gain 20 points
    or more are called none, at whatever number of pairs. The situations of pairs are drawn independently, by one rule.
    """
    seen = _checked(differences)
    if not 0 < level < 1:
        raise ValueError(f"a level of {level} is not between 0 and 1; say 0.05 divided by the number of candidates")
    shown = _first(evidence_of_effect(seen), level)
    excluded = _first(evidence_of_none(seen), MISSED)
    pairs = min(shown, excluded, len(seen))
    seen = seen[:pairs]
    # Where one pair leads to both, there is an effect, though a small one.
    verdict: Verdict = "effect" if shown <= pairs else "none" if excluded <= pairs else "undecided"
    return Decision(
        verdict,
        pairs,
        math.exp(_log_capital(seen, 0.0, "up to")),
        gain(seen),
        _bound(seen, "from", MISSED),
        0 if verdict != "undecided" else _pairs_more(seen, level),
    )


def gain(differences: ArrayLike) -> Estimate:
    """The mean of d, with a 95% interval that holds at every number of pairs at once; it leaves out 0 on an effect."""
    seen = _checked(differences)
    if not len(seen):
        return NOTHING
    error = MISSED / 2
    return Estimate(float(seen.mean()), _bound(seen, "up to", error), _bound(seen, "from", error), len(seen))


def evidence_of_effect(differences: ArrayLike) -> Floats:
    """The log of the capital won against "mean d <= 0" after each pair  # (…, pairs)"""
    return _log_capitals(np.asarray(differences, dtype=np.float64), 0.0, "up to")


def evidence_of_none(differences: ArrayLike) -> Floats:
    """The log of the capital won against "mean d >= SMALL" after each pair  # (…, pairs)"""
    return _log_capitals(np.asarray(differences, dtype=np.float64), SMALL, "from")


def _log_returns(seen: Floats, mean: float, side: Side) -> Floats:
    """By how much each pair multiplies each bet, logarithms  # (…, bets)"""
    # A bet is a fraction of the largest that cannot end below nothing, as in `sequential`.
    if side == "up to":
        won = (seen - DIFFERENCES.low) / (mean - DIFFERENCES.low) - 1
    else:
        won = (DIFFERENCES.high - seen) / (DIFFERENCES.high - mean) - 1
    with np.errstate(divide="ignore"):  # all is lost
        return np.asarray(np.log1p(won[..., None] * SIZES))


def _log_capitals(seen: Floats, mean: float, side: Side) -> Floats:
    return _together(_log_returns(seen, mean, side).cumsum(axis=-2), side)


def _log_capital(seen: Floats, mean: float, side: Side) -> float:
    """After all pairs."""
    return float(_together(_log_returns(seen, mean, side).sum(axis=0), side))


def _together(grown: Floats, side: Side) -> Floats:
    """All bets  # (…, bets) → (…)"""
    parts = grown + LOG_SHARES[side]
    most = parts.max(axis=-1, keepdims=True)  # finite, for only one bet can lose all
    return np.asarray(np.log(np.exp(parts - most).sum(axis=-1)) + most[..., 0])


def _first(log_capitals: Floats, level: float) -> int:
    """The number of pairs at which the capital is first enough; one more than all of them where it never is."""
    enough = log_capitals >= -math.log(level) - NEARLY
    return int(enough.argmax()) + 1 if enough.any() else len(enough) + 1


def _bound(seen: Floats, side: Side, error: float) -> float:
    """The end of the means against which too little was won: the capital falls, or rises, with the mean throughout."""
    kept, left_out = float(seen.mean()) if len(seen) else 0.0, DIFFERENCES.low if side == "up to" else DIFFERENCES.high
    far = left_out + math.copysign(NEARLY, -left_out)
    if abs(kept - left_out) < NEARLY or _log_capital(seen, far, side) < -math.log(error):
        return left_out
    left_out = far
    for _ in range(HALVINGS):
        middle = (kept + left_out) / 2
        is_out = _log_capital(seen, middle, side) >= -math.log(error)
        kept, left_out = (kept, middle) if is_out else (middle, left_out)
    return left_out


def _pairs_more(seen: Floats, level: float) -> int | None:
    already = len(seen)
    # Without a pair, the least that can lead to a verdict.
    seen = seen if already else np.ones(1)
    times = np.arange(already + 1, already + MOST_PAIRS + 1)[:, None] / len(seen)
    is_enough = np.zeros(MOST_PAIRS, dtype=np.bool_)
    questions: tuple[tuple[float, Side, float], ...] = ((0.0, "up to", level), (SMALL, "from", MISSED))
    for mean, side, error in questions:
        capitals = _together(times * _log_returns(seen, mean, side).sum(axis=0), side)
        is_enough |= capitals >= -math.log(error) - NEARLY
    return int(is_enough.argmax()) + 1 if is_enough.any() else None


def _checked(differences: ArrayLike) -> Floats:
    seen = np.asarray(differences, dtype=np.float64)
    if seen.ndim != 1:
        raise ValueError(f"differences of shape {seen.shape}; give one number for each pair, in their order")
    outside = seen[~((seen >= DIFFERENCES.low) & (seen <= DIFFERENCES.high))]
    if len(outside):
        raise ValueError(f"{outside[0]} is not from -1 to 1: a difference is one success less another, each 0 to 1")
    return seen
