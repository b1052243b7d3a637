"""Candidates put to the test on episodes that did not suggest them, all of them held against each other's effects."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import polars as pl

from robodx.analysis.findings.search import BACKGROUND, LEAST_EFFECT, Candidate, Counts, count
from robodx.analysis.findings.strata import Mask
from robodx.analysis.statistics.estimates import NOTHING, Estimate, newcombe, wilson
from robodx.analysis.statistics.multiple import holm

ALPHA = 0.05
# Fewer episodes inside confirm nothing, however rare it should be.
LEAST_FRESH = 5


class Tested(NamedTuple):
    """What fresh episodes say of a candidate; `p` is None where they cannot say anything."""

    inside: Estimate
    outside: Estimate
    effect: Estimate
    p: float | None
    # As counted; the rates weigh strata.
    counts: Counts
    # Of the other fresh trials, those that are compared with nothing, for another candidate is about them.
    left_out: int = 0

    @property
    def is_confirmed(self) -> bool:
        return self.p is not None and self.p <= ALPHA and (self.effect.value or 0.0) >= LEAST_EFFECT


def tested(suspected: Sequence[Candidate], table: pl.DataFrame, fresh: Mask) -> list[Tested]:
    """Each candidate among fresh episodes that are alike in the strata of those before it, with Holm's correction.

    Fresh episodes were chosen for the candidates: what one of them costs must not be held for or against another. What
    is done to a policy is held against the same situations, and a target's value against others in the same task.
    """
    blocks = {str(place): _blocks(one, suspected, table, fresh) for place, one in enumerate(suspected)}
    p_values = holm({place: _p(each, suspected[int(place)]) for place, each in blocks.items()})
    return [
        Tested(*rates(each), p_values[place], _summed(each), _left_out(suspected[int(place)], each, fresh))
        for place, each in blocks.items()
    ]


def _left_out(one: Candidate, blocks: Sequence[Counts], fresh: Mask) -> int:
    stratum = one.stratum
    if stratum.sort == "all" or stratum.is_variant or stratum.paired_by is not None:
        return 0
    return int((stratum.outside & fresh).sum()) - _summed(blocks).n_outside


def _summed(blocks: Sequence[Counts]) -> Counts:
    return Counts(*(sum(column) for column in zip(*blocks, strict=True))) if blocks else Counts(0, 0, 0, 0)


def rates(blocks: Sequence[Counts]) -> tuple[Estimate, Estimate, Estimate]:
    """Inside, outside and the difference, strata weighted as Mantel and Haenszel do."""
    n_inside, n_outside = sum(each.n_inside for each in blocks), sum(each.n_outside for each in blocks)
    if not n_inside:
        return NOTHING, NOTHING, NOTHING
    if not n_outside:
        inside = wilson(sum(each.inside for each in blocks), n_inside)
        return inside, NOTHING, inside
    weights = np.array([each.n_inside * each.n_outside / (each.n_inside + each.n_outside) for each in blocks])
    shares = weights / weights.sum()
    k_inside = round(n_inside * float(shares @ [each.inside / each.n_inside for each in blocks]))
    k_outside = round(n_outside * float(shares @ [each.outside / each.n_outside for each in blocks]))
    effect = newcombe(k_outside, n_outside, k_inside, n_inside)
    return wilson(k_inside, n_inside), wilson(k_outside, n_outside), effect


def _blocks(one: Candidate, suspected: Sequence[Candidate], table: pl.DataFrame, fresh: Mask) -> list[Counts]:
    stratum = one.stratum
    place = suspected.index(one)
    # Of those that explain less, only what lies outside: within it, they would divide what is to be shown.
    apart = [
        each.stratum.inside if rank < place else each.stratum.inside & ~stratum.inside
        for rank, each in enumerate(suspected)
        if each.stratum.sort != "all" and not each.stratum.is_variant and (each.stratum.inside != stratum.inside).any()
    ]
    if stratum.sort == "all":
        # Held apart, but all of them counted: where others fail it happens as well.
        masks = [np.logical_or.reduce(apart)] if apart else []
        return [count(stratum, one.failure_mode, fresh & part) for mask in masks for part in (~mask, mask)] or [
            count(stratum, one.failure_mode, fresh)
        ]
    groups = [np.ones(len(fresh), dtype=np.bool_)]
    if stratum.paired_by is not None:
        names = table[stratum.paired_by].to_numpy()
        groups = [names == name for name in np.unique(names[fresh & stratum.inside])]
    if not stratum.is_variant:
        for mask in apart:
            groups = [part for group in groups for part in (group & mask, group & ~mask) if part.any()]
    counted = [count(stratum, one.failure_mode, fresh & group) for group in groups]
    return [each for each in counted if each.n_inside and each.n_outside]


def _p(blocks: Sequence[Counts], candidate: Candidate) -> float | None:
    """The chance of so many inside if it were as outside: Fisher's exact test in each stratum, all of them together.

    Where there is no outside, the chance of so many if they were as rare as in a policy without weaknesses.
    """
    # Here, for it takes half a second to import.
    from scipy.stats import binom, hypergeom  # type: ignore[import-untyped]

    if candidate.stratum.sort == "all":
        # By those that were not chosen for the other candidates.
        blocks = blocks[:1] if blocks[0].n_inside >= LEAST_FRESH else blocks
    n_inside = sum(each.n_inside for each in blocks)
    if n_inside < LEAST_FRESH:
        return None
    inside = sum(each.inside for each in blocks)
    if candidate.stratum.sort == "all":
        return float(binom.sf(inside - 1, n_inside, BACKGROUND))
    chances = np.ones(1)
    for k, n, other, n_other in blocks:
        chances = np.convolve(chances, hypergeom.pmf(np.arange(n + 1), n + n_other, k + other, n))
    return float(min(1.0, chances[inside:].sum()))
