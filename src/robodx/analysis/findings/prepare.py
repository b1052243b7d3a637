"""The episodes a diagnosis reads: one policy's, each situation once in each variant."""

from __future__ import annotations

import polars as pl

from robodx.analysis.causes import SUBSTITUTION
from robodx.analysis.metrics.observations import observations
from robodx.analysis.null_inputs import NULL_INPUTS
from robodx.analysis.variants import Cards, level_name
from robodx.records.derived_design import designed
from robodx.records.design import has_variant
from robodx.records.values import Applied, read_applied, spelled


def with_variants(episodes: pl.DataFrame, cards: Cards) -> pl.DataFrame:
    """One policy's episodes with what variant each is, in one order.

    `stress` is what was done to it, as "noise/v2", beyond what was done in all of them; `is_realtime` tells variants in
    which the world did not wait from those in which it did; `is_base` is neither.
    """
    episodes = designed(episodes, {"perturbations": cards})
    applied = [read_applied(row) for row in episodes["perturbations"].to_list()]
    common = set(applied[0]).intersection(*applied) if applied else set()
    variants = [_variant([one for one in each if one not in common], cards) for each in applied]
    has_waited = (episodes["clock"] == "lockstep").any()
    # To do worse without an input is no weakness, and to do better with a perfect component no strength.
    is_beside = [
        any(
            cards.get(name, {}).get("kind") == SUBSTITUTION or (name in NULL_INPUTS and (name, value) not in common)
            for name, value in each
        )
        for each in applied
    ]
    return (
        episodes.with_columns(
            pl.Series("stress", variants, pl.String),
            is_realtime=pl.lit(has_waited) & pl.col("clock").str.starts_with("realtime"),
        )
        .with_columns(is_base=pl.col("stress").is_null() & ~pl.col("is_realtime"))
        .filter(~pl.Series(is_beside, dtype=pl.Boolean) & ~(has_variant("repeated") & ~has_variant("clean")))
        .sort("task", "seed", "repeat", "trial_id", "suite")
    )


def situations(episodes: pl.DataFrame) -> pl.DataFrame:
    """Those that ended on their own, each situation once in each variant: to try again there tells little more."""
    once = episodes.unique("trial_id", keep="last", maintain_order=True)
    seen = observations(once.sort("task", "seed", "repeat", "trial_id"))
    return seen.unique(["pair_id", "stress", "clock"], keep="first", maintain_order=True).sort(
        "task", "seed", "stress", "clock", "trial_id"
    )


def _variant(applied: list[Applied], cards: Cards) -> str | None:
    if not applied:
        return None
    if len(applied) > 1:
        return "combined/" + "+".join(sorted(name for name, _ in applied))
    ((name, value),) = applied
    level = level_name(cards, name, value)
    return f"{name}/{f'{value:g}' if isinstance(value, float) and level == spelled(value) else level}"
