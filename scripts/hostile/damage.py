"""Run folders that were truncated, overwritten, renamed or locked."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from hostile.places import ESCAPES, HUGE, TASK, Places

FINE, REFUSED, ANY = frozenset({0}), frozenset({1, 2}), frozenset({0, 1, 2})
# That each damage has.
COMMANDS = 4
Words = tuple[str, ...]


@dataclass(frozen=True)
class Damage:
    """What happened to a copy of the run, and which commands must notice it."""

    name: str
    do: Callable[[Path], object]
    # Reading it cannot be answered with what is there.
    summary: frozenset[int] = REFUSED
    # `diff` with the run that it was; what is damaged is not the same.
    diff: frozenset[int] = REFUSED
    # The same command again: goes on, or refuses.
    resume: frozenset[int] = ANY
    # The page tells what could not be read, and shows the rest.
    report: frozenset[int] = ANY
    needs_rights: bool = False

    def commands(self, run: Path) -> Iterator[tuple[Words, frozenset[int]]]:
        place = str(run)
        yield ("summary", place), self.summary
        yield ("diff", "run", place), self.diff
        yield ("report", place, "-o", f"{run.name}.html"), self.report
        yield ("run", TASK, "--policy", "still", "--seeds", "2", "--out", place), self.resume


def damage(one: Damage, places: Places, number: int) -> Path:
    copy = places.copy_of_run(f"{one.name.replace(' ', '_')}_{number}")
    one.do(copy)
    return copy.relative_to(places.folder)


def _table(run: Path) -> Path:
    return run / "episodes" / "all.parquet"


def _trajectory(run: Path) -> Path:
    return sorted((run / "trajectories").iterdir())[0]


def _cut(path: Path) -> None:
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2])


def _swap(run: Path) -> None:
    """One trajectory in the place of the other."""
    first, second = sorted((run / "trajectories").iterdir())
    shutil.copyfile(second, first)


def _folder(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    path.unlink(missing_ok=True)
    path.mkdir()
    (path / "inside").touch()


def _file(path: Path) -> None:
    shutil.rmtree(path)
    path.write_text("a file\n")


def _about(change: Callable[[dict[str, Any]], object]) -> Callable[[Path], None]:
    def do(run: Path) -> None:
        about = json.loads((run / "run.json").read_text())
        change(about)
        (run / "run.json").write_text(json.dumps(about))

    return do


def _says(content: str | bytes, name: str = "run.json") -> Callable[[Path], object]:
    return lambda run: (run / name).write_bytes(content if isinstance(content, bytes) else content.encode())


def _column(**columns: pl.Expr) -> Callable[[Path], None]:
    def do(run: Path) -> None:
        pl.read_parquet(_table(run)).with_columns(**columns).write_parquet(_table(run))

    return do


def _part(name: str) -> Callable[[Path], object]:
    """The table under the name of a part."""
    return lambda run: shutil.copyfile(_table(run), run / "episodes" / name)


def _loop(run: Path) -> None:
    _table(run).unlink()
    _table(run).symlink_to(_table(run))


DAMAGES = (
    Damage("a table cut off", lambda run: _cut(_table(run))),
    Damage("an empty table", lambda run: _table(run).write_bytes(b"")),
    Damage("a table of noise", lambda run: _table(run).write_bytes(bytes(range(256)) * 20)),
    Damage("a table that begins well", lambda run: _table(run).write_bytes(b"PAR1" + b"\xff" * 200 + b"PAR1")),
    Damage("a table of other columns", lambda run: pl.DataFrame({"a": [1]}).write_parquet(_table(run))),
    Damage("trials without ids", _column(trial_id=pl.lit(None, pl.String))),
    Damage("steps that are texts", _column(steps=pl.lit("many"))),
    Damage("an outcome of its own", _column(outcome=pl.lit(ESCAPES))),
    Damage("a task with escape codes", _column(task=pl.lit(ESCAPES)), summary=ANY),
    Damage("seeds that are negative", _column(seed=pl.lit(-1, pl.Int64))),
    Damage("a table that is a folder", lambda run: _folder(_table(run))),
    Damage("a table that points at itself", _loop),
    Damage("episodes that are a file", lambda run: _file(run / "episodes")),
    # Whose file would be read twice, and the same run is then told.
    Damage("a part with Arabic digits", _part("part-٣.parquet"), summary=ANY, diff=ANY),
    Damage("a part with a square", _part("part-²³.parquet"), summary=ANY, diff=ANY),
    Damage("a part without a number", _part("part-.parquet"), summary=ANY, diff=ANY),
    Damage("a part with a huge number", _part(f"part-{HUGE}.parquet"), summary=ANY, diff=ANY),
    Damage("a part with no text as name", _part("part-\udcff.parquet"), summary=ANY, diff=ANY),
    Damage(
        "a leftover of a write", _part(".part-00001.parquet.1.part"), summary=FINE, diff=FINE, resume=FINE, report=FINE
    ),
    Damage("a locked table", lambda run: _table(run).chmod(0), needs_rights=True, resume=REFUSED),
    Damage("locked episodes", lambda run: (run / "episodes").chmod(0), needs_rights=True, resume=REFUSED),
    Damage("a locked run", lambda run: run.chmod(0), needs_rights=True, resume=REFUSED),
    Damage("a locked description", lambda run: (run / "run.json").chmod(0), needs_rights=True, resume=REFUSED),
    Damage("a locked design", lambda run: (run / "design.parquet").chmod(0), needs_rights=True, resume=REFUSED),
    Damage(
        "a run that cannot be written",
        lambda run: run.chmod(0o500),
        summary=FINE,
        diff=FINE,
        report=FINE,
        needs_rights=True,
    ),
    Damage("no description", lambda run: (run / "run.json").unlink()),
    Damage("an empty description", _says(""), resume=REFUSED),
    Damage("a description of noise", _says(b"\xff\xfe\x00"), resume=REFUSED),
    Damage("a description that is a list", _says("[]"), resume=REFUSED),
    Damage("a description that is deep", _says("[" * 100_000), resume=REFUSED),
    Damage("a description that is a folder", lambda run: _folder(run / "run.json"), resume=REFUSED),
    Damage("a description with a huge number", _says('{"schema_version": 1e999}'), resume=REFUSED),
    Damage("a description without a request", _about(lambda about: about.pop("request")), summary=ANY, diff=ANY),
    Damage("a request that is a text", _about(lambda about: about.update(request=ESCAPES)), resume=REFUSED),
    Damage(
        "a policy with escape codes",
        _about(lambda about: about["request"].update(policy=ESCAPES)),
        summary=ANY,
        diff=ANY,
        resume=REFUSED,
    ),
    Damage(
        "seeds that are not a number", _about(lambda about: about["request"].update(seeds=float("nan"))), resume=REFUSED
    ),
    Damage("a later schema", _about(lambda about: about.update(schema_version=99)), resume=REFUSED),
    Damage("a schema that is a text", _about(lambda about: about.update(schema_version="four")), resume=REFUSED),
    Damage(
        "versions with escape codes",
        _about(lambda about: about["versions"].update(robodx=ESCAPES)),
        summary=ANY,
        diff=ANY,
        resume=REFUSED,
    ),
    Damage("no design", lambda run: (run / "design.parquet").unlink(), summary=ANY, diff=ANY),
    Damage("a design cut off", lambda run: _cut(run / "design.parquet")),
    Damage("a design of noise", _says(b"\x00" * 100, "design.parquet")),
    Damage("no trajectories", lambda run: shutil.rmtree(run / "trajectories"), summary=ANY),
    Damage("a trajectory less", lambda run: _trajectory(run).unlink(), summary=ANY),
    Damage("a trajectory cut off", lambda run: _cut(_trajectory(run)), summary=ANY),
    Damage("an empty trajectory", lambda run: _trajectory(run).write_bytes(b""), summary=ANY),
    Damage("a trajectory of another trial", _swap, summary=ANY),
    Damage("trajectories that are a file", lambda run: _file(run / "trajectories"), summary=ANY),
    Damage("a lock that is a folder", lambda run: _folder(run / ".lock"), summary=ANY, diff=ANY, resume=REFUSED),
    Damage("a page that is a folder", lambda run: _folder(run / "report.html"), summary=FINE, diff=FINE),
)
