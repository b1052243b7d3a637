"""Numbers with their uncertainty. No data is None with n = 0, never zero."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist

CONFIDENCE = 0.95
# With more infrastructure errors than this the rest is no fair sample any more.
MAX_ERROR_SHARE = 0.05


@dataclass(frozen=True)
class Estimate:
    """A value, its interval and the number of observations behind it."""

    value: float | None
    low: float | None
    high: float | None
    n: int

    def __str__(self) -> str:
        if self.value is None or self.low is None or self.high is None:
            return f"— (n = {self.n})"
        return f"{100 * self.value:.0f}% [{100 * self.low:.0f}, {100 * self.high:.0f}]"


NOTHING = Estimate(None, None, None, 0)


def wilson(successes: int, n: int, confidence: float = CONFIDENCE) -> Estimate:
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
