"""What a run could have seen: the smallest effect visible with so many trials, and how many more would show one."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from robodx.analysis.statistics.estimates import wilson

Floats = npt.NDArray[np.float64]
ALPHA = 0.05
POWER = 0.8
# More pairs than this nobody runs to decide one question. A power of two, since pairs are doubled until they do.
MOST_PAIRS = 2**17
HALVINGS = 30


def smallest_visible_drop(
    n_pairs: int, clean_rate: float, *, flip_rate: float = 0.0, alpha: float = ALPHA, power: float = POWER
) -> float | None:
    """The smallest fall of the success rate that McNemar's test would have found with this power.

    `flip_rate` is the share of situations that end otherwise when merely repeated (clean against repeated variant).
    None where even the loss of every success would not have been seen.
    """
    _check_rates(clean_rate=clean_rate, flip_rate=flip_rate)

    def chance_to_see(drop: float) -> float:
        # Lucky recoveries fade as the stressor bites: a policy that always fails does not flip.
        recovered = min(flip_rate / 2, clean_rate) * (1 - drop / clean_rate)
        return mcnemar_power(n_pairs, min(1.0, recovered + drop), recovered, alpha)

    return _smallest(chance_to_see, clean_rate, power)


def smallest_visible_difference(
    n: int, rate: float, n_reference: int | None = None, *, alpha: float = ALPHA, power: float = POWER
) -> float | None:
    """The smallest shortfall of n trials against `rate` whose interval would have excluded zero with this power.

    The reference is another variant of `n_reference` trials at that rate (Newcombe), or the rate itself (Wilson).
    """
    # Here, for it takes half a second to import.
    from scipy.stats import binom  # type: ignore[import-untyped]

    _check_rates(rate=rate)
    if n == 0 or n_reference == 0:
        return None
    if n_reference is None:
        highs = np.array([wilson(k, n, 1 - alpha).high for k in range(n + 1)], dtype=np.float64)
        is_seen, reference = (highs < rate)[None], np.ones(1)
    else:
        is_seen = _newcombe_shortfalls(n, n_reference, alpha)
        reference = binom.pmf(np.arange(n_reference + 1), n_reference, rate)

    def chance_to_see(shortfall: float) -> float:
        return float(reference @ is_seen @ binom.pmf(np.arange(n + 1), n, rate - shortfall))

    return _smallest(chance_to_see, rate, power)


def smallest_visible_spread(
    values: int, comparisons: int, *, alpha: float = ALPHA, power: float = POWER
) -> float | None:
    """The smallest standard deviation of success over some values that a test of any difference finds with this power.

    `comparisons` are trials beyond the first in each block of trials that are compared. By the noncentral chi-square
    distribution with trials that succeed half of the time, which vary most. None where even the largest, half of the
    values always failing and half succeeding, would not be found.
    """
    # Here, for it takes half a second to import.
    from scipy.stats import chi2, ncx2

    freedom = values - 1
    if freedom < 1 or comparisons < 1:
        return None
    critical = chi2.ppf(1 - alpha, freedom)
    return _smallest(lambda spread: float(ncx2.sf(critical, freedom, comparisons * spread**2 / 0.25)), 0.5, power)


def pairs_needed(
    difference: float, discordant_rate: float, *, alpha: float = ALPHA, power: float = POWER
) -> int | None:
    """How many pairs show such a difference of two paired variants, of which such a share of pairs ends differently.

    None where there is no difference to show or where it takes more than 2¹⁷ pairs.
    """
    _check_rates(discordant_rate=discordant_rate)
    gap = abs(difference)
    if gap > discordant_rate + 1e-12:
        raise ValueError(f"a difference of {difference} with only {discordant_rate} of the pairs discordant")
    more, fewer = (discordant_rate + gap) / 2, max(0.0, (discordant_rate - gap) / 2)

    def is_enough(pairs: int) -> bool:
        return mcnemar_power(pairs, more, fewer, alpha) >= power

    if gap == 0:
        return None
    enough = 1
    while not is_enough(enough):
        enough *= 2
        if enough > MOST_PAIRS:
            return None
    too_few = enough // 2
    while enough - too_few > 1:
        middle = (too_few + enough) // 2
        too_few, enough = (too_few, middle) if is_enough(middle) else (middle, enough)
    return enough


def mcnemar_power(pairs: int, rate_a: float, rate_b: float, alpha: float = ALPHA) -> float:
    """The chance that the exact test finds a ahead, where only a solves `rate_a` of the pairs and only b `rate_b`."""
    # Here, for it takes half a second to import.
    from scipy.stats import binom

    discordant = min(1.0, rate_a + rate_b)
    if pairs == 0 or discordant == 0:
        return 0.0
    # Counts beyond these bounds have no weight worth adding.
    low, high = binom.ppf([1e-10, 1 - 1e-10], pairs, discordant).astype(int)
    counts = np.arange(low, high + 1)
    most_lost = binom.ppf(alpha / 2, counts, 0.5)  # of b's wins that still leave a clearly ahead
    most_lost -= 2 * binom.cdf(most_lost, counts, 0.5) > alpha
    seen = binom.cdf(most_lost, counts, rate_b / (rate_a + rate_b))
    return float(binom.pmf(counts, pairs, discordant) @ seen)


def _newcombe_shortfalls(n: int, n_reference: int, alpha: float) -> npt.NDArray[np.bool_]:
    """Whether k of n is clearly less than j of the reference (`newcombe`'s upper bound is below zero), by (j, k)."""
    a = [wilson(j, n_reference, 1 - alpha) for j in range(n_reference + 1)]
    b = [wilson(k, n, 1 - alpha) for k in range(n + 1)]
    rates_a, lows_a = (np.array(x, dtype=np.float64)[:, None] for x in ([e.value for e in a], [e.low for e in a]))
    rates_b, highs_b = (np.array(x, dtype=np.float64) for x in ([e.value for e in b], [e.high for e in b]))
    is_less: npt.NDArray[np.bool_] = rates_b - rates_a + np.hypot(highs_b - rates_b, rates_a - lows_a) < 0
    return is_less


def _smallest(chance_to_see: Callable[[float], float], largest: float, power: float) -> float | None:
    if largest <= 0 or chance_to_see(largest) < power:
        return None
    unseen, seen = 0.0, largest
    for _ in range(HALVINGS):
        middle = (unseen + seen) / 2
        unseen, seen = (unseen, middle) if chance_to_see(middle) >= power else (middle, seen)
    return seen


def _check_rates(**rates: float) -> None:
    for name, rate in rates.items():
        if not 0 <= rate <= 1:
            raise ValueError(f"{name} is {rate}, not within 0 … 1")
