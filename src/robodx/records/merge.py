"""Merges the shards of a run that was split over machines with `--shard K/N`."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

import polars as pl

from robodx.records import files
from robodx.records.about import read_about
from robodx.records.design import read_design, rows_of
from robodx.records.folder import RunConflict, RunFolder
from robodx.records.table import load
from robodx.records.trajectory_files import trajectory_file


def merge(runs: Sequence[Path], out: Path) -> pl.DataFrame:
    """One folder of all episodes, as if one machine had run them; the command without a shard goes on in it."""
    abouts = [read_about(run, needs=("request", "versions")) for run in runs]
    request = {**abouts[0]["request"], "shard": None}
    for run, about in zip(runs, abouts, strict=True):
        asked = {**about["request"], "shard": None}
        changed = sorted(name for name in {*request, *asked} if request.get(name) != asked.get(name))
        if changed:
            lines = "\n".join(f"  {name}: {request.get(name)} / {asked.get(name)}" for name in changed)
            raise RunConflict(f"{runs[0]} and {run} are not parts of one run:\n{lines}")
    facts = {name: value for name, value in abouts[0].items() if name not in ("schema_version", "request")}
    for run, about in zip(runs, abouts, strict=True):
        if about["versions"] != facts["versions"]:
            raise RunConflict(
                f"{runs[0]} and {run} were run by other versions: {facts['versions']} / {about['versions']}"
            )
    with RunFolder.open(out, request, facts) as folder:
        for run in runs:
            episodes = load(run)
            for trial_id in episodes["trial_id"]:
                trajectory = trajectory_file(run, trial_id)
                if trajectory.exists():
                    with files.beside(out / "trajectories" / trajectory.name) as part:
                        shutil.copyfile(trajectory, part)
            design = read_design(run)
            folder.note_design(rows_of(episodes) if design is None else design)
            folder.add(episodes)
        folder.compact()
        return folder.episodes()
