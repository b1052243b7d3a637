"""Two factors crossed: whether bias by one depends on the other, beyond what their own effects and noise explain."""

from __future__ import annotations

from dataclasses import dataclass, replace
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from robodx.analysis.bias.cells import Grid
from robodx.analysis.bias.chance import RANGE, student
from robodx.analysis.bias.coefficients import by_context, interaction, rates_of
from robodx.analysis.statistics.estimates import NOTHING, Estimate
from robodx.analysis.statistics.multiple import holm

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
SIMULATIONS = 1_000
RESAMPLES = 1_000
# Of the log odds of a value, as if normal about zero with this variance: without, those of a value with which all or
# none succeeded would be infinite.
PRIOR_VARIANCE = 10.0
NEWTON_STEPS = 50
LEVEL = 0.05


@dataclass(frozen=True)
class Direction:
    """IEC(of; given): how unevenly the bias by one factor is spread over the values of the other."""

    of: str
    given: str
    # The mean over the given values of the bias coefficient.
    coefficient: float | None
    value: Estimate
    # Of simulations in which the two do not interact: mean and 95% of them; and how far the value is above the mean.
    null: Estimate
    excess: Estimate
    p: float | None
    # After Holm over the two directions.
    p_holm: float | None


@dataclass(frozen=True)
class CellRate:
    first: str
    second: str
    rate: float | None
    n: int


@dataclass(frozen=True)
class Interaction:
    policy: str
    grid: str
    levels: tuple[int, int]
    contexts: int
    blocks: int
    episodes: int
    errors: int
    directions: tuple[Direction, ...]
    # That the two do not interact at all, by how far cells are off the sums of their row's and column's effects. IEC
    # looks at the spread of a spread, and misses much of what this sees.
    p: float | None
    # How many times as large the first IEC is as the second, and how many times it is where nothing interacts.
    ratio: float | None
    null_ratio: float | None
    # Two-sided, that the two IEC differ as much where nothing interacts; None with unequal numbers of values, of which
    # the coefficients are not comparable. Which way is then claimed, if any.
    p_direction: float | None
    stronger: str | None
    cells: tuple[CellRate, ...]


def interaction_of(grid: Grid, rng: np.random.Generator, n: int = SIMULATIONS) -> Interaction | None:
    """Of a grid of two factors that are crossed."""
    if len(grid.factors) != 2:
        return None
    success, context_of = grid.success, grid.context_of
    simulated = _simulated(success, context_of, rng, n)
    directions, observed, nulls = [], [], []
    for of, given, axis in ((0, 1, 1), (1, 0, 2)):
        turned, drawn = np.moveaxis(success, axis, -1), np.moveaxis(simulated, axis + 1, -1)
        null = interaction(drawn)
        value = _resampled(turned, context_of, rng)
        directions.append(_direction(grid.factors[of], grid.factors[given], turned, context_of, value, null))
        observed.append(np.nan if value.value is None else value.value)
        nulls.append(null)
    adjusted = holm({one.of: one.p for one in directions})
    directions = [replace(one, p_holm=adjusted[one.of]) for one in directions]
    levels = (len(grid.values[0]), len(grid.values[1]))
    p_direction = _p_direction(observed, nulls) if levels[0] == levels[1] else None
    is_claimed = p_direction is not None and p_direction < LEVEL
    return Interaction(
        grid.policy, grid.name, levels, len(grid.contexts), len(grid.blocks), grid.episodes, grid.errors,
        tuple(directions), _p_any(_rates(success, context_of), simulated), _ratio(*observed),
        _ratio(*map(_mean, nulls)), p_direction,
        grid.factors[int(observed[1] > observed[0])] if is_claimed else None, tuple(_cells(grid)),
    )  # fmt: skip


def _mean(drawn: Floats) -> float:
    """Of those that have a coefficient, if any has."""
    return float(np.nanmean(drawn)) if np.isfinite(drawn).any() else np.nan


def _direction(of: str, given: str, turned: Floats, context_of: Ints, value: Estimate, null: Floats) -> Direction:
    """`turned` has the values of the factor on its last axis."""
    each = by_context(_rates(turned, context_of))
    mean = float(np.nanmean(each)) if not np.isnan(each).all() else None
    known = null[~np.isnan(null)]
    if value.value is None or not len(known):
        return Direction(of, given, mean, value, NOTHING, NOTHING, None, None)
    middle = float(known.mean())
    null_low, null_high = map(float, np.quantile(known, RANGE))
    low, high = (None if one is None else one - middle for one in (value.low, value.high))
    excess = Estimate(value.value - middle, low, high, value.n)
    # What cannot be told counts against.
    p = float(1 + (~(null < value.value)).sum()) / (1 + len(null))
    return Direction(of, given, mean, value, Estimate(middle, null_low, null_high, len(known)), excess, p, None)


