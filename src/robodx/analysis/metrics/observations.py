"""What counts as an observation: no errors, no duplicates, and situations rather than episodes."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from robodx.analysis.statistics.estimates import MAX_ERROR_SHARE

# Within a stratum only the seed and the repeat differ; a mean over tasks is a mean over strata.
STRATUM = ("policy", "task", "task_version", "robot", "perturbations", "clock", "interventions")
# Episodes of a stratum with the same instructions that moved alike, bit for bit, are one observation.
ALIKE = (*STRATUM, "instructions", "trajectory_hash")


def observations(episodes: pl.DataFrame, apart: Sequence[str] = ()) -> pl.DataFrame:
    """The episodes that ended on their own, of situations that went alike in all their repeats those of the first.

    Groups that differ in the columns `apart` are looked at each by itself.

    Repeats stay together: if only those that are alike were dropped, a policy that succeeds always in the same way and
    fails in many would seem to fail more often than it does.
    """
    valid = episodes.filter(pl.col("outcome") != "error")
    # A record without a hash cannot be told to be like another.
    is_hashed = pl.col("trajectory_hash").is_not_null()
    motion = (
        pl.when(is_hashed)
        .then(pl.struct("instructions", "trajectory_hash").hash())
        .otherwise(pl.struct("trial_id", "seed", "repeat").hash())
    )
    return alike_once(valid, pl.struct(*STRATUM, *apart).hash(), pl.col("seed"), motion)


def alike_once(table: pl.DataFrame, stratum: pl.Expr, situation: pl.Expr, motion: pl.Expr) -> pl.DataFrame:
    """Of the situations of a stratum in which the same motions were seen the first, with all its rows."""
    marked = table.with_columns(_stratum=stratum, _situation=situation, _motion=motion)
    seen = marked.group_by("_stratum", "_situation", maintain_order=True).agg(pl.col("_motion").unique().sort())
    sets = pl.col("_motion").list.eval(pl.element().cast(pl.String)).list.join(" ")
    first = seen.with_columns(sets).unique(["_stratum", "_motion"], keep="first", maintain_order=True)
    kept = marked.join(first, on=["_stratum", "_situation"], how="semi", nulls_equal=True, maintain_order="left")
    return kept.drop("_stratum", "_situation", "_motion")


def distinct_episodes(episodes: pl.DataFrame) -> pl.DataFrame:
    """The episodes that ended on their own, those alike once: for lists and counts of what was seen."""
    valid = episodes.filter(pl.col("outcome") != "error")
    # A record without a hash cannot be told to be like another.
    is_hashed = pl.col("trajectory_hash").is_not_null()
    return pl.concat(
        [valid.filter(is_hashed).unique(ALIKE, keep="first", maintain_order=True), valid.filter(~is_hashed)]
    )


def is_fair(episodes: pl.DataFrame) -> bool:
    """Whether errors are so few that the rest is a fair sample, and no task was lost to them altogether."""
    erred = pl.col("outcome") == "error"
    if (episodes["outcome"] == "error").sum() > MAX_ERROR_SHARE * len(episodes):
        return False
    return not episodes.group_by(STRATUM).agg(erred.all())["outcome"].any()


def by_situation(episodes: pl.DataFrame, values: pl.Series) -> pl.DataFrame:
    """The mean over repeats of one value an episode: a row a situation, with `stratum` (a number) and `value`.

    A policy that is asked twice in one situation tells little more of others, so repeats are no observations of their
    own.
    """
    # Hashes, because lists of structs are slow to group by; numbered as they appear, which a hash is not.
    table = episodes.select(pl.struct(STRATUM).hash().alias("hash"), "seed").with_columns(
        value=values.cast(pl.Float64).fill_nan(None)
    )
    strata = table.select("hash").unique(maintain_order=True).with_row_index("stratum")
    means = table.drop_nulls("value").group_by("hash", "seed", maintain_order=True).agg(pl.col("value").mean())
    return means.join(strata, on="hash", maintain_order="left").select("stratum", "seed", "value")
