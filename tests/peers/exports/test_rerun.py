"""rerun's own reader reads the recordings."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rerun.chunk import RrdReader

from robodx.records.trajectory import Trajectory
from tests.commands import call


def columns(file: Path) -> dict[str, dict[str, list[Any]]]:
    """By entity, then by component or timeline: the rows."""
    found: dict[str, dict[str, list[Any]]] = {}
    for chunk in RrdReader(file).stream():
        for name, values in chunk.to_record_batch().to_pydict().items():
            found.setdefault(chunk.entity_path, {})[name] = values
    return found


@pytest.fixture(scope="module")
def recording(run: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("rerun-out") / "one.rrd"
    call("export", run, "--to", "rerun", "--trial", "012345", "-o", out, cwd=out.parent)
    return out


def test_the_recording_is_whole_and_named(recording: Path) -> None:
    (store,) = RrdReader(recording).recordings()
    assert (store.application_id, store.recording_id) == ("robodx", "0123456789abcdef")
    properties = columns(recording)["/__properties/episode"]
    assert properties["task"] == [["control/lift"]] and properties["outcome"] == [["failure"]]
    verify = [str(Path(sys.executable).with_name("rerun")), "rrd", "verify", str(recording)]
    subprocess.run(verify, check=True)


def test_tool_and_things_are_where_they_were(recording: Path, moved: Trajectory) -> None:
    found = columns(recording)
    tool, cube = found["/world/tools/gripper"], found[r"/world/things/red\/cube"]
    assert np.allclose(tool["Transform3D:translation"], moved.tool_in_world[:, :1, :3])
    assert np.allclose(cube["Transform3D:translation"], moved.qpos[:, None, 9:12])
    # Unit quaternions without a turn, the real part last.
    assert np.allclose(cube["Transform3D:quaternion"], [0, 0, 0, 1])
    strip = np.array(found[r"/world/tool\ paths/gripper"]["LineStrips3D:strips"]).reshape(-1, 3)
    assert np.allclose(strip, moved.tool_in_world[:, 0, :3])


def test_both_timelines_are_those_of_the_episode(recording: Path, moved: Trajectory) -> None:
    stage = columns(recording)["/stage"]
    assert stage["step"] == list(range(len(moved.time_s)))
    assert np.allclose([one.total_seconds() for one in stage["time"]], moved.time_s)
    assert [one[0] for one in stage["Scalars:scalars"]] == moved.stage.tolist()
    # No clock of the export.
    assert all("log_time" not in each for each in columns(recording).values())


def test_actions_are_there_once_the_policy_sent_some(recording: Path, moved: Trajectory) -> None:
    found = {path: each for path, each in columns(recording).items() if path.startswith("/actions/")}
    assert [path.rpartition("/")[2] for path in found] == ["x", "y", "z", "qw", "qx", "qy", "qz", "grip"]
    for at, each in enumerate(found.values()):
        assert each["step"] == list(range(3, len(moved.actions)))
        assert np.allclose(np.ravel(each["Scalars:scalars"]), moved.actions[3:, at])


def test_instruction_and_events_are_told_when_they_happened(recording: Path) -> None:
    found = columns(recording)
    told, events = found["/instruction"], found["/events"]
    assert list(zip(told["step"], told["TextDocument:text"], strict=True)) == [(0, ["Lift the cube."]), (12, ["=1+1"])]
    assert list(zip(events["step"], events["TextLog:text"], events["TextLog:level"], strict=True)) == [
        (10, ["grasp red/cube"], ["INFO"]),
        (15, ["drop red/cube"], ["WARN"]),
        (15, ["failure: motor: drop: the cube was dropped"], ["ERROR"]),
    ]


def test_the_film_runs_with_the_episode(recording: Path, run: Path, moved: Trajectory) -> None:
    film = columns(recording)["/film"]
    (original,) = (run / "videos").glob("*.mp4")
    assert bytes(np.ravel(film["AssetVideo:blob"][0]).astype(np.uint8)) == original.read_bytes()
    shown_s = np.ravel(film["VideoFrameReference:timestamp"]) / 1e9
    assert len(shown_s) == len(moved.time_s) and np.allclose(shown_s, moved.time_s)


def test_failures_are_recorded_into_a_folder_by_default(run: Path, tmp_path: Path) -> None:
    said = call("export", run, "--to", "rerun", "--failures", "9", cwd=tmp_path, expect=2)
    # Of the other policy's failure there is no trajectory.
    assert "the trajectory of trial vision-control/lift-0-0- is missing" in said and not list(run.glob("*rerun*"))
    call("export", run, "--to", "rerun", "--trial", "0123", cwd=tmp_path)
    assert [path.name for path in (run / "both-rerun").iterdir()] == ["control.lift-seed0-failure-012345.rrd"]


def test_a_damaged_film_is_told_in_a_line(run: Path, tmp_path: Path, failed: dict[str, Any]) -> None:
    copy = shutil.copytree(run, tmp_path / "copy")
    next((copy / "videos").iterdir()).write_bytes(b"no film")
    said = call("export", copy, "--to", "rerun", "--trial", failed["trial_id"], cwd=tmp_path, expect=2)
    assert "cannot be recorded" in said and len(said.splitlines()) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["copy"]
