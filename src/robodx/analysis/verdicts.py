"""What a comparison comes to, in a word."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import Literal

from robodx.analysis.statistics.estimates import CONFIDENCE, Estimate
from robodx.analysis.statistics.power import POWER
from robodx.errors import UserError

Word = Literal["improved", "regressed", "held", "undecided"]

# Ten points of success: a difference that most people who train policies would act on, and that 100 pairs can exclude.
MARGIN = 0.1
# Less would take more episodes than anybody runs.
LEAST_MARGIN = 0.001
ALPHA = 1 - CONFIDENCE


@dataclass(frozen=True)
class Verdict:
    """`held` is a claim, that the difference lies within ± `margin`; `undecided` is none.

    `more` says with about how many further observations it would be decided, with a chance of 80%, if all goes on as
    it did.
    """

    word: Word
    margin: float
    more: int | None = None

    def __str__(self) -> str:
        if self.word == "held":
            return f"held (± {100 * self.margin:g} points)"
        return self.word if self.more is None else f"undecided (about {self.more} more)"


def verdict(
    difference: Estimate, p: float | None = None, *, margin: float = MARGIN, alpha: float = ALPHA, among: int = 1
) -> Verdict:
    """Of B less A: by the test where there is one, else by whether the interval leaves out zero; then by the margin.

    Where it is one of several tests, `p` is adjusted and `among` says how many they are. A difference that is real
    and small is named by its direction.
    """
    if not 0 < margin < 1:
        raise ValueError(f"a margin of {margin} is not between 0 and 1")
    value, low, high = difference.value, difference.low, difference.high
    if value is None or low is None or high is None:
        return Verdict("undecided", margin)
    is_real = p <= alpha if p is not None else not low <= 0 <= high
    if is_real and value != 0:
        return Verdict("improved" if value > 0 else "regressed", margin)
    if -margin < low and high < margin:
        return Verdict("held", margin)
    needed = math.inf
    if value:
        needed = _needed(value - low if value > 0 else high - value, abs(value), difference.n, alpha, among)
        # A test by signs needs so many that differ, however narrow the interval.
        needed = max(needed, 0.0 if p is None else math.ceil(math.log2(2 * among / alpha)) / abs(value))
    if abs(value) < margin:
        sides = ((high - value, margin - value), (value - low, margin + value))
        needed = min(needed, max(_needed(half, room, difference.n, alpha) for half, room in sides))
    return Verdict("undecided", margin, max(1, math.ceil(needed) - difference.n))


def check_margin(margin: float) -> None:
    if not LEAST_MARGIN <= margin < 1:
        raise UserError(f"a margin of {margin:g} is not between {LEAST_MARGIN:g} and 1: 0.1 is ten points of success")


def _needed(half: float, room: float, n: int, alpha: float, among: int = 1) -> float:
    """How many observations bring one half of an interval, now of n, below `room`, with a chance of 80%.

    What is due to chance shrinks with the root of n; what is there even where all observations are alike, with n.
    """
    z = NormalDist().inv_cdf
    line = z(1 - alpha / 2)
    spread = n * max(0.0, half**2 - _unseen(n, line) ** 2) * ((z(1 - alpha / among / 2) + z(POWER)) / line) ** 2
    needed = float(n)
    while math.hypot(math.sqrt(spread / needed), _unseen(needed, line)) > room:
        needed *= 1.02
    return needed


def _unseen(n: float, z: float) -> float:
    return z * z / (n + z * z)
