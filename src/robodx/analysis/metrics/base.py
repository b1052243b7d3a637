"""What a metric is, how it is registered, and how it gets its interval."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import polars as pl

from robodx.analysis.metrics.observations import by_situation, is_fair, observations
from robodx.analysis.metrics.resampled import RESAMPLES, bootstrap_seeds
from robodx.analysis.statistics.estimates import CONFIDENCE, Estimate, wilson
from robodx.analysis.statistics.resampling import Limits, bootstrap_macro_mean
from robodx.analysis.statistics.sequential import Stopped, mean_over_tasks
from robodx.errors import UserError
from robodx.registry import Registry, require
from robodx.users_code import guarded

Unit = Literal["rate", "share", "score", "ratio", "s", "ms", "1/s", "m", "m²/s⁶", "count", ""]
Better = Literal["higher", "lower", "neither"]
Function = Callable[[pl.DataFrame], float | None]
Each = Callable[[pl.DataFrame], pl.Series]
Interval = Callable[[pl.DataFrame, np.random.Generator, float], Estimate]

# Of these units a value lies between 0 and 1, and its interval allows for what was not seen; others have no bounds.
UP_TO_ONE = ("rate", "share", "score")


@dataclass(frozen=True)
class Metric:
    """A registered metric. Called with episodes it gives a number, or None where there is nothing to tell.

    Errors stay out, and episodes that are alike bit for bit count once: `function` and `each` see what is left.
    """

    name: str
    unit: Unit
    better: Better
    summary: str
    function: Function
    bounds: Limits | None
    # One number an episode, where the metric is the mean of those.
    each: Each | None = None
    # Where something better is known than to resample seeds.
    interval: Interval | None = None
    # Whether it looks at the primitives of the tasks too, which may be of another group than they.
    uses_primitives: bool = False

    def __call__(self, episodes: pl.DataFrame) -> float | None:
        return self.checked(self.function(observations(episodes))) if is_fair(episodes) else None

    def checked(self, value: object) -> float | None:
        """What a user's own function gave, if it is a number at all and one of its unit."""
        if value is None:
            return None
        low, high = self.bounds or (-math.inf, math.inf)
        if not isinstance(value, int | float) or not (math.isfinite(value) and low <= value <= high):
            within = "a finite number" if self.bounds is None else f"between {low:g} and {high:g}"
            raise UserError(f"the metric {self.name} ({self.unit}) gave {value!r}: it must be {within}, or None")
        return float(value)


METRICS: Registry[Metric] = Registry("metric", "analysis.metrics")


def _check(unit: Unit, better: Better) -> None:
    require("unit", unit, get_args(Unit))
    require("direction in which a metric is better", better, get_args(Better))


def metric(
    *, unit: Unit, better: Better, interval: Interval | None = None, uses_primitives: bool = False
) -> Callable[[Function], Metric]:
    """Register the decorated function of episodes under its own name; its docstring's first line is the summary."""

    _check(unit, better)

    def register(function: Function) -> Metric:
        name = function.__name__
        called = guarded(f"the metric {name}", function)
        return METRICS.add(
            name,
            Metric(name, unit, better, _summary(function), called, _bounds(unit), None, interval, uses_primitives),
        )

    return register


def episode_metric(*, unit: Unit, better: Better) -> Callable[[Each], Metric]:
    """Register the decorated function, which gives one number (or null) an episode, as the metric that is their mean.

    The mean is over repeats, then seeds, then tasks, so that each task has the same say. True and false make a rate.
    """

    _check(unit, better)

    def register(each: Each) -> Metric:
        name, summary = each.__name__, _summary(each)
        each = guarded(f"the metric {name}", each)

        def mean(episodes: pl.DataFrame) -> float | None:
            return macro_mean(episodes, each(episodes))

        return METRICS.add(name, Metric(name, unit, better, summary, mean, _bounds(unit), each))

    return register


def macro_mean(episodes: pl.DataFrame, values: pl.Series) -> float | None:
    """The mean over repeats, then seeds, then tasks of one value an episode; null values have no say."""
    tasks = by_situation(episodes, values).group_by("stratum").agg(pl.col("value").mean())
    mean = tasks["value"].mean()
    return float(mean) if isinstance(mean, float) else None


def estimate(
    metric: Metric | str,
    episodes: pl.DataFrame,
    rng: np.random.Generator,
    *,
    confidence: float = CONFIDENCE,
    resamples: int = RESAMPLES,
    stopped: Stopped = "planned",
) -> Estimate:
    """The metric with its interval, for these tasks and new seeds; n counts situations.

    A rate on one task gets Wilson's interval, on several the score interval of their mean. Means of other numbers get
    a bootstrap of seeds within tasks, and so does any other function, whose variants of a seed are drawn together.
    Of a run that its outcomes ended, means within bounds get an always-valid interval, and others none.
    """
    one = METRICS[metric] if isinstance(metric, str) else metric
    seen = observations(episodes)
    if not is_fair(episodes):
        return Estimate(None, None, None, seen.select("task", "seed", "perturbations", "policy").n_unique())
    one.checked(one.function(seen))
    if stopped != "planned":
        return _always_valid(one, seen, stopped, confidence)
    if one.interval is not None:
        return one.interval(seen, rng, confidence)
    if one.each is None:
        return bootstrap_seeds(one.function, seen, rng, bounds=one.bounds, confidence=confidence, resamples=resamples)
    table = by_situation(seen, one.each(seen))
    return mean_estimate(table, rng, bounds=one.bounds, confidence=confidence, resamples=resamples)


def _always_valid(metric: Metric, seen: pl.DataFrame, stopped: Stopped, confidence: float) -> Estimate:
    if metric.each is None or metric.bounds is None:
        return Estimate(metric.function(seen), None, None, seen.select("task", "seed", "perturbations").n_unique())
    strata = by_situation(seen, metric.each(seen)).partition_by("stratum", maintain_order=True)
    return mean_over_tasks([stratum["value"].to_numpy() for stratum in strata], stopped, confidence)


def mean_estimate(
    situations: pl.DataFrame,
    rng: np.random.Generator,
    *,
    bounds: Limits | None,
    confidence: float = CONFIDENCE,
    resamples: int = RESAMPLES,
) -> Estimate:
    """The mean over strata of what `by_situation` gave, with its interval."""
    values, strata = situations["value"].to_numpy(), situations["stratum"].to_numpy()
    if bounds == (0.0, 1.0) and len(set(strata)) == 1 and np.isin(values, (0.0, 1.0)).all():
        return wilson(int(values.sum()), len(values), confidence)
    return bootstrap_macro_mean(values, strata, rng, bounds=bounds, confidence=confidence, resamples=resamples)


def _bounds(unit: Unit) -> Limits | None:
    return (0.0, 1.0) if unit in UP_TO_ONE else None


def _summary(function: Callable[..., object]) -> str:
    lines = (function.__doc__ or "").strip().splitlines()
    if not lines:
        raise ValueError(f"the metric {function.__name__} has no docstring, which would say what it is")
    return lines[0]
