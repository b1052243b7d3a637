"""Whether success depends on what should not matter: a factor's values, in several contexts.

Tables have a row an episode with `success`, a column that holds the factor's value and, where there are several
contexts, the column `context`. Permutation tests and noise floors are the bias suite's.
"""

from __future__ import annotations

import polars as pl

from robodx.analysis.statistics.estimates import Estimate, newcombe

EPSILON = 1e-6


def bias_coefficient(table: pl.DataFrame, factor: str) -> float | None:
    """CV: the mean over contexts of std(success over values) / (mean(success over values) + ε), population std.

    A context in which nothing succeeds has no CV and no say; None where that is all of them.
    """
    rates = _rates(table, factor).filter(pl.col("mean") > 0)
    return _number((rates["std"] / (rates["mean"] + EPSILON)).mean())


def bias_spread(table: pl.DataFrame, factor: str) -> float | None:
    """The plain std over values, mean over contexts: CV is large where a context is merely hard."""
    return _number(_rates(table, factor)["std"].mean())


def signed_bias(table: pl.DataFrame, factor: str, baseline: object) -> dict[object, Estimate]:
    """How much higher success is with each value than with the baseline, with Newcombe's interval."""
    counts = {
        value: (int(group["success"].sum()), len(group))
        for (value,), group in table.group_by(factor, maintain_order=True)
    }
    reference = counts.get(baseline, (0, 0))
    return {value: newcombe(*reference, *counted) for value, counted in counts.items() if value != baseline}


def interaction_effect(table: pl.DataFrame, factor: str, given: str) -> float | None:
    """IEC(factor; given): the mean over contexts of std(CV) / mean(CV), CV of the factor at each value of `given`.

    Values of `given` at which nothing succeeds have no CV. A context whose CVs are all zero has no ratio.
    """
    cells = _rates(table, factor, given).filter(pl.col("mean") > 0)
    cells = cells.with_columns(cv=pl.col("std") / (pl.col("mean") + EPSILON))
    contexts = cells.group_by("context", maintain_order=True).agg(
        mean=pl.col("cv").mean(), std=pl.col("cv").std(ddof=0)
    )
    contexts = contexts.filter(pl.col("mean") > 0)
    return _number((contexts["std"] / contexts["mean"]).mean())


def _rates(table: pl.DataFrame, factor: str, *within: str) -> pl.DataFrame:
    """The mean and the population std over a factor's values of their success rates, within each context."""
    if "context" not in table.columns:
        table = table.with_columns(context=pl.lit("", pl.String))
    cells = table.group_by("context", *within, factor, maintain_order=True).agg(rate=pl.col("success").mean())
    return cells.group_by("context", *within, maintain_order=True).agg(
        mean=pl.col("rate").mean(), std=pl.col("rate").std(ddof=0)
    )


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) else None
