"""How far two agree on labels: the share of equal ones, and Cohen's kappa."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from robodx.analysis.statistics.estimates import CONFIDENCE, Estimate, above_chance, wilson


@dataclass(frozen=True)
class Agreement:
    """`n` of both is the number of things that both labelled. Kappa is None where both used one label only."""

    share: Estimate
    kappa: Estimate


def agreement(first: Sequence[str], second: Sequence[str], confidence: float = CONFIDENCE) -> Agreement:
    """Labels of the same things, in the same order.

    Kappa is the share of equal labels, on a scale where two who label by chance, each as often as they do, have zero.
    Its interval is the score interval of that share on the same scale: Cohen's own, which takes chance as known, but
    with a width where all labels are equal.
    """
    if len(first) != len(second):
        raise ValueError(f"{len(first)} labels beside {len(second)}")
    n = len(first)
    share = wilson(sum(a == b for a, b in zip(first, second, strict=True)), n, confidence)
    if n == 0:
        return Agreement(share, share)
    counts, others = Counter(first), Counter(second)
    chance = sum(count * others[label] for label, count in counts.items()) / n**2
    return Agreement(share, kappa_of(share, chance))


def kappa_of(share: Estimate, chance: float) -> Estimate:
    """Cohen's kappa, of the share of equal labels and that which is expected by chance."""
    kappa = above_chance(share, chance)
    return kappa if kappa.low is None else replace(kappa, low=max(-1.0, kappa.low))


def kappa_text(kappa: Estimate) -> str:
    """As "0.50 [−0.40, 0.91]"."""
    if kappa.value is None or kappa.low is None or kappa.high is None:
        return "—"
    # Nothing is neither above nor below zero.
    rounded = (round(each, 2) or 0.0 for each in (kappa.value, kappa.low, kappa.high))
    value, low, high = (f"{each:.2f}".replace("-", "−") for each in rounded)
    return f"{value} [{low}, {high}]"
