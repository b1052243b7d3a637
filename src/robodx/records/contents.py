"""What a run folder holds, so that nothing else is written in its place."""

from __future__ import annotations

import os
from pathlib import Path

from robodx.errors import UserError
from robodx.records import design, pairs, review

# A set of instances that was checked for fairness holds the last three files.
FILES = ("run.json", ".lock", design.FILE, pairs.FILE, "instances.parquet", "checks.jsonl", "judgements.jsonl")
FOLDERS = ("episodes", "trajectories", "videos", review.PICTURES, review.FOLDER)
PARTS = frozenset({*FILES, *FOLDERS})


def refuse_part_of_run(path: Path) -> None:
    """Call it before writing to a path that somebody chose: reports, exports and data sets never replace records."""
    if (run := run_holding(path)) is not None:
        raise UserError(f"{path} is a part of the run {run}: name another place, or the run itself")


def run_holding(path: Path) -> Path | None:
    """The run that a path belongs to, whether or not there is a file. The run itself does not, nor does its report."""
    # As it is spelled, because a run's own folder may be a link, and as it is with all links followed.
    for spelled in (os.path.abspath(path), os.path.realpath(path)):
        place = Path(spelled)
        for folder in place.parents:
            # Some disks take RUN.JSON and run.json for the same file.
            if place.relative_to(folder).parts[0].lower() in PARTS and _is_run(folder):
                return folder
    return None


def _is_run(folder: Path) -> bool:
    """Also a damaged one. An export has a run.json, and no folder of episodes."""
    has_episodes = os.path.isdir(folder / "episodes")
    is_described = any(os.path.lexists(folder / name) for name in ("run.json", ".lock"))
    is_set = os.path.lexists(folder / "instances.parquet")
    return (has_episodes and is_described) or is_set or bool(review.reviews_of(folder))
