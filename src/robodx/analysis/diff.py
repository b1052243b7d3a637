"""Whether two runs are the same, episode by episode, bit for bit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from robodx.errors import UserError
from robodx.records.about import read_about
from robodx.records.schema import KEY
from robodx.records.table import load
from robodx.records.trajectory_files import Advance, unsound_files


class Incomparable(UserError):
    """Two runs whose bits cannot be expected to agree, for the reason given."""


@dataclass(frozen=True)
class Difference:
    """One trial that went otherwise in the two runs."""

    task: str
    seed: int
    repeat: int
    first: str
    second: str


@dataclass(frozen=True)
class Diff:
    same: int
    different: tuple[Difference, ...]
    only_first: int
    only_second: int
    versions: tuple[str, ...]
    # Trajectory files of either run that do not hold what its table says: their trials are not the same.
    unsound: tuple[str, ...] = ()

    @property
    def is_same(self) -> bool:
        return not self.different and not self.only_first and not self.only_second and not self.unsound


def diff(first: Path, second: Path, *, by_tables: bool = False, advance: Advance = lambda done, total: None) -> Diff:
    """Match the trials of two runs and compare trajectory hashes; an error equals nothing, not even an error.

    That the trajectory files are those of the hashes is looked at too, unless it is to be done `by_tables` alone.
    `advance` is told of each run how many files are done, of how many.
    """
    a, b = (read_about(run, needs=("versions",)) for run in (first, second))
    for run, about in ((first, a), (second, b)):
        if not about.get("is_reproducible", True):
            raise Incomparable(f"{run} ran on a measured clock: its bits depend on how busy the machine was")
    for name in ("gl_renderer", "rendering"):
        renderers = [about["versions"].get(name) for about in (a, b)]
        if None not in renderers and renderers[0] != renderers[1]:
            raise Incomparable(
                f"the runs were rendered by {renderers[0]} and by {renderers[1]} ({name}): their bits differ anyway"
            )
    versions = tuple(
        f"{name}: {a['versions'].get(name)} / {b['versions'].get(name)}"
        for name in sorted({*a["versions"], *b["versions"]})
        if a["versions"].get(name) != b["versions"].get(name)
    )
    tables = [load(run) for run in (first, second)]
    flaws = [
        {} if by_tables else unsound_files(run, episodes, advance)
        for run, episodes in zip((first, second), tables, strict=True)
    ]
    keyed = [_keyed(episodes, flawed) for episodes, flawed in zip(tables, flaws, strict=True)]
    table = keyed[0].join(keyed[1], on="key", how="full", suffix="_second")
    both = table.filter(pl.col("key").is_not_null() & pl.col("key_second").is_not_null())
    agree = (pl.col("trajectory_hash") == pl.col("trajectory_hash_second")) & (
        pl.col("outcome") == pl.col("outcome_second")
    )
    different = both.filter(~agree.fill_null(False)).sort("task", "seed", "repeat")
    return Diff(
        same=len(both.filter(agree.fill_null(False) & pl.col("is_sound") & pl.col("is_sound_second"))),
        different=tuple(
            Difference(
                row["task"], row["seed"], row["repeat"],
                f"{row['outcome']} after {row['steps']} steps",
                f"{row['outcome_second']} after {row['steps_second']} steps",
            )
            for row in different.iter_rows(named=True)
        ),
        only_first=int(table["key_second"].is_null().sum()),
        only_second=int(table["key"].is_null().sum()),
        versions=versions,
        unsound=tuple(line for flawed in flaws for line in flawed.values()),
    )  # fmt: skip


def _keyed(episodes: pl.DataFrame, flawed: Mapping[str, str]) -> pl.DataFrame:
    return episodes.select(
        pl.struct(KEY).struct.json_encode().alias("key"),
        "task", "seed", "repeat", "outcome", "steps", "trajectory_hash",
        is_sound=~pl.col("trial_id").is_in(list(flawed)),
    )  # fmt: skip
