"""The run folder: the request, the episodes as they arrive, and a lock against two runs in one folder."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import io
import json
import os
import platform
import re
import time
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import polars as pl

from robodx.errors import UserError
from robodx.output import shortened
from robodx.records import files
from robodx.records.about import SCHEMA_VERSION, flaw, read_about
from robodx.records.design import write_design
from robodx.records.episode import Episode
from robodx.records.schema import SCHEMA
from robodx.records.table import KeptParts, load, parts_of, to_table

# A part is written when this many episodes wait, or this long after the last one: what a kill can lose.
PART_EPISODES = 50
PART_SECONDS = 5.0
# The parts that are numbered here: digits of other scripts, or more of them, are no part of ours.
PART = re.compile(r"part-([0-9]{1,12})\.parquet")
# Of what differs between two runs: enough to tell which is which.
SHOWN_PARTS = 5
SHOWN_LETTERS = 60
LONGEST_LOCK = 300


class RunConflict(UserError):
    """The folder holds another run, or is being written by one; nothing was changed in it."""


class Unsaved(UserError):
    """Finished episodes could not be written; they are run again when the run is resumed."""


class Unrecordable(UserError):
    """A description that no robodx could read again; nothing was written."""


class RunFolder:
    """One run on disk. Open it with `RunFolder.open`, which starts, resumes or refuses."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._waiting: list[Episode] = []
        # Every round reads all that is there.
        self._kept: KeptParts = {}
        self._written_s = time.monotonic()
        numbered = (PART.fullmatch(part.name) for part in parts_of(path))
        self._next_part = 1 + max((int(found[1]) for found in numbered if found), default=0)

    @classmethod
    @contextlib.contextmanager
    def open(cls, path: Path, request: Mapping[str, Any], facts: Mapping[str, Any]) -> Iterator[RunFolder]:
        """`request` decides the episodes and must be the same to resume; `facts` are only told (but for versions).

        One that names no suite brings its trials along: they may be others with each call, and the folder grows.
        """
        if wrong := flaw(json.loads(json.dumps({"request": request, **facts}))):
            raise Unrecordable(f"such a run cannot be recorded: {wrong}")
        if path.exists() and not path.is_dir():
            raise RunConflict(f"{path} is a file, not a folder")
        if path.is_dir() and any(path.iterdir()) and not (path / "run.json").exists() and not (path / ".lock").exists():
            raise RunConflict(f"{path} is not empty and not a run: choose another folder with --out")
        for name in ("episodes", "trajectories"):
            (path / name).mkdir(parents=True, exist_ok=True)
        with locked(path):
            if (path / "run.json").exists():
                grown = ("request.tasks", "tasks") if _is_growing(request) else ()
                about = read_about(path, needs=("request", "versions", *grown))
                _check_same(path, about, request, facts)
                if _is_growing(request):
                    _write_about(path, _grown(about, request, facts))
            else:
                _write_about(path, {"schema_version": SCHEMA_VERSION, "request": request, **facts})
            folder = cls(path)
            try:
                yield folder
            finally:
                folder.flush()

    def episodes(self) -> pl.DataFrame:
        return load(self.path, self._kept)

    def note_design(self, rows: pl.DataFrame) -> None:
        """What the trials of a round are for; before they run, so that no episode is there without a reason."""
        try:
            write_design(self.path, rows)
        except OSError as error:
            raise Unsaved(f"{error}: the design of the next round is not saved in {self.path}") from error

    def append(self, episode: Episode) -> None:
        self._waiting.append(episode)
        if len(self._waiting) >= PART_EPISODES or time.monotonic() - self._written_s > PART_SECONDS:
            self.flush()

    def flush(self) -> None:
        if self._waiting:
            self.add(to_table(self._waiting))
            self._waiting.clear()
        self._written_s = time.monotonic()

    def add(self, episodes: pl.DataFrame) -> None:
        """Write a part of its own."""
        try:
            _write_table(self.path / "episodes" / f"part-{self._next_part:05}.parquet", episodes)
        except OSError as error:
            raise Unsaved(f"{error}: {len(episodes)} finished episodes are not saved in {self.path}") from error
        self._next_part += 1

    def compact(self) -> None:
        """One file in a fixed order, whatever the order in which the episodes came."""
        self.flush()
        parts = [part for part in parts_of(self.path) if part.name.startswith("part-")]
        if not parts:
            return
        _write_table(self.path / "episodes" / "all.parquet", self.episodes())
        # Should this be cut off here, the rows are there twice and are read once.
        for part in parts:
            part.unlink()


