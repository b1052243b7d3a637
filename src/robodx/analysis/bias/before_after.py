"""Bias of two policies on the same trials: what a change, such as a grounding layer, does to it."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from robodx.analysis.bias.cells import CROSSED, Grid, grids
from robodx.analysis.bias.chance import PERMUTATIONS, ROUNDING, jackknifed
from robodx.analysis.bias.coefficients import CHUNK, by_context, coefficient, rates_of
from robodx.analysis.bias.tables import stream
from robodx.analysis.statistics.estimates import MAX_ERROR_SHARE, Estimate
from robodx.analysis.statistics.multiple import holm
from robodx.analysis.statistics.permutation import swap_test
from robodx.analysis.statistics.resampling import bootstrap_macro_mean

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Change:
    """One factor, before and after, in the cells that both have: same value, same context, same robot start."""

    before: str
    after: str
    factor: str
    values: int
    blocks: int
    episodes: int
    # Success, and how much higher it is after.
    success: tuple[float, float]
    success_difference: Estimate
    success_p: float | None
    # The bias coefficients, how much larger it is after, and by which share of it (less is below zero).
    coefficients: tuple[float | None, float | None]
    difference: Estimate
    relative: float | None
    # Of no difference, by exchanging the two within blocks; and after Holm over the factors.
    p: float | None
    p_holm: float | None


def changes(before: pl.DataFrame, after: pl.DataFrame, seed: int = 0) -> tuple[Change, ...]:
    """Of two tables of episodes, each of one policy, a row for each factor that both have."""
    others = {grid.name: grid for grid in grids(after)}
    pairs = [(one, others[one.name]) for one in grids(before) if CROSSED not in one.name and one.name in others]
    found = [made for first, second in pairs if (made := change(first, second, stream(seed, first, second.policy)))]
    adjusted = holm({one.factor: one.p for one in found})
    return tuple(replace(one, p_holm=adjusted[one.factor]) for one in found)


def change(before: Grid, after: Grid, rng: np.random.Generator) -> Change | None:
    """None where they share nothing, or too much of either was lost to errors."""
    if any(one.errors > MAX_ERROR_SHARE * one.episodes for one in (before, after)):
        return None
    places = {block: place for place, block in enumerate(after.blocks)}
    rows = [(place, places[block]) for place, block in enumerate(before.blocks) if block in places]
    known = {value: place for place, value in enumerate(after.values[0])}
    columns = [(place, known[value]) for place, value in enumerate(before.values[0]) if value in known]
    if not rows or not columns:
        return None
    first = before.success[np.ix_([one for one, _ in rows], [one for one, _ in columns])]
    second = after.success[np.ix_([one for _, one in rows], [one for _, one in columns])]
    both = ~np.isnan(first + second)
    kept = both.any(axis=1)
    first, second = (np.where(both, one, np.nan)[kept] for one in (first, second))
    if not kept.any():
        return None
    mine = np.array([one for one, _ in rows])[kept]
    context_of = np.unique(before.context_of[mine], return_inverse=True)[1].astype(np.int64)
    alike = before.alike[mine]
    means = np.nanmean(first, axis=1), np.nanmean(second, axis=1)
    shares = np.array([[one[context_of == context].mean() for one in means] for context in np.unique(context_of)])
    each = [float(coefficient(rates_of(one, context_of))) for one in (first, second)]
    cv = (_number(each[0]), _number(each[1]))
    relative = (cv[1] - cv[0]) / cv[0] if cv[0] and cv[1] is not None else None
    return Change(
        before.policy, after.policy, before.name, first.shape[1], len(first), int(both.sum()),
        (float(shares[:, 0].mean()), float(shares[:, 1].mean())),
        bootstrap_macro_mean(means[1] - means[0], context_of, rng, bounds=(-1.0, 1.0)),
        swap_test(*means, rng), cv, _difference(first, second, context_of, alike), relative,
        _exchanged(first, second, context_of, alike, rng), None,
    )  # fmt: skip


def _difference(first: Floats, second: Floats, context_of: Ints, alike: Ints) -> Estimate:
    """How much larger the coefficient is after, over the contexts in which both have one."""
    width = first.shape[1]

    def apart(rates: Floats) -> Floats:
        return by_context(rates[..., width:]) - by_context(rates[..., :width])

    return jackknifed(np.hstack([first, second]), context_of, alike, apart)


def _exchanged(
    first: Floats, second: Floats, context_of: Ints, alike: Ints, rng: np.random.Generator, n: int = PERMUTATIONS
) -> float | None:
    """The two-sided p of equal coefficients: whole blocks change sides, as they may where the policies are alike."""

    def apart(a: Floats, b: Floats) -> Floats:
        return np.asarray(coefficient(rates_of(b, context_of)) - coefficient(rates_of(a, context_of)))

    observed = abs(float(apart(first, second)))
    if math.isnan(observed):
        return None
    extreme, size = 0, max(1, CHUNK // first.size)
    for start in range(0, n, size):
        sides = rng.random((min(size, n - start), int(alike.max()) + 1))[:, alike, None] < 0.5
        drawn = np.abs(apart(np.where(sides, first, second), np.where(sides, second, first)))
        extreme += int((~(drawn < observed - ROUNDING)).sum())
    return (1 + extreme) / (1 + n)


def _number(value: float) -> float | None:
    return None if math.isnan(value) else value
