"""What the operating system does not let one read is called unreadable, with its path and the reason, never empty."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from robodx.records.about import UnreadableRun
from robodx.records.design import read_design
from robodx.records.folder import RunFolder
from robodx.records.table import is_finished, load, load_readable, parts_of
from robodx.report.material import gather
from robodx.report.viewer.library import Library
from robodx.video.filming import film_trials
from tests.commands import call
from tests.viewing import episode, write_run


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return write_run(tmp_path / "run", [episode(1), episode(2, success=True)])


def refuse(monkeypatch: pytest.MonkeyPatch, path: Path, number: int) -> None:
    """As the operating system does; the rights of files do not bind the superuser, who may run these tests."""

    def refusing(function: Callable[..., object]) -> Callable[..., object]:
        def asked(place: Path, *given: object, **named: object) -> object:
            if Path(place) == path:
                raise OSError(number, os.strerror(number), str(path))
            return function(place, *given, **named)

        return asked

    for owner, name in ((os, "listdir"), (Path, "read_bytes"), (Path, "read_text"), (Path, "open")):
        monkeypatch.setattr(owner, name, refusing(getattr(owner, name)))


READERS: tuple[Callable[[Path], object], ...] = (load, is_finished, RunFolder, lambda run: gather([run]))


@pytest.mark.parametrize("number", [errno.EACCES, errno.ESTALE, errno.EIO])
def test_a_folder_of_episodes_that_cannot_be_read_is_not_taken_for_an_empty_one(
    run: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    refuse(monkeypatch, run / "episodes", number)
    for read in READERS:
        with pytest.raises(UnreadableRun, match=f"run/episodes cannot be read: {os.strerror(number)}"):
            read(run)
    told: list[str] = []
    assert list(film_trials(run, ["x"], told.append)) == []
    assert "run/episodes cannot be read" in told[0]


@pytest.mark.parametrize("is_there", [True, False])
def test_a_run_without_a_folder_of_episodes_is_not_taken_for_an_empty_one(run: Path, is_there: bool) -> None:
    shutil.rmtree(run / "episodes")
    if is_there:
        (run / "episodes").write_bytes(b"")
    why = "Not a directory" if is_there else "No such file or directory"
    said = call("summary", run, cwd=run, expect=2)
    assert f"run/episodes cannot be read: {why}" in said and "No episodes" not in said


@pytest.mark.parametrize("name", ["run.json", "design.parquet", "episodes/all.parquet"])
def test_a_file_that_may_not_be_read_is_not_called_damaged(
    run: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    (run / name).touch()
    refuse(monkeypatch, run / name, errno.EACCES)
    said = call("summary", run, cwd=run, expect=2)
    assert f"{name} cannot be read: Permission denied" in said
    assert "damaged" not in said and "Move it away" not in said


def test_the_viewer_tells_what_cannot_be_read(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.rmtree(run / "episodes")
    (run / "episodes").write_bytes(b"")
    (line,) = Library(run.parent).summaries()
    assert line["problems"] == ["run/episodes cannot be read: Not a directory"]


@pytest.mark.parametrize("name", ["part-²³", "part-٣٤", "part-" + "9" * 230, "part-", "part-x"])
def test_a_part_with_a_strange_number_is_read_and_left_alone(run: Path, name: str) -> None:
    (run / "episodes" / "all.parquet").rename(run / "episodes" / f"{name}.parquet")
    folder = RunFolder(run)
    folder.add(load(run))
    assert {path.name for path in parts_of(run)} == {f"{name}.parquet", "part-00001.parquet"}
    assert len(load(run)) == 2


def test_a_run_may_lie_in_a_folder_whose_name_reads_as_a_pattern(tmp_path: Path) -> None:
    run = write_run(tmp_path / "a*[b]", [episode(1)])
    write_run(tmp_path / "axb", [episode(2)])
    assert load(run)["seed"].to_list() == [1]


def test_parts_that_are_put_together_while_they_are_read_are_not_missed(
    run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, part = run / "episodes" / "all.parquet", run / "episodes" / "part-00001.parquet"
    whole.rename(part)
    read_bytes = Path.read_bytes

    def read_late(path: Path) -> bytes:
        if path == part:
            part.rename(whole)
        return read_bytes(path)

    monkeypatch.setattr(Path, "read_bytes", read_late)
    assert len(load(run)) == 2
    assert load_readable([part])[1] == [f"{part} cannot be read: No such file or directory"]


@pytest.mark.parametrize("read", [load, read_design])
def test_a_table_is_not_called_damaged_for_an_interrupt(
    run: Path, read: Callable[[Path], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise pl.exceptions.PanicException("called `Result::unwrap()` on an `Err` value: KeyboardInterrupt")

    (run / "design.parquet").touch()
    monkeypatch.setattr(pl, "read_parquet", interrupted)
    with pytest.raises(KeyboardInterrupt):
        read(run)


def test_the_report_says_what_it_could_not_read(run: Path, tmp_path: Path) -> None:
    (run / "run.json").write_text("{")
    assert "run.json" in call("report", run, "-o", "page.html", cwd=tmp_path)
