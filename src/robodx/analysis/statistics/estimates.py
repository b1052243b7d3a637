"""Numbers with their uncertainty. No data is None with n = 0, never zero."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist

from robodx.analysis.notebook import estimate_html

CONFIDENCE = 0.95
# With more infrastructure errors than this the rest is no fair sample any more.
MAX_ERROR_SHARE = 0.05
# Below this success rate without stress there is nothing to lose: not testable.
TESTABLE = 0.2


@dataclass(frozen=True)
class Estimate:
    """A value, its interval and the number of observations behind it."""

    value: float | None
    low: float | None
    high: float | None
    n: int

    def __str__(self) -> str:
        if self.value is None:
            return f"— (n = {self.n})"
        if self.low is None or self.high is None:
            return f"{100 * self.value:.0f}%"
        return f"{100 * self.value:.0f}% [{100 * self.low:.0f}, {100 * self.high:.0f}]"

    def _repr_html_(self) -> str:
        return estimate_html(self)


NOTHING = Estimate(None, None, None, 0)


def wilson(successes: float, n: int, confidence: float = CONFIDENCE) -> Estimate:
    """A rate with Wilson's score interval."""
    if not 0 <= successes <= n:
        raise ValueError(f"{successes} successes of {n} trials")
    if n == 0:
        return NOTHING
    z = NormalDist().inv_cdf(0.5 + confidence / 2)
    rate = successes / n
    centre = (rate + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * math.sqrt(rate * (1 - rate) / n + z * z / (4 * n * n))
    # At either end the bound is exact, which the sum of two rounded numbers is not.
    low = 0.0 if successes == 0 else max(0.0, centre - half)
    high = 1.0 if successes == n else min(1.0, centre + half)
    return Estimate(rate, low, high, n)


def newcombe(successes_a: int, n_a: int, successes_b: int, n_b: int, confidence: float = CONFIDENCE) -> Estimate:
    """How much higher the rate of b is than that of a, two variants of their own: Newcombe's hybrid score interval."""
    a, b = wilson(successes_a, n_a, confidence), wilson(successes_b, n_b, confidence)
    if a.value is None or a.low is None or a.high is None or b.value is None or b.low is None or b.high is None:
        return Estimate(None, None, None, n_a + n_b)
    difference = b.value - a.value
    below = math.hypot(b.value - b.low, a.high - a.value)
    above = math.hypot(b.high - b.value, a.value - a.low)
    return Estimate(difference, max(-1.0, difference - below), min(1.0, difference + above), n_a + n_b)


def above_chance(rate: Estimate, chance: float) -> Estimate:
    """The rate on a scale where guessing is zero and always right is one; nothing is above a chance of one."""
    if not 0 <= chance <= 1:
        raise ValueError(f"a chance level of {chance} is not within 0 … 1")
    if rate.value is None or rate.low is None or rate.high is None or chance == 1:
        return Estimate(None, None, None, rate.n)
    value, low, high = ((x - chance) / (1 - chance) for x in (rate.value, rate.low, rate.high))
    return Estimate(value, low, high, rate.n)
