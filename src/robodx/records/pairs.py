"""pairs.parquet: how far each follow-up of the suite `metamorphic` went from what its source lets expect."""

from __future__ import annotations

import io
from pathlib import Path

import polars as pl

from robodx.records import files
from robodx.records.about import stop_if_interrupted

FILE = "pairs.parquet"
# The relation of a source that is merely run again.
REPEAT = "MR0"
# What makes a row.
ROW = ("source_id", "trial_id", "relation")
# In metres, the largest over the hands; null where there is no path to measure.
DISTANCE_COLUMNS = ("frechet_m", "dtw_m", "hausdorff_m", "endpoint_m")
SCHEMA = pl.Schema(
    {
        "policy": pl.String(),
        "task": pl.String(),
        "seed": pl.Int64(),
        # The source's.
        "repeat": pl.Int64(),
        "relation": pl.String(),
        "pattern": pl.String(),
        "frame": pl.String(),
        "source_id": pl.String(),
        "trial_id": pl.String(),
        # How far the target or the scene was moved; null where nothing was.
        "moved_m": pl.Float64(),
        **dict.fromkeys(DISTANCE_COLUMNS, pl.Float64()),
        "frechet_by_hand": pl.List(pl.Float64()),
        "source_success": pl.Boolean(),
        "follow_up_success": pl.Boolean(),
        # Whether the success oracle says that the follow-up failed.
        "is_flagged": pl.Boolean(),
        "failure_type": pl.String(),
        # Of the two trajectories that were measured.
        "source_hash": pl.String(),
        "follow_up_hash": pl.String(),
    }
)


def read_pairs(run: Path) -> pl.DataFrame | None:
    """As they were written; None if they cannot be read or are no such table: they can be worked out again."""
    try:
        table = pl.read_parquet((run / FILE).read_bytes())
    except OSError:
        return None
    except (pl.exceptions.PanicException, pl.exceptions.PolarsError) as error:
        stop_if_interrupted(error)
        return None
    is_whole = table.schema == SCHEMA and not any(table[name].has_nulls() for name in (*ROW, "pattern"))
    return table if is_whole else None


def write_pairs(run: Path, table: pl.DataFrame) -> None:
    """Whole or not at all, in place of what is there."""
    buffer = io.BytesIO()
    table.select(*SCHEMA).cast(SCHEMA).write_parquet(buffer)
    files.write(run / FILE, buffer.getvalue())
