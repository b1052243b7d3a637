"""Kinds of finding of your own: robodx run primitive --policy random --plugin examples/my_finding.py"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import polars as pl

from robodx.analysis.findings.conditions import Condition
from robodx.analysis.findings.failure_modes import FailureMode
from robodx.analysis.findings.kinds.base import FindingKind, Own, register
from robodx.records.features import features_of_row

# The hand's way, as a multiple of the expert's in the same situation.
LONG = 1.5
CORNER = Condition("corner", ("far right",))


def detours(episodes: pl.DataFrame) -> Iterator[FailureMode]:
    """What to look for, besides what is always looked for: a flag tells how it is done, also where it succeeds."""
    is_long = (episodes["length_ratio"] > LONG).fill_null(False).to_numpy()
    yield FailureMode(
        "flag", "detour", is_long, f"its hand goes more than {LONG} times the expert's way", is_telling=True
    )


def corner(episodes: pl.DataFrame) -> Iterator[Own]:
    """Under which condition it may fail, besides all that is recorded: here two recorded attributes together."""
    trials = [features_of_row(row) for row in episodes.iter_rows(named=True)]
    inside = [one.get("target_depth") == "far" and one.get("target_side") == "right" for one in trials]
    yield Own(CORNER, "the target lies in the far right corner", np.array(inside, dtype=np.bool_))


# Then: robodx findings RUN --plugin examples/my_finding.py
register(
    FindingKind(
        name="detours",
        failure_modes=detours,
        # What is named by how it is done is a symptom.
        by_failure_mode=lambda mode: "" if mode.name == "detour" else None,
    )
)

register(
    FindingKind(
        name="blind corner",
        sentence="It does not reach into the corner",
        conditions=corner,
        # What is named by its condition is a weakness there.
        by_condition=lambda condition, mode: "" if condition == CORNER else None,
    )
)