def digest(ids: Iterable[str]) -> str:
    return hashlib.blake2b("\n".join(sorted(ids)).encode(), digest_size=16).hexdigest()


def _write_table(path: Path, table: pl.DataFrame) -> None:
    # By way of memory: polars tells a full disk in its own words, the operating system in those everyone knows.
    buffer = io.BytesIO()
    table.select(*SCHEMA).write_parquet(buffer)
    files.write(path, buffer.getvalue())


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """Held by the process: a killed run leaves no lock behind."""
    with (path / ".lock").open("a+") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            lock.seek(0)
            raise RunConflict(f"{path} is being written by another run ({lock.read().strip() or 'unknown'})") from None
        lock.truncate(0)
        lock.write(f"process {os.getpid()} on {platform.node()}")
        lock.flush()
        yield


def is_surely_stopped(path: Path) -> bool:
    """Whether the process that wrote there last was of this machine, and is gone.

    Read, not locked: a run that starts just then would take that for another run.
    """
    lock = path / ".lock"
    with contextlib.suppress(OSError, ValueError):
        written = lock.read_text()[:LONGEST_LOCK] if lock.is_file() else ""
        if (found := re.fullmatch(r"process (\d{1,7}) on (.*)", written)) and found[2] == platform.node():
            try:
                os.kill(int(found[1]), 0)
            except ProcessLookupError:
                return True
    return False


def _write_about(path: Path, about: Mapping[str, Any]) -> None:
    files.write(path / "run.json", json.dumps(about, indent=2).encode())


def _is_growing(request: Mapping[str, Any]) -> bool:
    return "selectors" in request and not request["selectors"]


def _grown(about: Mapping[str, Any], request: Mapping[str, Any], facts: Mapping[str, Any]) -> dict[str, Any]:
    """With what is asked of the folder now; the tasks of what is there already stay."""
    tasks = {**about["request"]["tasks"], **request["tasks"]}
    return {
        **about,
        "request": {**about["request"], "tasks": tasks, "trials": request["trials"]},
        "tasks": {**about["tasks"], **facts["tasks"]},
    }


def _check_same(path: Path, about: Mapping[str, Any], request: Mapping[str, Any], facts: Mapping[str, Any]) -> None:
    there, here = about["request"], json.loads(json.dumps(request))
    if _is_growing(request):
        # Which trials there are is no reason to refuse, but the same task must have stayed the same.
        shared = here["tasks"].keys() & there["tasks"].keys()
        there, here = (
            {**each, "tasks": {task: each["tasks"][task] for task in shared}, "trials": None} for each in (there, here)
        )
    # The rest of a conflict follows from these; "trials" alone would tell a reader nothing.
    names = [*sorted({*there, *here} - {"trials"}), "trials"]
    changed = [name for name in names if there.get(name) != here.get(name)]
    if changed:
        stated = [name for name in changed if name != "trials"] or ["trials"]
        lines = "\n".join(line for name in stated for line in _differing(name, there.get(name), here.get(name)))
        raise RunConflict(f"{path} holds another run:\n{lines}\nChoose another folder with --out, or ask for the same.")
    before, now = about["versions"], facts["versions"]
    differing = [
        f"  {name}: {before.get(name)} there, {now[name]} here" for name in now if before.get(name) != now[name]
    ]
    if differing:
        lines = "\n".join(differing)
        raise RunConflict(
            f"{path} was begun with other versions, and bits may differ:\n{lines}\nChoose another folder."
        )


def _differing(name: str, there: object, here: object) -> list[str]:
    """Of what has parts, as the versions of tasks, those that differ."""
    if not (isinstance(there, Mapping) and isinstance(here, Mapping)):
        return [f"  {name}: {_short(there)} there, {_short(here)} asked"]
    parts = [part for part in sorted({*there, *here}) if there.get(part) != here.get(part)]
    lines = [f"  {name}, {part}: {_short(there.get(part))} there, {_short(here.get(part))} asked" for part in parts]
    return lines if len(lines) <= SHOWN_PARTS else [*lines[:SHOWN_PARTS], f"  and {len(lines) - SHOWN_PARTS} more"]


def _short(value: object) -> str:
    return shortened("none" if value is None else str(value), SHOWN_LETTERS)
