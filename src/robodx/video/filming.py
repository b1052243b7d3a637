"""Which episodes of a run are filmed: some of each task, or the examples of findings."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from robodx.errors import UserError
from robodx.records.about import UnreadableRun, read_about
from robodx.records.film_name import film_name
from robodx.records.table import load, load_readable, parts_of
from robodx.records.trajectory import DAMAGED, Trajectory
from robodx.records.trajectory_files import trajectory_file
from robodx.records.trial import Trial
from robodx.video.mp4 import write_mp4
from robodx.video.rendering import frames


def film(out: Path, per_task: int) -> Iterator[Path]:
    """The first successes and the first failures of each task, up to this many each; yields what is new."""
    by = ("policy", "task", "perturbations", "success")
    valid = load(out).filter(pl.col("outcome") != "error")
    hz = _hz(out)
    for row in _in_order(valid.group_by(by, maintain_order=True).head(per_task)):
        yield from _film(out, row, hz)


def film_trials(out: Path, trial_ids: Sequence[str], tell: Callable[[str], None]) -> Iterator[Path]:
    """Those of these trials that the run has, in their order; yields what is new, and tells what cannot be filmed."""
    try:
        parts = parts_of(out)
    except UnreadableRun as error:
        tell(str(error))
        return
    episodes, problems = load_readable(parts)
    for problem in problems:
        tell(problem)
    wanted = episodes.filter(pl.col("trial_id").is_in(trial_ids) & (pl.col("outcome") != "error"))
    try:
        hz = _hz(out)
    except UnreadableRun as error:
        tell(f"{out} cannot be filmed: {error}")
        return
    places = {trial: place for place, trial in enumerate(trial_ids)}
    for row in sorted(wanted.iter_rows(named=True), key=lambda row: places[row["trial_id"]]):
        try:
            yield from _film(out, row, hz)
        except UserError as error:
            tell(str(error))


def _hz(out: Path) -> float:
    return float(read_about(out, needs=("policy_spec.hz",))["policy_spec"]["hz"])


def _in_order(episodes: pl.DataFrame) -> Iterator[dict[str, Any]]:
    return episodes.sort("task", "seed").iter_rows(named=True)


def _film(out: Path, row: Mapping[str, Any], hz: float) -> Iterator[Path]:
    """Unless it is there."""
    recorded = trajectory_file(out, row["trial_id"])
    path = out / "videos" / film_name(row)
    try:
        if path.exists():
            return
        trial, trajectory = Trial.of_row(row), Trajectory.load(recorded)
        events = [(entry["step"], entry["object"]) for entry in row["events"] or () if entry["kind"] == "event"]
        path.parent.mkdir(exist_ok=True)
        write_mp4(path, frames(trial, trajectory, events, hz=hz), hz)
    except DAMAGED as error:
        raise UnreadableRun(f"{recorded} cannot be filmed: {error}") from error
    yield path
