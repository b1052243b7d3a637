"""A kind of finding of your own: robodx run primitive --policy random --plugin examples/my_finding.py"""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from robodx.analysis.findings.failure_modes import FailureMode
from robodx.analysis.findings.kinds.base import FindingKind, register

# The hand's way, as a multiple of the expert's in the same situation.
LONG = 1.5


def detours(episodes: pl.DataFrame) -> Iterator[FailureMode]:
    """What to look for, besides what is always looked for: a flag tells how it is done, also where it succeeds."""
    is_long = (episodes["length_ratio"] > LONG).fill_null(False).to_numpy()
    yield FailureMode(
        "flag", "detour", is_long, f"its hand goes more than {LONG} times the expert's way", is_telling=True
    )


# Then: robodx findings RUN --plugin examples/my_finding.py
register(
    FindingKind(
        name="detours",
        sentence="It does not go straight to things",
        failure_modes=detours,
        by_failure_mode=lambda mode: "" if mode.name == "detour" else None,
        # Repeats tell whether it is the situation or the policy's own randomness.
        next_test=lambda ask: ask.run("--seeds 25 --repeats 4"),
    )
)
