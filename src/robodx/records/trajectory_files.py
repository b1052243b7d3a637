"""Whether the trajectory files of a run hold the episodes that its table speaks of."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import polars as pl

from robodx.records.about import refused
from robodx.records.trajectory import DAMAGED, stored_digest

Advance = Callable[[int, int], None]


def trajectory_file(run: Path, trial_id: str) -> Path:
    return run / "trajectories" / f"{trial_id}.npz"


def unsound_files(run: Path, episodes: pl.DataFrame, advance: Advance = lambda done, total: None) -> dict[str, str]:
    """By trial id, what is wrong with the files of these episodes; errors have none.

    Of a file that may not be read nothing is known: that ends the search.
    """
    recorded = episodes.filter((pl.col("outcome") != "error") & pl.col("trajectory_hash").is_not_null())
    found = {}
    for done, (trial_id, digest) in enumerate(recorded.select("trial_id", "trajectory_hash").iter_rows(), start=1):
        if flaw := _flaw(trajectory_file(run, trial_id), digest):
            found[trial_id] = flaw
        advance(done, len(recorded))
    return found


def _flaw(path: Path, digest: str) -> str | None:
    try:
        # Read here, so that what the operating system refuses is not taken for damage.
        content = path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return f"{path} is missing"
    except OSError as error:
        raise refused(path, error) from error
    try:
        is_recorded = stored_digest(content) == digest
    except DAMAGED as error:
        return f"{path} is damaged: {' '.join(str(error).split()) or type(error).__name__}"
    return None if is_recorded else f"{path} holds another episode than the table"
