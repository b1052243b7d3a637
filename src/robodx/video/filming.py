"""Which episodes of a run are filmed: some of each task, or the examples of findings."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from robodx.errors import UserError
from robodx.records.about import UnreadableRun, read_about
from robodx.records.film_name import CAPTIONED, film_name, plain_film
from robodx.records.table import load, load_readable, parts_of
from robodx.records.trajectory import DAMAGED, Trajectory
from robodx.records.trajectory_files import Advance, trajectory_file
from robodx.registry import UnknownName
from robodx.video.film import film_frames
from robodx.video.layout import Image
from robodx.video.mp4 import write_mp4


def film(out: Path, per_task: int, *, is_plain: bool = False) -> Iterator[Path]:
    """The first successes and the first failures of each task, up to this many each; yields what is new."""
    by = ("policy", "task", "perturbations", "success")
    valid = load(out).filter(pl.col("outcome") != "error")
    about = _about(out)
    for row in _in_order(valid.group_by(by, maintain_order=True).head(per_task)):
        yield from _film(out, row, about, is_plain=is_plain)


def film_trials(
    out: Path,
    trial_ids: Sequence[str],
    tell: Callable[[str], None],
    *,
    is_plain: bool = False,
) -> Iterator[Path]:
    """Those of these trials that the run has, in their order; yields what is new, and tells what cannot be filmed.

    Plain is without captions.
    """
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
        about = _about(out)
    except UnreadableRun as error:
        tell(f"{out} cannot be filmed: {error}")
        return
    places = {trial: place for place, trial in enumerate(trial_ids)}
    for row in sorted(wanted.iter_rows(named=True), key=lambda row: places[row["trial_id"]]):
        try:
            yield from _film(out, row, about, is_plain=is_plain)
        except UserError as error:
            tell(str(error))


def film_trial(out: Path, trial_id: str, advance: Advance) -> None:
    """One of them; `advance` is told how many of its pictures are drawn, and of how many."""
    episodes, problems = load_readable(parts_of(out))
    rows = episodes.filter(pl.col("trial_id") == trial_id)
    if not len(rows):
        raise UnreadableRun(" ".join([f"{out} has no episode {trial_id}.", *problems]))
    for _ in _film(out, rows.row(0, named=True), _about(out), is_plain=False, advance=advance):
        pass


def _about(out: Path) -> dict[str, Any]:
    return read_about(out, needs=("policy_spec.hz",))


def _in_order(episodes: pl.DataFrame) -> Iterator[dict[str, Any]]:
    return episodes.sort("task", "seed").iter_rows(named=True)


def _film(
    out: Path,
    row: Mapping[str, Any],
    about: Mapping[str, Any],
    *,
    is_plain: bool,
    advance: Advance = lambda done, total: None,
) -> Iterator[Path]:
    """Unless it is there."""
    folder = out / "videos"
    path = plain_film(folder, row) if is_plain else folder / film_name(row)
    if path.exists():
        return
    pictures = _counted(_drawn(out, row, about, is_plain=is_plain), (row["steps"] or 0) + 1, advance)
    try:
        path.parent.mkdir(exist_ok=True)
        write_mp4(path, pictures, float(about["policy_spec"]["hz"]), comment=None if is_plain else CAPTIONED)
    except OSError as error:
        raise UserError(f"{path} cannot be written: {error.strerror or error}") from error
    yield path


def _drawn(out: Path, row: Mapping[str, Any], about: Mapping[str, Any], *, is_plain: bool) -> Iterator[Image]:
    recorded = trajectory_file(out, row["trial_id"])
    try:
        yield from film_frames(row, Trajectory.load(recorded), about, is_plain=is_plain)
    except UnknownName as error:
        # Not damaged: a plugin may be missing.
        raise UnknownName(f"{recorded} cannot be filmed: {error}") from error
    except DAMAGED as error:
        raise UnreadableRun(f"{recorded} cannot be filmed: {error}") from error


def _counted(pictures: Iterator[Image], total: int, advance: Advance) -> Iterator[Image]:
    for done, picture in enumerate(pictures, start=1):
        yield picture
        # The last picture is held for a while.
        advance(min(done, total), total)
