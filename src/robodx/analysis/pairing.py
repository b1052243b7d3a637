"""Which episodes of two runs may be compared: the same trials in pairs, or other situations of the same tasks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from robodx.analysis.episodes import KEY

Floats = npt.NDArray[np.float64]
# A task under its stressors and its clock: what is compared with its like only.
STRATUM = ("task", "task_version", "robot", "perturbations", "clock")


@dataclass(frozen=True)
class Stratum:
    """The share of successes in each situation of a task, 0 or 1 without repeats, of both arms: pairwise if paired.

    What was told the same and moved alike, bit for bit, is there once, and errors are not.
    """

    label: str
    family: str | None
    tier: str | None
    a: Floats
    b: Floats
    # Trials, or pairs of them, and how many of these have an error in them.
    trials: int
    errors: int

    @property
    def differences(self) -> Floats:
        """b − a of every pair, from −1 to 1."""
        return self.b - self.a


@dataclass(frozen=True)
class Compared:
    """What two runs have in common, and how many episodes are not part of it."""

    strata: tuple[Stratum, ...]
    is_paired: bool
    only_a: int
    only_b: int
    alike: int
    # Tasks whose scoring was changed between the runs.
    other_versions: tuple[str, ...]


def align(a: pl.DataFrame, b: pl.DataFrame) -> Compared:
    """Two tables of episodes side by side, in pairs if any trial is in both."""
    first, second = _prepared(a, "a"), _prepared(b, "b")
    rows = first.join(second.select("key", "b", "course_b", "erred_b"), on="key", maintain_order="left")
    is_paired = not rows.is_empty()
    used_a = used_b = len(rows)
    if not is_paired:
        shared = first.select("stratum").unique().join(second.select("stratum").unique(), on="stratum")
        ours, theirs = (arm.join(shared, on="stratum", how="semi", maintain_order="left") for arm in (first, second))
        used_a, used_b = len(ours), len(theirs)
        rows = pl.concat([ours, theirs], how="diagonal")
    rows = rows.with_columns(is_error=pl.col("erred_a").fill_null(False) | pl.col("erred_b").fill_null(False))
    valid = rows.filter(~pl.col("is_error"))
    distinct = valid.unique(["stratum", "course_a", "course_b"], keep="first", maintain_order=True)
    return Compared(
        tuple(_strata(rows, distinct)),
        is_paired,
        len(a) - used_a,
        len(b) - used_b,
        len(valid) - len(distinct),
        _other_versions(a, b),
    )


def _strata(rows: pl.DataFrame, distinct: pl.DataFrame) -> Iterator[Stratum]:
    # Repeats of a situation are not independent: their mean is one observation.
    situations = distinct.group_by("stratum", "seed", maintain_order=True).agg(pl.col("a").mean(), pl.col("b").mean())
    values = {str(name): group for (name,), group in situations.group_by("stratum")}
    for (name,), group in rows.group_by("stratum", maintain_order=True):
        seen = values.get(str(name), situations.clear())
        label, family, tier = group.select("label", "family", "tier").row(0)
        yield Stratum(
            label,
            family,
            tier,
            seen["a"].drop_nulls().to_numpy(),
            seen["b"].drop_nulls().to_numpy(),
            len(group),
            int(group["is_error"].sum()),
        )


def _prepared(episodes: pl.DataFrame, arm: str) -> pl.DataFrame:
    stress = pl.col("perturbations").list.eval(
        pl.format(" {}={}", pl.element().struct.field("name"), pl.element().struct.field("severity"))
    ).list.join("")  # fmt: skip
    clock = pl.when(pl.col("clock") == "lockstep").then(pl.lit("")).otherwise(pl.format(" {}", "clock"))
    return episodes.select(
        pl.struct(KEY).struct.json_encode().alias("key"),
        pl.struct(STRATUM).struct.json_encode().alias("stratum"),
        pl.concat_str("task", stress, clock).alias("label"),
        "family", "tier", "seed",
        pl.col("success").cast(pl.Float64).alias(arm),
        # A record without a hash cannot be told to be like another.
        pl.when(pl.col("trajectory_hash").is_null())
        .then(pl.struct(KEY).struct.json_encode())
        .otherwise(pl.struct("instructions", "trajectory_hash").struct.json_encode())
        .alias(f"course_{arm}"),
        (pl.col("outcome") == "error").alias(f"erred_{arm}"),
    )  # fmt: skip


def _other_versions(a: pl.DataFrame, b: pl.DataFrame) -> tuple[str, ...]:
    versions = [dict(table.select("task", "task_version").iter_rows()) for table in (a, b)]
    return tuple(
        f"{task}: version {version} / {versions[1][task]}"
        for task, version in sorted(versions[0].items())
        if versions[1].get(task, version) != version
    )
