"""Trajectory files are part of the record: diff finds those that are not what was recorded, and resuming mends them."""

from __future__ import annotations

import errno
import json
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from robodx.analysis.diff import diff
from robodx.records.about import UnreadableRun
from robodx.records.episode import Episode
from robodx.records.table import load
from robodx.records.trajectory import DAMAGED, Trajectory, stored_digest
from robodx.records.trial import Trial
from robodx.running import run as running
from robodx.running.request import Request
from robodx.running.rollout import lost
from robodx.running.run import run
from tests.commands import call

REQUEST = Request(("primitive/press_switch",), "expert", 3)
Damage = Callable[[Path, Path], object]


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("trajectories") / "run"
    run(REQUEST, folder)
    return folder


@pytest.fixture
def copies(original: Path, tmp_path: Path) -> tuple[Path, Path]:
    for name in "ab":
        shutil.copytree(original, tmp_path / name)
    return tmp_path / "a", tmp_path / "b"


def file_of(folder: Path, seed: int) -> Path:
    (trial_id,) = load(folder).filter(pl.col("seed") == seed)["trial_id"]
    return folder / "trajectories" / f"{trial_id}.npz"


def flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 0xFF
    path.write_bytes(content)


DAMAGES: list[tuple[Damage, str]] = [
    (lambda path, other: path.unlink(), "is missing"),
    (lambda path, other: path.write_bytes(path.read_bytes()[:-100]), "is damaged: "),
    (lambda path, other: path.write_bytes(b""), "is damaged: "),
    (lambda path, other: flip(path), "is damaged: "),
    (lambda path, other: shutil.copyfile(other, path), "holds another episode than the table"),
]


@pytest.mark.parametrize(("damage", "why"), DAMAGES)
@pytest.mark.parametrize("which", [0, 1])
def test_diff_tells_of_each_file_that_does_not_hold_what_was_recorded(
    copies: tuple[Path, Path], damage: Damage, why: str, which: int
) -> None:
    assert diff(*copies).is_same
    path = file_of(copies[which], 1)
    damage(path, file_of(copies[which], 2))
    found = diff(*copies)
    assert not found.is_same and (found.same, found.different) == (2, ())
    (line,) = found.unsound
    assert line.startswith(f"{path} {why}")
    assert diff(*copies, by_tables=True).is_same


def test_the_command_tells_it_too_and_ends_with_1(copies: tuple[Path, Path]) -> None:
    a, b = copies
    assert call("diff", a, b, cwd=a).strip().endswith("3 trajectories are the same, 0 differ.")
    shutil.rmtree(b / "trajectories")
    said = call("diff", a, b, cwd=a, expect=1)
    assert said.count("is missing") == 3
    assert "0 trajectories are the same, 0 differ, 3 files do not hold what was recorded." in said
    assert len(json.loads(call("diff", a, b, "--json", cwd=a, expect=1))["unsound"]) == 3
    assert "3 trajectories are the same" in call("diff", a, b, "--tables", cwd=a)


@pytest.mark.parametrize(("damage", "why"), DAMAGES)
def test_resuming_runs_again_what_has_lost_its_trajectory_and_says_so(
    copies: tuple[Path, Path], damage: Damage, why: str
) -> None:
    a, b = copies
    damage(file_of(a, 1), file_of(a, 2))
    told: list[str] = []
    counts: list[tuple[int, int]] = []
    table = run(
        REQUEST, a, tell=told.append, observers=[lambda episode, *, done, total, solved: counts.append((done, solved))]
    )
    assert told[0].startswith(f"Running 1 episode again: {file_of(a, 1)} {why}") and len(told) == 1
    assert counts == [(2, 2), (3, 3)]
    assert diff(a, b).is_same and table.sort("seed")["attempt"].to_list() == [1, 2, 1]
    run(REQUEST, a, tell=told.append)
    assert len(told) == 1, "then all is there"


def test_merging_tells_of_files_that_are_not_what_was_recorded(copies: tuple[Path, Path], tmp_path: Path) -> None:
    file_of(copies[0], 1).unlink()
    said = call("merge", copies[0], "--out", tmp_path / "whole", cwd=tmp_path)
    assert f"{file_of(tmp_path / 'whole', 1)} is missing" in said and "3 episodes" in said
    told: list[str] = []
    run(REQUEST, tmp_path / "whole", tell=told.append)
    assert len(told) == 1 and diff(tmp_path / "whole", copies[1]).is_same


def executed(monkeypatch: pytest.MonkeyPatch, outcome: Callable[[Trial], Episode]) -> None:
    def execute(trials: list[Trial], **_: object) -> Iterator[Episode]:
        return map(outcome, trials)

    monkeypatch.setattr(running, "execute", execute)


def test_an_error_does_not_take_the_place_of_what_is_recorded(
    copies: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    before = load(copies[0])
    file_of(copies[0], 1).unlink()
    executed(monkeypatch, lambda trial: lost(trial, "the server is gone", 1, 0.0))
    assert run(REQUEST, copies[0]).equals(before)


def test_what_goes_otherwise_the_second_time_is_told(
    copies: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    file_of(copies[0], 1).unlink()
    executed(monkeypatch, lambda trial: replace(lost(trial, "", 1, 0.0), outcome="timeout", trajectory_hash="other"))
    told: list[str] = []
    table = run(REQUEST, copies[0], tell=told.append)
    assert told[1] == "primitive/press_switch seed 1 went differently: the new result counts."
    assert table.sort("seed")["outcome"].to_list() == ["success", "timeout", "success"]


def test_a_file_that_may_not_be_read_is_not_run_again(
    copies: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    path, read_bytes = file_of(copies[0], 1), Path.read_bytes

    def refuse(asked: Path) -> bytes:
        if asked == path:
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
        return read_bytes(asked)

    monkeypatch.setattr(Path, "read_bytes", refuse)
    for read in (lambda: run(REQUEST, copies[0]), lambda: diff(*copies)):
        with pytest.raises(UnreadableRun, match=r"\.npz cannot be read: Permission denied"):
            read()


def test_the_digest_of_a_file_is_that_of_what_it_holds(original: Path) -> None:
    path = file_of(original, 0)
    content, digest = path.read_bytes(), Trajectory.load(path).digest()
    assert stored_digest(content) == digest
    # Whichever byte is another: the same motion, or one of the errors that are called damage.
    for place in range(0, len(content), max(1, len(content) // 200)):
        flipped = bytearray(content)
        flipped[place] ^= 0xFF
        with suppress(*DAMAGED):
            assert stored_digest(bytes(flipped)) == digest
