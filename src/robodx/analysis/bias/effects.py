"""Signed effects: how much more often it succeeds with a value than with the baseline, in pairs that differ in it."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from robodx.analysis.bias.cells import Grid
from robodx.analysis.statistics.estimates import NOTHING, Estimate
from robodx.analysis.statistics.multiple import holm
from robodx.analysis.statistics.paired import paired_test
from robodx.analysis.statistics.sequential import difference_sequence, p_of_no_difference

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Effect:
    """A value against the baseline, in blocks that have both: same context, same robot start."""

    value: str
    # How much higher success is with the value; n are pairs, those alike in both trajectories counted once.
    difference: Estimate
    # Successes in these pairs, with the value and with the baseline.
    solved: float
    solved_at_baseline: float
    # Exact, of no difference; and after Holm over the values of the factor.
    p: float | None
    p_holm: float | None
    # Two trials of one block: the one with the value and the one with the baseline, of different outcomes if there are.
    examples: tuple[str, ...]


def signed_effects(grid: Grid, rng: np.random.Generator) -> tuple[Effect, ...]:
    """One for each value but the baseline; none where the baseline was not tried.

    A run that went on with some values by their outcomes counts as a whole, with what holds whenever one stops.
    """
    may_have_stopped, grid = grid.may_have_stopped, grid.with_partial or grid
    if len(grid.factors) != 1 or np.isnan(grid.baseline).all():
        return ()
    (baseline,) = grid.baselines
    found = [
        _effect(grid, place, value, rng, may_have_stopped=may_have_stopped)
        for place, value in enumerate(grid.values[0])
        if value != baseline
    ]
    adjusted = holm({one.value: one.p for one in found})
    return tuple(replace(one, p_holm=adjusted[one.value]) for one in found)


def _effect(grid: Grid, place: int, value: str, rng: np.random.Generator, *, may_have_stopped: bool) -> Effect:
    kept: list[int] = []
    seen: set[tuple[object, object]] = set()
    for block in np.flatnonzero(~np.isnan(grid.success[:, place] + grid.baseline)):
        alike = (grid.hashes[block, place], grid.baseline_hashes[block])
        if None in alike or alike not in seen:
            kept.append(int(block))
            seen.add(alike)
    with_value, without = grid.success[kept, place], grid.baseline[kept]
    if not kept:
        return Effect(value, NOTHING, 0.0, 0.0, None, None, ())
    won, lost = (float(np.maximum(0.0, one).sum()) for one in (with_value - without, without - with_value))
    apart = with_value - without
    difference, p = (
        (difference_sequence(apart), p_of_no_difference(apart))
        if may_have_stopped
        else paired_test(without, with_value, lost, won, rng)
    )
    shown = _examples(grid, place, kept, is_loss=lost >= won)
    return Effect(value, difference, float(with_value.sum()), float(without.sum()), p, None, shown)


def _examples(grid: Grid, place: int, kept: list[int], *, is_loss: bool) -> tuple[str, ...]:
    sign = 1.0 if is_loss else -1.0
    best = max(kept, key=lambda block: sign * float(grid.baseline[block] - grid.success[block, place]))
    return (str(grid.trials[best, place]), str(grid.baseline_trials[best]))
