"""The pairs of a run with their verdicts: the one place where a failure review gets them from."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from robodx.analysis.metamorphic.levels import LEVELS, with_verdicts
from robodx.analysis.metamorphic.measuring import SUITE, measured
from robodx.analysis.variants import of_suite
from robodx.errors import UserError
from robodx.records.pairs import read_pairs
from robodx.records.table import load
from robodx.registry import require

DEFAULT_LEVEL = "medium"


def judged_pairs(run: Path, level: str = DEFAULT_LEVEL) -> pl.DataFrame:
    """The pairs table with `is_violated` at this level, by the Fréchet distance; null where there is no verdict."""
    require("level", level, LEVELS)
    episodes = load(run)
    # What is stored is taken over where it is of these trajectories. Only a run that is of another suite by its design,
    # or has none, cannot say which trials make a pair: there the stored table does.
    pairs = measured(run, episodes) if len(of_suite(episodes, SUITE)) else read_pairs(run)
    if pairs is None or pairs.is_empty():
        raise UserError(f"{run} has no pairs of trials to review; make some with: robodx run metamorphic …")
    return with_verdicts(pairs).select(*pairs.columns, is_violated=f"violates_{level}")
