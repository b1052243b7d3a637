"""What each episode is in the comparisons of its run, joined from the design table, with readable names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from robodx.records.derived_design import designed
from robodx.records.design import COLUMN, Variant, has_variant
from robodx.records.values import Value, read_applied, settled, spelled

CLEAN = "clean"
LOCKSTEP = "lockstep"
# What merely tries a clean trial again, as a variant of its own.
REPEATED = "repeated"
# What runs a failed trial again with one component made perfect, where that leaves no perturbation to be named by.
SUBSTITUTED: Variant = "substituted"
# All that a suite set of the situations of its grids.
CELLS = "cells of a grid"
Cards = Mapping[str, Mapping[str, Any]]


def with_cards(episodes: pl.DataFrame, tasks: Mapping[str, Mapping[str, Any]]) -> pl.DataFrame:
    """With the column `primitive`, and `chance` where an old record lacks it, from the task cards of run.json."""
    chances = {task: card.get("chance") for task, card in tasks.items()}
    primitives = {task: card.get("primitive") for task, card in tasks.items()}
    of_task = pl.col("task")
    return episodes.with_columns(
        primitive=of_task.replace_strict(primitives, default=None, return_dtype=pl.String),
        chance=pl.coalesce("chance", of_task.replace_strict(chances, default=None, return_dtype=pl.Float64)),
    )


def with_names(episodes: pl.DataFrame, perturbations: Cards) -> pl.DataFrame:
    """With the columns `variant`, as "noise=v2" or "" for clean, and `variant_rank`, by which variants are sorted.

    Levels have names where the run's cards of perturbations know them. Where there are several clocks, those on which
    the world does not wait are part of the name.
    """
    has_clocks = episodes["clock"].n_unique() > 1
    keys = [
        ((*read_applied(intervened), *read_applied(applied)), clock if has_clocks and clock != LOCKSTEP else "")
        for intervened, applied, clock in episodes.select("interventions", "perturbations", "clock").iter_rows()
    ]
    ranks = {key: rank for rank, key in enumerate(sorted(set(keys), key=_order))}
    words = {
        key: " + ".join(
            [*(f"{name}={level_name(perturbations, name, value)}" for name, value in key[0]), *filter(None, key[1:])]
        )
        for key in ranks
    }
    return episodes.with_columns(
        pl.Series("variant", [words[key] for key in keys], pl.String),
        pl.Series("variant_rank", [ranks[key] for key in keys], pl.Int64),
    )


def with_variants(episodes: pl.DataFrame, about: Mapping[str, Any]) -> pl.DataFrame:
    """As `with_names`, with `is_base`: neither stressed by its suite, nor repeated, nor perturbed or helped further.

    What merely tries again is a variant with a name of its own. Of several runs together, `about` says what was asked
    to be perturbed in all of them, and one in which the world did not wait is stressed beside one in which it did.
    """
    asked = len(about.get("request", {}).get("perturbations", ()))
    named = with_names(designed(episodes, about), about.get("perturbations", {}))
    # A success with a component made perfect is not the policy's own.
    is_stressed = has_variant("stressed", SUBSTITUTED) & ~has_variant("clean")
    is_helped = has_variant(SUBSTITUTED) & (pl.col("variant") == "")
    is_clean = as_laid_out() & (pl.col("perturbations").list.len() <= asked) & ~is_stressed
    is_realtime = (pl.col("clock") != LOCKSTEP) & (pl.col("clock") == LOCKSTEP).any().over("policy")
    # With several repeats, what tries one source again is a source itself.
    is_repeated = is_clean & has_variant("repeated") & ~has_variant("clean", "source")
    name = (
        pl.when(pl.col("variant") == "")
        .then(pl.lit(REPEATED))
        .otherwise(pl.format("{} + {}", "variant", pl.lit(REPEATED)))
    )
    return named.with_columns(
        is_base=is_clean & ~is_realtime & ~is_repeated,
        variant=pl.when(is_repeated).then(name).when(is_helped).then(pl.lit(SUBSTITUTED)).otherwise("variant"),
        variant_rank=2 * pl.col("variant_rank") + (is_repeated | is_helped),
    )


def cells_together(episodes: pl.DataFrame) -> pl.DataFrame:
    """With all cells of grids as one variant: they are thousands, and have tables of their own."""
    is_cell = has_variant("cell")
    return episodes.with_columns(
        variant=pl.when(is_cell).then(pl.lit(CELLS)).otherwise("variant"),
        variant_rank=pl.when(is_cell).then(pl.col("variant_rank").max() + 1).otherwise("variant_rank"),
    )


def untouched() -> pl.Expr:
    """Whether nothing of the situation was set to another level."""
    return pl.col("interventions").list.len().fill_null(0) == 0


def as_laid_out() -> pl.Expr:
    """Whether it is a sample of what its task gives: nothing of it was set, and it was not run to decide on a cause."""
    return untouched() & ~(has_variant("intervened") & ~has_variant("screening", "clean"))


def is_under_stress() -> pl.Expr:
    """Whether a suite put it under a stressor, or in a hurry: a repeat that is neither is not."""
    return ~pl.col("is_base") & ~pl.col("variant").str.ends_with(REPEATED)


def only_repeats_of(suite: str) -> pl.Expr:
    """Whether it was run for nothing else than to try a trial of this suite again."""
    row = pl.element().struct
    is_such = (row.field("suite") == suite) & (row.field("variant") == REPEATED)
    rows = pl.col(COLUMN).list
    return (rows.len() > 0) & rows.eval(is_such).list.all()


def of_suite(episodes: pl.DataFrame, suite: str) -> pl.DataFrame:
    """A row for each time that the suite asked for a trial, with `variant`, `source_id`, `factors` and `level`."""
    rows = episodes.explode(COLUMN).drop_nulls(COLUMN)
    purposes = rows.select(pl.col(COLUMN).struct.unnest()).rename({"suite": "asked_by"})
    return pl.concat([rows.drop(COLUMN, "variant", strict=False), purposes], how="horizontal").filter(
        pl.col("asked_by") == suite
    )


def level_name(cards: Cards, name: str, value: Value) -> str:
    """Of what a perturbation was set to: the level's name, or the value itself."""
    levels = cards.get(name, {}).get("levels", {})
    return next((level for level, known in levels.items() if settled(known) == value), spelled(value))


def _order(key: tuple[tuple[tuple[str, Value], ...], str]) -> tuple[object, ...]:
    """Clocks last; by name, and numbers by size."""
    applied, clock = key
    return clock, [(name, value if isinstance(value, float) else 0.0, spelled(value)) for name, value in applied]
