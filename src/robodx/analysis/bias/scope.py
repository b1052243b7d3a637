"""What a run of the suite `bias` will be able to answer, computed from its design before the first episode."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from robodx.analysis.bias.cells import Grid, planned_grids
from robodx.analysis.bias.words import label
from robodx.analysis.statistics.power import ALPHA, POWER, smallest_visible_spread
from robodx.records.design import Planned, trials_of


@dataclass(frozen=True)
class Scope:
    """One grid, which crosses two factors or has the values of one."""

    grid: str
    values: int
    trials: int
    # How often a value, or a pair of values, is tried in a context, at most and as a rule. Once does not tell an effect
    # from noise.
    repeats: int
    usual_repeats: int
    # The smallest standard deviation of success over the values that p will show; None where p can show none.
    spread: float | None
    # Pairs of a value and the baseline, of the value that has most, and as many as it takes to name one.
    pairs: int
    pairs_needed: int


def scope_of(grid: Grid, tests: int) -> Scope:
    """With p-values corrected for as many tests."""
    known = ~np.isnan(grid.success).reshape(len(grid.blocks), -1)  # (blocks, values)
    tried = np.add.reduceat(known.astype(int), np.flatnonzero(np.diff(grid.context_of, prepend=-1)))
    held_against = [place for place, value in enumerate(grid.values[0]) if value != grid.baselines[0]]
    with_baseline = known[:, held_against][~np.isnan(grid.baseline)] if len(grid.factors) == 1 else known[:0]
    # Values are compared within blocks: one that has a single value tells nothing.
    comparisons = int(np.maximum(0, known.sum(axis=1) - 1).sum())
    return Scope(
        grid.name,
        known.shape[1],
        int(known.sum()),
        int(tried.max()),
        int(np.median(tried)),
        smallest_visible_spread(known.shape[1], comparisons, alpha=ALPHA / tests),
        int(with_baseline.sum(axis=0).max()) if with_baseline.size else 0,
        # The smallest p of n pairs is 2^(1 - n); Holm multiplies it by the number of values.
        1 + math.ceil(math.log2(max(1, len(held_against)) / ALPHA)),
    )


def says(planned: Iterable[Planned]) -> Iterator[str]:
    """For a person who is about to wait for it."""
    planned = list(planned)
    grids = planned_grids(planned)
    if not grids:
        return
    yield f"This run plans {len(trials_of(planned)):,} trials. What they can and cannot answer:"
    single = [grid for grid in grids if len(grid.factors) == 1]
    factors = [scope_of(grid, len(single)) for grid in single]
    crossed = [scope_of(grid, 1) for grid in grids if len(grid.factors) == 2]
    shown = [one for one in factors if one.spread is not None]
    if shown:
        yield (
            "It can show that the values of a factor matter, if success varies over them by a standard deviation of at "
            f"least ({POWER:.0%} power): {', '.join(f'{_points(one)} for {_size(one)}' for one in shown)}."
        )
    if too_few := [one for one in factors if one.spread is None]:
        yield f"It cannot show whether values matter for {_sizes(too_few)}: too few share a robot start."
    if unnamed := [one for one in factors if one.pairs < one.pairs_needed]:
        each = ", ".join(f"{label(one.grid)} ({one.pairs} of {one.pairs_needed})" for one in unnamed)
        yield (
            f"It cannot say which single values matter for {each}: in brackets, the pairs of a value and its baseline, "
            "and how many it takes."
        )
    if once := [one for one in factors if one.repeats == 1]:
        names = ", ".join(label(one.grid) for one in once)
        yield f"It gives no bias coefficient beyond chance for {names}: a value is tried once in a context."
    for one in crossed:
        if one.usual_repeats == 1:
            yield (
                f"It cannot tell an interaction of {label(one.grid)} from noise, because most of the "
                f"{one.values} pairs of values are tried once."
            )


def _points(one: Scope) -> str:
    return f"{100 * (one.spread or 0.0):.0f} points"


def _size(one: Scope) -> str:
    return f"{label(one.grid)} ({one.values} values, {one.trials} trials)"


def _sizes(some: Sequence[Scope]) -> str:
    return ", ".join(map(_size, some))
