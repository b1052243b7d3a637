"""The filtered list as a table for other programs: one row an episode, in flat columns."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from robodx.records.flat import flat, to_csv, to_parquet
from robodx.records.table import load_readable
from robodx.report.viewer.library import Run
from robodx.report.viewer.listing import Query, matching


@dataclass(frozen=True)
class Kind:
    """A format of files."""

    media_type: str
    written: Callable[[pl.DataFrame], bytes]


# By the ending of the file.
KINDS: Mapping[str, Kind] = {
    # What a spreadsheet would run as a formula is written as a text there.
    "csv": Kind("text/csv; charset=utf-8", lambda table: to_csv(table).encode("utf-8", "backslashreplace")),
    "parquet": Kind("application/vnd.apache.parquet", to_parquet),
}


def download(runs: Sequence[Run], query: Query, kind: Kind) -> bytes:
    """Every episode that the list would show, in its order: its run's name, how the list calls it, and its record."""
    if not runs:
        episodes, _ = load_readable(())
        return kind.written(flat(episodes))
    listed = matching(pl.concat([run.listing for run in runs]), query)
    shown = listed.select("run", "trial_id", "variant", shown_outcome="outcome")
    episodes = pl.concat([run.episodes.with_columns(run=pl.lit(run.found.id)) for run in runs])
    names = {run.found.id: run.found.name for run in runs}
    table = shown.join(episodes, on=["run", "trial_id"], how="left", maintain_order="left")
    return kind.written(flat(table.with_columns(run=pl.col("run").replace_strict(names, return_dtype=pl.String))))
