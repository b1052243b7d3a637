"""What an exporter is, and how what it writes gets to its place: whole or not at all, and nothing is overwritten."""

from __future__ import annotations

import importlib
import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from robodx.errors import UserError
from robodx.records.about import read_about
from robodx.records.contents import PARTS, refuse_part_of_run
from robodx.records.film_name import film_name
from robodx.records.logins import all_without_logins, texts_without_logins
from robodx.records.table import is_finished, load
from robodx.records.trajectory import DAMAGED, Trajectory
from robodx.records.trajectory_files import Advance, trajectory_file
from robodx.registry import Registry, unknown
from robodx.users_code import calling

# A trial may be named by the beginning of its id, as names of films show it.
SHORTEST_ID = 4
# Of ids that are all named where none is near.
MOST_LISTED = 20


@dataclass(frozen=True, eq=False)
class Source:
    """A run, and those of its episodes that are exported, with what each was for."""

    path: Path
    about: Mapping[str, Any]
    episodes: pl.DataFrame
    is_finished: bool

    @property
    def name(self) -> str:
        return self.path.resolve().name

    def film(self, row: Mapping[str, Any]) -> Path | None:
        """The film of an episode, if it has one."""
        path = self.path / "videos" / film_name(row)
        return path if self._has(path) else None

    def trajectory(self, trial_id: str) -> Trajectory:
        path = trajectory_file(self.path, trial_id)
        if not self._has(path):
            raise UserError(f"the trajectory of trial {trial_id} is missing: {path}")
        try:
            return Trajectory.load(path)
        except DAMAGED as error:
            raise UserError(f"{path} is damaged: {' '.join(str(error).split()) or type(error).__name__}") from error

    def _has(self, path: Path) -> bool:
        """Ids are data and could lead out of the run folder, as a link could."""
        return path.is_file() and path.resolve().is_relative_to(self.path.resolve())


@dataclass(frozen=True)
class Wishes:
    """What may be asked for: episodes by id, or so many failures; of W&B also where to."""

    trials: tuple[str, ...] = ()
    failures: int | None = None
    is_offline: bool = False
    project: str | None = None
    # Whether what is there already is replaced.
    is_forced: bool = False


@dataclass(frozen=True)
class Item:
    """A file or a folder of an export, and what writes it to a path; one without a path leaves nothing on this machine.

    A folder that is there is replaced only if it `holds` this file: no other folder is ever removed.
    """

    path: Path | None
    write: Callable[[Path], None] = field(repr=False)
    holds: str | None = None


@dataclass(frozen=True)
class Exporter:
    """A form by name. `plan` says what is to be written for a run to a place, before anything is."""

    name: str
    summary: str
    plan: Callable[[Source, Wishes, Path], Sequence[Item]] = field(repr=False)
    # What its default place is called: the run's name with this at its end; "." is the run.
    ending: str
    # How many failures are exported where nothing is asked for; None: all episodes.
    failures: int | None = None
    # The wishes that only some exporters know, by the names of their options.
    knows: tuple[str, ...] = ()


EXPORTERS: Registry[Exporter] = Registry("export", "exports")


def exporter(entry: Exporter) -> Exporter:
    return EXPORTERS.add(entry.name, entry)


def needed(module: str, extra: str) -> Any:
    """A library of an optional extra."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise UserError(f"this export needs {module} ({error}): pip install 'robodx[{extra}]'") from error


def read(run: Path, entry: Exporter, wishes: Wishes) -> Source:
    """The run with the episodes that are wanted."""
    about, episodes = all_without_logins(read_about(run)), texts_without_logins(load(run))
    if episodes.is_empty():
        raise UserError(f"{run} has no episodes yet")
    return Source(run, about, chosen(episodes, run, entry, wishes), is_finished(run))


def chosen(episodes: pl.DataFrame, run: Path, entry: Exporter, wishes: Wishes) -> pl.DataFrame:
    """The trials that are named; else so many failures, of each task its first before its second; else all."""
    if wishes.trials:
        ids = episodes["trial_id"].to_list()
        return episodes.filter(pl.col("trial_id").is_in([_named(one, ids, run) for one in wishes.trials]))
    most = entry.failures if wishes.failures is None else wishes.failures
    if most is None:
        return episodes
    failed = episodes.filter(pl.col("outcome").is_in(["failure", "timeout"]))
    if failed.is_empty():
        raise UserError(f"{run} has no failed episode: name episodes with --trial ID")
    place = pl.int_range(pl.len()).over("task")
    return failed.with_columns(place=place).sort("place", maintain_order=True).drop("place").head(most)


def place_for(source: Source, entry: Exporter, out: Path | None) -> Path:
    """Where it was asked to go, or in the run, as its report is."""
    name = f"{source.name}{entry.ending}"
    own = f"{source.name}-export{entry.ending}" if name in {*PARTS, "why"} else name
    return out or (source.path if entry.ending == "." else source.path / own)


def export(
    source: Source, entry: Exporter, out: Path, wishes: Wishes, advance: Advance = lambda done, total: None
) -> list[Path]:
    """The files and folders that were written.

    All is written beside its place and moved there at the end: who stops half-way finds nothing of it.
    """
    with calling(f"the export {entry.name}", entry.plan):
        items = list(entry.plan(source, wishes, out))
    paths = [item.path for item in items if item.path is not None]
    if len(set(paths)) < len(paths):
        raise UserError(f"two of the {len(paths)} episodes would be written to the same file in {out}")
    for item in items:
        _check(item, is_forced=wishes.is_forced)
    # Beside what is there already, so that moving is renaming.
    beside = out if out.is_dir() else out.absolute().parent
    if not beside.is_dir():
        raise UserError(f"there is no folder {beside} to write {out.name} to")
    staging = beside / f".part-{os.getpid()}-export"
    try:
        staging.mkdir()
        for done, item in enumerate(items):
            advance(done, len(items))
            with calling(f"the export {entry.name}", entry.plan):
                item.write(staging / f"{done}{'' if item.path is None else item.path.suffix}")
        advance(len(items), len(items))
        for place, item in enumerate(items):
            if item.path is not None:
                item.path.parent.mkdir(parents=True, exist_ok=True)
                if item.path.is_dir():
                    item.path.rename(staging / f"replaced-{place}")
                (staging / f"{place}{item.path.suffix}").replace(item.path)
    except OSError as error:
        raise UserError(f"{out} cannot be written ({error.strerror or error}): choose another place with -o") from error
    finally:
        shutil.rmtree(staging, ignore_errors=True)
    return paths


def _check(item: Item, *, is_forced: bool) -> None:
    path = item.path
    if path is None:
        return
    refuse_part_of_run(path)
    if not (path.exists() or path.is_symlink()):
        return
    if not is_forced:
        raise UserError(f"{path} is there already: choose another place with -o, or replace it with --force")
    is_ours = path.is_dir() and not path.is_symlink() and item.holds is not None and (path / item.holds).is_file()
    if is_ours if item.holds is not None else path.is_file():
        return
    raise UserError(f"{path} is not what this export writes, and is not replaced: choose another place with -o")


def _named(word: str, ids: Sequence[str], run: Path) -> str:
    found = [word] if word in ids else [one for one in ids if len(word) >= SHORTEST_ID and one.startswith(word)]
    if len(found) == 1:
        return found[0]
    if found:
        raise UserError(f"--trial {word} is the beginning of {len(found)} ids in {run}: {', '.join(found[:5])}")
    advice = (
        unknown("trial", word, ids) if len(ids) <= MOST_LISTED else f'No trial "{word}": robodx view shows their ids.'
    )
    raise UserError(f"{run}: {advice}")
