"""Quantities of plugins, worked out while an episode's motion is at hand and recorded with it; each is a metric too."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import polars as pl

from robodx.analysis.episode_facts import EpisodeFacts
from robodx.analysis.metrics.base import Better, Unit, episode_metric
from robodx.errors import UserError
from robodx.records.episode import Quantity
from robodx.registry import Registry
from robodx.users_code import guarded

Measure = Callable[[EpisodeFacts], float | None]

# What ships with RoboDx are fields of `Episode`; these come from plugins and other packages.
QUANTITIES: Registry[Measure] = Registry("recorded quantity")


def quantity(*, unit: Unit, better: Better) -> Callable[[Measure], Measure]:
    """Record what the decorated function gives of every episode, under its own name, and register its mean as a metric.

    It sees what was asked, what happened and how all moved; None is what cannot be told.
    """

    def register(measure: Measure) -> Measure:
        name = measure.__name__

        def recorded(episodes: pl.DataFrame) -> pl.Series:
            return episodes.select(recorded_as(name)).to_series()

        recorded.__name__, recorded.__doc__ = name, measure.__doc__
        episode_metric(unit=unit, better=better)(recorded)
        QUANTITIES.add(name, guarded(f"the recorded quantity {name}", measure))
        return measure

    return register


def recorded_as(name: str) -> pl.Expr:
    """The value of a recorded quantity in each episode, null where it was not recorded or could not be told."""
    one = pl.element().filter(pl.element().struct.field("name") == name).struct.field("value")
    return pl.col("quantities").list.eval(one).list.first().alias(name)


def measured(facts: EpisodeFacts) -> tuple[Quantity, ...]:
    """All that is registered, of one episode."""
    found = ((name, QUANTITIES[name](facts)) for name in QUANTITIES)
    return tuple(Quantity(name, _checked(name, value)) for name, value in found if value is not None)


def _checked(name: str, value: object) -> float:
    if not isinstance(value, int | float | np.integer | np.floating) or not math.isfinite(value):
        raise UserError(f"the recorded quantity {name} gave {value!r}: it must be a finite number, or None")
    return float(value)