def _resampled(success: Floats, context_of: Ints, rng: np.random.Generator) -> Estimate:
    """IEC with an interval for other robot starts, as many of them: blocks are drawn again within contexts.

    A coefficient of resampled rates is too large on average, by the noise that comes on top of what is in the rates
    already: only how far resamples spread is used, and stretched for few blocks.
    """
    value = float(interaction(_rates(success, context_of)))
    if np.isnan(value):
        return Estimate(None, None, None, len(success))
    known = ~np.isnan(success)
    filled = np.where(known, success, 0.0)
    parts, freedom = [], 0
    for context in range(int(context_of[-1]) + 1):
        (mine,) = np.nonzero(context_of == context)
        size = len(mine)
        freedom += size - 1
        weights = rng.multinomial(size, np.full(size, 1 / size), size=RESAMPLES).astype(np.float64)
        counts = np.tensordot(weights, known[mine].astype(np.float64), axes=1)
        sums = np.tensordot(weights, filled[mine], axes=1)
        parts.append(np.divide(sums, counts, out=np.full(sums.shape, np.nan), where=counts > 0))
    drawn = interaction(np.stack(parts, axis=1))
    drawn = drawn[~np.isnan(drawn)]
    if not freedom or not len(drawn):
        return Estimate(value, None, None, len(success))
    # A resample spreads less than the sample did, by one degree of freedom.
    stretch = student(freedom) / NormalDist().inv_cdf(RANGE[1]) * np.sqrt(1 + len(parts) / freedom)
    low, high = stretch * (np.quantile(drawn, RANGE) - drawn.mean())
    return Estimate(value, max(0.0, value + min(0.0, float(low))), value + max(0.0, float(high)), len(success))


def _p_any(rates: Floats, simulated: Floats) -> float | None:
    observed, drawn = float(_off(rates)), _off(simulated)
    return None if np.isnan(observed) else float(1 + (~(drawn < observed)).sum()) / (1 + len(drawn))


def _off(rates: Floats) -> Floats:
    """How far rates (..., contexts, values, values) are off the sums of their rows' and columns' means, squared.

    In units of the variance that those sums imply: a fitted policy is more uneven than the one it was fitted to, and so
    varies less.
    """
    rows, columns = rates.mean(axis=-1, keepdims=True), rates.mean(axis=-2, keepdims=True)
    sums = rows + columns - rates.mean(axis=(-2, -1), keepdims=True)
    likely = np.clip(sums, 0.0, 1.0)
    variance = (likely * (1 - likely)).sum(axis=(-3, -2, -1))
    squares = ((rates - sums) ** 2).sum(axis=(-3, -2, -1))
    return np.asarray(squares / np.maximum(variance, 1e-9))


def _p_direction(observed: list[float], nulls: list[Floats]) -> float | None:
    apart, drawn = observed[0] - observed[1], nulls[0] - nulls[1]
    if np.isnan(apart):
        return None
    middle = float(np.nanmean(drawn))
    return float(1 + (~(np.abs(drawn - middle) < abs(apart - middle))).sum()) / (1 + len(drawn))


def _ratio(first: float, second: float) -> float | None:
    return first / second if second > 0 else None


def _simulated(success: Floats, context_of: Ints, rng: np.random.Generator, n: int) -> Floats:
    """Rates (n, contexts, values, values) of as many trials of a policy in which the two factors do not interact."""
    chances = main_effects(success)
    drawn = (rng.random((n, *success.shape), dtype=np.float32) < chances).astype(np.float64)
    drawn[:, np.isnan(success)] = np.nan
    return _rates(drawn, context_of)


def main_effects(success: Floats) -> Floats:
    """The chances of success of a logit model with an effect of each block and of each value, and none of their pairs.

    `success` is (blocks, values of the first, values of the second).
    """
    shape = success.shape
    places = np.indices(shape).reshape(3, -1)
    columns = [np.ones((success.size, 1)), *(np.eye(size)[own] for size, own in zip(shape, places, strict=True))]
    design = np.hstack(columns)
    known = ~np.isnan(success.reshape(-1))
    x, y = design[known], success.reshape(-1)[known]
    penalty = np.full(design.shape[1], 1 / PRIOR_VARIANCE)
    penalty[0] = 1e-6
    effects = np.zeros(design.shape[1])
    for _ in range(NEWTON_STEPS):
        chances = _expit(x @ effects)
        slope = x.T @ (y - chances) - penalty * effects
        curvature = (x * (chances * (1 - chances))[:, None]).T @ x + np.diag(penalty)
        step = np.linalg.solve(curvature, slope)
        # Far from the top a whole step may overshoot.
        effects += step * min(1.0, 4.0 / max(1e-12, float(np.abs(step).max())))
        if np.abs(step).max() < 1e-8:
            break
    return _expit(design @ effects).reshape(shape)


def _expit(numbers: Floats) -> Floats:
    return 1 / (1 + np.exp(-np.clip(numbers, -30.0, 30.0)))


def _rates(success: Floats, context_of: Ints) -> Floats:
    """From (..., blocks, values, values) to (..., contexts, values, values)."""
    *leading, blocks, first, second = success.shape
    rates = rates_of(success.reshape(*leading, blocks, first * second), context_of)
    return rates.reshape(*leading, rates.shape[-2], first, second)


def _cells(grid: Grid) -> list[CellRate]:
    counts = (~np.isnan(grid.success)).sum(axis=0)
    sums = np.nansum(grid.success, axis=0)
    return [
        CellRate(first, second, float(sums[i, j] / counts[i, j]) if counts[i, j] else None, int(counts[i, j]))
        for i, first in enumerate(grid.values[0])
        for j, second in enumerate(grid.values[1])
    ]
