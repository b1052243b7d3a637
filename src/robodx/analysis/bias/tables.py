"""All that a run of the suite `bias` says: factors beside chance, values beside the baseline, and interactions."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from robodx.analysis.bias.cells import CROSSED, Grid, grids
from robodx.analysis.bias.chance import jackknifed, permuted
from robodx.analysis.bias.coefficients import by_context, rates_of, spreads, starts_of
from robodx.analysis.bias.colours import GROUPS, group_of, is_colour, saturation
from robodx.analysis.bias.effects import Effect, signed_effects
from robodx.analysis.bias.interactions import Interaction, interaction_of
from robodx.analysis.statistics.estimates import MAX_ERROR_SHARE, NOTHING, Estimate
from robodx.analysis.statistics.macro import macro_bounds
from robodx.analysis.statistics.multiple import holm
from robodx.analysis.statistics.resampling import bootstrap_macro_mean

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class ValueRate:
    """Success with one value: the mean over contexts. n are blocks; colours have their code, group and saturation."""

    value: str
    success: Estimate
    hex: str | None = None
    group: str | None = None
    saturation: float | None = None


@dataclass(frozen=True)
class GroupRate:
    """Success with the colours of a group; n are blocks, in each of which all of them were tried."""

    group: str
    colours: int
    success: Estimate


@dataclass(frozen=True)
class FactorBias:
    """One factor. The coefficients are None where nothing succeeds, or too many trials ended in errors."""

    policy: str
    factor: str
    baseline: str
    values: int
    contexts: int
    # How often a value was tried in a context, at most. With one trial each CV is the same however values are permuted.
    repeats: int
    # Contexts in which nothing succeeds, that have no coefficient and no say in it.
    left_out: int
    blocks: int
    episodes: int
    errors: int
    # Blocks that are left out, because not all values were tried in them: the run is not finished, or was adaptive.
    partial: int
    # Whether outcomes may have decided how many trials there are: single values then have what holds nevertheless.
    may_have_stopped: bool
    success: Estimate
    # CV, and the plain standard deviation over values: means over contexts, with intervals for other robot starts.
    coefficient: Estimate
    spread: Estimate
    # What CV is by chance, with as many repeats, and how far CV is above its mean.
    floor: Estimate
    beyond: float | None
    # Of no value mattering, by permutation; and after Holm over the factors.
    p: float | None
    p_holm: float | None
    rates: tuple[ValueRate, ...]
    groups: tuple[GroupRate, ...]
    effects: tuple[Effect, ...]


@dataclass(frozen=True)
class BiasTable:
    factors: tuple[FactorBias, ...]
    interactions: tuple[Interaction, ...]

    @property
    def policies(self) -> list[str]:
        return list(dict.fromkeys([*(one.policy for one in self.factors), *(one.policy for one in self.interactions)]))

    def of(self, policy: str) -> list[FactorBias]:
        return [one for one in self.factors if one.policy == policy]

    def interactions_of(self, policy: str) -> list[Interaction]:
        return [one for one in self.interactions if one.policy == policy]


def bias_table(episodes: pl.DataFrame, seed: int = 0) -> BiasTable | None:
    """Of the trials of the suite `bias`; None where there are none. The same episodes always give the same table."""
    found = grids(episodes)
    if not found:
        return None
    factors = [factor_bias(grid, stream(seed, grid)) for grid in found if CROSSED not in grid.name]
    crossed = [interaction_of(grid, stream(seed, grid)) for grid in found if CROSSED in grid.name]
    adjusted: list[FactorBias] = []
    for policy in dict.fromkeys(one.policy for one in factors):
        mine = [one for one in factors if one.policy == policy]
        p_values = holm({one.factor: one.p for one in mine})
        adjusted += [replace(one, p_holm=p_values[one.factor]) for one in mine]
    return BiasTable(tuple(adjusted), tuple(one for one in crossed if one is not None))


def stream(seed: int, grid: Grid, what: str = "") -> np.random.Generator:
    """Of its own for each grid: that another was run as well changes nothing here."""
    return np.random.default_rng([seed, *(zlib.crc32(text.encode()) for text in (grid.policy, grid.name, what))])


def factor_bias(grid: Grid, rng: np.random.Generator) -> FactorBias:
    """Of a grid of one factor."""
    success, context_of, alike = grid.success, grid.context_of, grid.alike
    found = FactorBias(
        grid.policy, grid.name, grid.baselines[0], len(grid.values[0]), len(grid.contexts), 0, 0, len(grid.blocks),
        grid.episodes, grid.errors, grid.partial, grid.may_have_stopped, NOTHING, NOTHING, NOTHING, NOTHING, None, None,
        None, (), (), (),
    )  # fmt: skip
    if grid.errors > MAX_ERROR_SHARE * grid.episodes:
        return found
    rates = value_rates(grid)
    chance = permuted(success, context_of, alike, rng)
    coefficient = jackknifed(success, context_of, alike, by_context)
    spread = jackknifed(success, context_of, alike, spreads)
    floor = chance.floor.value
    beyond = None if coefficient.value is None or floor is None else coefficient.value - floor
    return replace(
        found,
        repeats=int(np.add.reduceat((~np.isnan(success)).astype(np.int64), starts_of(context_of), axis=0).max()),
        left_out=int(np.isnan(by_context(rates_of(success, context_of))).sum()),
        success=mean_success(success, context_of, alike, rng),
        coefficient=_above_zero(coefficient),
        spread=_above_zero(spread),
        floor=chance.floor,
        beyond=beyond,
        p=chance.p,
        rates=rates,
        groups=tuple(_groups(grid, rates, rng)),
        effects=signed_effects(grid, rng),
    )


def mean_success(
    success: Floats, context_of: NDArray[np.int64], alike: NDArray[np.int64], rng: np.random.Generator
) -> Estimate:
    """The mean over contexts of the mean over blocks, which are what is drawn: values within one share its start."""
    means = np.array([row[~np.isnan(row)].mean() if (~np.isnan(row)).any() else np.nan for row in success])
    known = np.flatnonzero(~np.isnan(means))
    every = bootstrap_macro_mean(means[known], context_of[known], rng)
    once = known[np.unique(alike[known], return_index=True)[1]]
    if len(once) == len(known) or every.value is None:
        return every
    # Blocks that went alike are one observation; their contexts have their say in the mean all the same.
    fewer = bootstrap_macro_mean(means[once], context_of[once], rng)
    if fewer.value is None or fewer.low is None or fewer.high is None:
        return replace(every, n=len(once))
    off = every.value - fewer.value
    return Estimate(every.value, max(0.0, fewer.low + off), min(1.0, fewer.high + off), len(once))


def value_rates(grid: Grid) -> tuple[ValueRate, ...]:
    """Of each value, the mean over contexts."""
    known = ~np.isnan(grid.success)
    starts = starts_of(grid.context_of)
    n = np.add.reduceat(known.astype(np.float64), starts, axis=0).T  # (values, contexts)
    won = np.add.reduceat(np.where(known, grid.success, 0.0), starts, axis=0).T
    estimates = _macro_rates(won, n)
    codes = [grid.hexes.get(value) for value in grid.values[0]]
    return tuple(
        ValueRate(value, found, code, group_of(code), saturation(code))
        if code is not None and is_colour(code)
        else ValueRate(value, found)
        for value, found, code in zip(grid.values[0], estimates, codes, strict=True)
    )


def _macro_rates(won: Floats, n: Floats) -> list[Estimate]:
    """As `macro_rate` of each row; those with the same numbers of trials at once, which is mostly all of them."""
    found = [NOTHING] * len(won)
    designs, members = np.unique(n, axis=0, return_inverse=True)
    for place, design in enumerate(designs):
        rows, tried = np.flatnonzero(members.reshape(-1) == place), design > 0
        if not tried.any():
            continue
        low, high = macro_bounds(won[np.ix_(rows, tried)], design[tried])
        for at, row in enumerate(rows):
            value = float((won[row, tried] / design[tried]).mean())
            found[row] = Estimate(value, min(value, float(low[at])), max(value, float(high[at])), int(design.sum()))
    return found


def _groups(grid: Grid, rates: Sequence[ValueRate], rng: np.random.Generator) -> list[GroupRate]:
    found = []
    for group in GROUPS:
        places = [place for place, one in enumerate(rates) if one.group == group]
        if places:
            success = mean_success(grid.success[:, places], grid.context_of, grid.alike, rng)
            found.append(GroupRate(group, len(places), success))
    return found


def _above_zero(found: Estimate) -> Estimate:
    return found if found.low is None else replace(found, low=max(0.0, found.low))
