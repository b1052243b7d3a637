"""The pairs of a run with their verdicts: the one place where a failure review gets them from."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from robodx.errors import UserError
from robodx.records.about import UnreadableRun, refused

FILE = "pairs.parquet"
NEEDED = {
    "policy": pl.String, "task": pl.String, "relation": pl.String, "pattern": pl.String, "source_id": pl.String,
    "trial_id": pl.String, "moved_m": pl.Float64, "frechet_m": pl.Float64, "is_flagged": pl.Boolean,
    "failure_type": pl.String,
}  # fmt: skip
# In metres, how far a path may stray that should stay, and how far one must that should change; in shares of how far
# the target moved, how far one may and must that should move along.
LEVELS = {
    "strict": (0.1, 0.3, (0.65, 1.60)),
    "medium": (0.2, 0.2, (0.29, 2.20)),
    "low": (0.3, 0.1, (0.0, 2.80)),
}
DEFAULT_LEVEL = "medium"


def judged_pairs(run: Path, level: str = DEFAULT_LEVEL) -> pl.DataFrame:
    """The pairs table with `is_violated` at this level, by the Fréchet distance; null where there is no distance."""
    if level not in LEVELS:
        raise UserError(f'No level "{level}"; there are {", ".join(LEVELS)}')
    pairs = _read(run)
    stays, changes, (least, most) = LEVELS[level]
    distance, moved = pl.col("frechet_m"), pl.col("moved_m")
    is_violated = (
        pl.when(pl.col("pattern") == "variation").then(distance < changes)
        .when(pl.col("pattern") == "relocation").then((distance < least * moved) | (distance > most * moved))
        .otherwise(distance > stays)
    )  # fmt: skip
    return pairs.with_columns(is_violated=is_violated)


def _read(run: Path) -> pl.DataFrame:
    path = run / FILE
    try:
        table = pl.read_parquet(path.read_bytes())
    except FileNotFoundError:
        raise UserError(f"{run} has no pairs of trials to review; make some with: robodx run metamorphic …") from None
    except OSError as error:
        raise refused(path, error) from error
    except (pl.exceptions.PanicException, pl.exceptions.PolarsError) as error:
        raise UnreadableRun(f"{path} is damaged: {error}") from error
    if odd := [name for name, kind in NEEDED.items() if table.schema.get(name) != kind]:
        raise UnreadableRun(f"{path} is damaged: its column {odd[0]} is missing or of another type")
    return table
