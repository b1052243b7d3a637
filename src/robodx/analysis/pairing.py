"""Which episodes of two runs may be compared: the same trials in pairs, or other situations of the same tasks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from robodx.analysis.metrics.observations import alike_once
from robodx.analysis.variants import CELLS, CLEAN, cells_together, with_names
from robodx.records.design import COLUMN
from robodx.records.schema import KEY

Floats = npt.NDArray[np.float64]
# A task under its stressors and its clock: what is compared with its like only.
STRATUM = ("task", "task_version", "robot", "perturbations", "clock", "interventions")
# Of what could be compared of the run that has less of it: where fewer have a partner, pairs would waste the rest.
ENOUGH_PAIRS = 0.5


@dataclass(frozen=True)
class Stratum:
    """The share of successes in each situation of a task, 0 or 1 without repeats, of both variants: pairwise if paired.

    What was told the same and moved alike, bit for bit, is there once, and errors are not.
    """

    task: str
    # As "noise=v2", or "clean".
    variant: str
    family: str | None
    tier: str | None
    a: Floats
    b: Floats
    # Trials, or pairs of them, and how many of these have an error in them.
    trials: int
    errors: int

    @property
    def label(self) -> str:
        return self.task if self.variant == CLEAN else f"{self.task} {self.variant}"

    @property
    def differences(self) -> Floats:
        """b − a of every pair, from −1 to 1."""
        return self.b - self.a


@dataclass(frozen=True)
class Compared:
    """What two runs have in common, and how many episodes are not part of it."""

    # Variant by variant, the clean one first.
    strata: tuple[Stratum, ...]
    is_paired: bool
    # How many trials are in both runs.
    shared: int
    only_a: int
    only_b: int
    alike: int
    # Tasks whose scoring was changed between the runs.
    other_versions: tuple[str, ...]
    # What else keeps runs apart that share tasks but no variant.
    contrast: str


def align(a: pl.DataFrame, b: pl.DataFrame, cards: Mapping[str, Mapping[str, Any]]) -> Compared:
    """Two tables of episodes side by side, in pairs if enough trials are in both.

    `cards` of perturbations, from run.json, know the names of levels.
    """
    both = with_names(pl.concat([a, b]), cards)
    both = cells_together(both) if COLUMN in both.columns else both
    named = both.head(len(a)), both.tail(len(b))
    first, second = _prepared(named[0], "a"), _prepared(named[1], "b")
    shared = first.join(second.select("key", "b", "course_b", "erred_b"), on="key", maintain_order="left")
    ours, theirs = (
        one.join(other, on="stratum", how="semi", maintain_order="left")
        for one, other in ((first, second), (second, first))
    )
    is_paired = len(shared) > 0 and len(shared) >= ENOUGH_PAIRS * min(len(ours), len(theirs))
    rows = shared if is_paired else pl.concat([ours, theirs], how="diagonal")
    rows = rows.with_columns(is_error=pl.col("erred_a").fill_null(False) | pl.col("erred_b").fill_null(False))
    valid = rows.filter(~pl.col("is_error"))
    # Of pairs there is one side, else each run is one: what is alike is so within a side.
    side = pl.col("course_a").is_null()
    distinct = alike_once(
        valid,
        pl.struct("stratum", side).hash(),
        pl.struct("stratum", "seed", side).hash(),
        pl.struct("course_a", "course_b").hash(),
    )
    return Compared(
        tuple(_strata(rows.sort("variant_rank", "task", maintain_order=True), distinct)),
        is_paired,
        len(shared),
        len(a) - len(shared if is_paired else ours),
        len(b) - len(shared if is_paired else theirs),
        len(valid) - len(distinct),
        _other_versions(a, b),
        _contrast(*named),
    )


def trial_key() -> pl.Expr:
    """What is the same for the same trial, whoever acted."""
    return pl.struct(KEY).struct.json_encode()


def _strata(rows: pl.DataFrame, distinct: pl.DataFrame) -> Iterator[Stratum]:
    # Repeats of a situation are not independent: their mean is one observation.
    situations = distinct.group_by("stratum", "seed", maintain_order=True).agg(pl.col("a").mean(), pl.col("b").mean())
    values = {str(name): group for (name,), group in situations.group_by("stratum", maintain_order=True)}
    for (name,), group in rows.group_by("stratum", maintain_order=True):
        seen = values.get(str(name), situations.clear())
        task, variant, family, tier = group.select("task", "variant", "family", "tier").row(0)
        yield Stratum(
            task,
            variant,
            family,
            tier,
            seen["a"].drop_nulls().to_numpy(),
            seen["b"].drop_nulls().to_numpy(),
            len(group),
            int(group["is_error"].sum()),
        )


def _prepared(episodes: pl.DataFrame, side: str) -> pl.DataFrame:
    # Thousands of cells are compared as one, of as many situations as there are seeds.
    intervened = pl.when(pl.col("variant") != CELLS).then("interventions").alias("interventions")
    stratum = pl.struct(*(name for name in STRATUM if name != "interventions"), intervened)
    return episodes.select(
        trial_key().alias("key"),
        stratum.struct.json_encode().alias("stratum"),
        "task", _variant(), "variant_rank", "family", "tier", "seed",
        pl.col("success").cast(pl.Float64).alias(side),
        # A record without a hash cannot be told to be like another.
        pl.when(pl.col("trajectory_hash").is_null())
        .then(trial_key())
        .otherwise(pl.struct("instructions", "trajectory_hash").struct.json_encode())
        .alias(f"course_{side}"),
        (pl.col("outcome") == "error").alias(f"erred_{side}"),
    )  # fmt: skip


def _variant() -> pl.Expr:
    return pl.when(pl.col("variant") == "").then(pl.lit(CLEAN)).otherwise("variant").alias("variant")


def _contrast(a: pl.DataFrame, b: pl.DataFrame) -> str:
    """As "A is of clean, B of packet_loss=v2", of tasks that both have; empty if there are none."""
    shared = [
        one.join(other, on=["task", "task_version"], how="semi").sort("variant_rank").select("robot", _variant())
        for one, other in ((a, b), (b, a))
    ]
    for column in ("robot", "variant"):
        of_a, of_b = (one[column].unique(maintain_order=True) for one in shared)
        if len(of_a) and not set(of_a) & set(of_b):
            return f"A is of {', '.join(of_a)}, B of {', '.join(of_b)}"
    return ""


def _other_versions(a: pl.DataFrame, b: pl.DataFrame) -> tuple[str, ...]:
    versions = [dict(table.select("task", "task_version").iter_rows()) for table in (a, b)]
    return tuple(
        f"{task}: version {version} / {versions[1][task]}"
        for task, version in sorted(versions[0].items())
        if versions[1].get(task, version) != version
    )
