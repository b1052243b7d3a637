"""Which episodes of a run are filmed: some of each task, or those that findings show."""

from __future__ import annotations

import zipfile
from collections.abc import Collection, Iterator
from pathlib import Path

import polars as pl

from robodx.analysis.episodes import UnreadableRun, load, read_about
from robodx.running.episode import Trajectory
from robodx.running.trial import Trial
from robodx.running.video import frames, write_mp4


def film(out: Path, per_task: int) -> Iterator[Path]:
    """The first successes and the first failures of each task, up to this many each; yields what is new."""
    by = ("policy", "task", "perturbations", "success")
    yield from _film(
        out, load(out).filter(pl.col("outcome") != "error").group_by(by, maintain_order=True).head(per_task)
    )


def film_trials(out: Path, trial_ids: Collection[str]) -> Iterator[Path]:
    """Those of these trials that the run has; yields what is new."""
    yield from _film(out, load(out).filter(pl.col("trial_id").is_in(trial_ids) & (pl.col("outcome") != "error")))


def _film(out: Path, episodes: pl.DataFrame) -> Iterator[Path]:
    hz = float(read_about(out)["policy_spec"]["hz"])
    folder = out / "videos"
    folder.mkdir(exist_ok=True)
    for row in episodes.sort("task", "seed").iter_rows(named=True):
        path = folder / f"{row['task'].replace('/', '.')}-seed{row['seed']}-{row['outcome']}-{row['trial_id'][:6]}.mp4"
        if path.exists():
            continue
        trial = Trial(
            row["task"], row["task_version"], row["policy"], row["seed"], row["robot"], row["repeat"],
            tuple((entry["name"], entry["severity"]) for entry in row["perturbations"]), row["suite"], row["clock"],
        )  # fmt: skip
        recorded = out / "trajectories" / f"{row['trial_id']}.npz"
        try:
            trajectory = Trajectory.load(recorded)
        except (OSError, ValueError, KeyError, zipfile.BadZipFile) as error:
            raise UnreadableRun(f"{recorded} cannot be filmed: {error}") from error
        events = [(entry["step"], entry["object"]) for entry in row["events"] if entry["kind"] == "event"]
        write_mp4(path, frames(trial, trajectory, events, hz=hz), hz)
        yield path
