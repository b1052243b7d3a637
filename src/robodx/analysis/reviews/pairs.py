"""The pairs of a run with their verdicts: the one place where a failure review gets them from."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from robodx.analysis.metamorphic.levels import LEVELS, with_verdicts
from robodx.analysis.metamorphic.measuring import measured
from robodx.errors import UserError
from robodx.records.pairs import read_pairs
from robodx.records.table import load
from robodx.registry import require

DEFAULT_LEVEL = "medium"


def judged_pairs(run: Path, level: str = DEFAULT_LEVEL) -> pl.DataFrame:
    """The pairs table with `is_violated` at this level, by the Fréchet distance; null where there is no verdict."""
    require("level", level, LEVELS)
    pairs = read_pairs(run)
    if pairs is None:
        pairs = measured(run, load(run))
    if not len(pairs):
        raise UserError(f"{run} has no pairs of trials to review; make some with: robodx run metamorphic …")
    return with_verdicts(pairs).select(*pairs.columns, is_violated=f"violates_{level}")
