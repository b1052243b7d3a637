"""The command line as a user types it, judged by its output, exit code and files.

What a process of its own has no part in is called in this one, which is quicker; the examples are run in processes.
"""

from __future__ import annotations

import inspect
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import av
import polars as pl
import pytest
import typer

from robodx.cli.commands import app
from robodx.records.schema import TIMINGS
from robodx.records.table import load
from tests.commands import call

ROBODX = (sys.executable, "-c", "from robodx.cli import main; main()")
TASK = "primitive/press_switch"

PLUGIN = '''
"""Policies that misbehave, and one that takes its time."""
import os, pathlib, time
import numpy as np
from robodx import PolicySpec, policy

class Base:
    spec = PolicySpec(uses_language=False, state=())
    def reset(self, starts): pass
    def finish(self, ids): pass
    def act(self, observations):
        return [self.one(o) for o in observations]
    def one(self, o):
        return np.array([[0, 0, 0, 0, 0, 0, 1]], dtype=np.float32)

@policy("chatty")
class Chatty(Base):
    """Prints at every step."""
    def one(self, o):
        print("GARBAGE")
        return np.repeat(super().one(o), 400, axis=0)

@policy("nan")
class Nan(Base):
    """NaN at step 3."""
    def one(self, o):
        return super().one(o) * (np.float32("nan") if o.step == 3 else 1)

@policy("slow")
class Slow(Base):
    """Takes its time."""
    def one(self, o):
        time.sleep(0.02)
        return np.repeat(super().one(o), 20, axis=0)

@policy("killer", takes="FILE")
class Killer(Base):
    """Kills its worker the first time it is asked."""
    def __init__(self, file):
        self.file = pathlib.Path(file)
    def one(self, o):
        if not self.file.exists():
            self.file.touch()
            os.kill(os.getpid(), 9)
        return np.repeat(super().one(o), 400, axis=0)

@policy("deadly")
class Deadly(Base):
    """Kills every worker at seed 1."""
    def reset(self, starts):
        if starts[0].situation_seed == 1:
            os.kill(os.getpid(), 9)
    def one(self, o):
        return np.repeat(super().one(o), 400, axis=0)
'''


def robodx(*words: str | Path, cwd: Path, expect: int = 0, env: dict[str, str] | None = None) -> str:
    result = subprocess.run(
        [*ROBODX, *map(str, words)], cwd=cwd, env={**os.environ, **(env or {})}, text=True, capture_output=True,
        timeout=240,
    )  # fmt: skip
    assert result.returncode == expect, result.stdout + result.stderr
    return result.stdout + result.stderr


@pytest.fixture
def plugin(tmp_path: Path) -> Path:
    path = tmp_path / "misbehaving.py"
    path.write_text(PLUGIN)
    return path


def test_help_teaches_and_every_command_has_it(tmp_path: Path) -> None:
    text = robodx("--help", cwd=tmp_path)
    for command in ("list", "show", "run", "summary", "merge", "diff", "doctor"):
        assert command in text
        assert "Usage" in call(command, "--help", cwd=tmp_path)


def test_help_flows_and_loses_no_bracket(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "1000")
    group: Any = typer.main.get_command(app)
    commands: dict[tuple[str, ...], Any] = {(name,): command for name, command in group.commands.items()}
    commands |= {("data", name): command for name, command in commands.pop(("data",)).commands.items()}
    assert len(commands) > 20
    for words, command in commands.items():
        shown = call(*words, "--help", cwd=tmp_path)
        for paragraph in inspect.cleandoc(command.callback.__doc__).split("\n\n"):
            assert " ".join(paragraph.split()) in shown
        for parameter in command.params:
            assert parameter.help.replace("\\[", "[") in shown
    assert "pip install 'robodx[wandb]' or 'robodx[rerun]'." in call("export", "--help", cwd=tmp_path)


@pytest.mark.parametrize("kind", ["tasks", "policies", "robots", "perturbations", "suites", "cameras"])
def test_lists_are_there_for_people_and_programs(kind: str, tmp_path: Path) -> None:
    rows = json.loads(call("list", kind, "--json", cwd=tmp_path))
    first = next(iter(rows[0].values()))
    assert first in call("list", kind, cwd=tmp_path)


def test_one_two_and_shuffled_workers_give_the_same_run(tmp_path: Path) -> None:
    common = ("run", TASK, "control/stack_cube", "--policy", "expert", "--seeds", "4")
    call(*common, "--out", "one", cwd=tmp_path)
    robodx(*common, "--workers", "2", "--out", "two", cwd=tmp_path)
    call(*common, "--workers", "2", "--shuffle", "7", "--batch", "2", "--out", "mixed", cwd=tmp_path)
    assert "8 trajectories are the same, 0 differ." in call("diff", "one", "two", cwd=tmp_path)
    assert json.loads(call("diff", "one", "mixed", "--json", cwd=tmp_path))["is_same"]
    tables = [load(tmp_path / name).drop(TIMINGS) for name in ("one", "two")]
    assert tables[0].equals(tables[1])


def test_a_replay_moves_bit_for_bit_like_its_record(tmp_path: Path) -> None:
    call("run", TASK, "--policy", "expert", "--seeds", "2", "--out", "record", cwd=tmp_path)
    call("run", TASK, "--policy", "replay:record", "--seeds", "2", "--out", "replay", cwd=tmp_path)
    assert "2 trajectories are the same" in call("diff", "record", "replay", cwd=tmp_path)
    said = call("run", TASK, "--policy", "replay:record", "--seeds", "2", cwd=tmp_path)
    folder = "runs/primitive.press_switch+replay.record"
    assert said.endswith(
        f"Episodes: {folder}\nNext: robodx report {folder}, robodx view {folder}, robodx summary {folder}\n"
    )
    words = ("run", TASK, "--policy", "replay:record", "--seeds", "3", "--out", "more")
    text = call(*words, cwd=tmp_path, expect=1)
    assert "no primitive/press_switch at seed 2" in text


def test_parts_of_a_run_merge_into_the_whole(tmp_path: Path) -> None:
    common = ("run", "primitive", "--policy", "expert", "--seeds", "4")
    call(*common, "--out", "whole", cwd=tmp_path)
    for part in ("1", "2", "3"):
        said = call(*common, "--shard", f"{part}/3", "--out", f"part{part}", cwd=tmp_path)
        assert f"Episodes: part{part}\nNext: when all shards are done, robodx merge" in said
    parts = [load(tmp_path / f"part{part}") for part in (1, 2, 3)]
    assert sum(len(part) for part in parts) == 12 and max(len(part) for part in parts) < 12
    call("merge", "part1", "part2", "--out", "merged", cwd=tmp_path)
    text = call(*common, "--out", "merged", cwd=tmp_path)
    assert f"Resuming: {len(parts[0]) + len(parts[1])} of 12" in text, "the whole command runs what is missing"
    call("merge", "part1", "part2", "part3", "--out", "all", cwd=tmp_path)
    for name in ("merged", "all"):
        assert "12 trajectories are the same, 0 differ." in call("diff", "whole", name, cwd=tmp_path)
    assert "12 trajectories are the same" in call("diff", "whole", "all", cwd=tmp_path)
    call("run", "primitive", "--policy", "replay:all", "--seeds", "4", "--out", "replay", cwd=tmp_path)
    call("run", TASK, "--policy", "expert", "--seeds", "1", "--out", "other", cwd=tmp_path)
    text = call("merge", "part1", "other", "--out", "mixed", cwd=tmp_path, expect=2)
    assert "are not parts of one run" in text and "seeds: 4 / 1" in text
    assert not (tmp_path / "mixed").exists()


def test_diff_names_what_differs_and_exits_with_one(tmp_path: Path) -> None:
    call("run", TASK, "--policy", "expert", "--seeds", "2", "--out", "a", cwd=tmp_path)
    call("run", TASK, "--policy", "still", "--seeds", "1", "--out", "b", cwd=tmp_path)
    text = call("diff", "a", "b", cwd=tmp_path, expect=1)
    assert f"{TASK} seed 0 repeat 0: success" in text and "1 trials only in a" in text


def test_a_run_on_a_measured_clock_is_not_compared_bit_for_bit(tmp_path: Path) -> None:
    call("run", TASK, "--policy", "still", "--seeds", "1", "--clock", "realtime:measured", "--out", "a", cwd=tmp_path)
    assert "ran on a measured clock" in call("diff", "a", "a", cwd=tmp_path, expect=2)


def test_a_policy_in_the_users_folder_is_found_by_every_worker(tmp_path: Path) -> None:
    (tmp_path / "my_policy.py").write_text("from robodx.policies.still import StillPolicy as make\n")
    words = ("run", TASK, "--policy", "python:my_policy:make", "--seeds", "2", "--workers", "2", "--out", "run")
    assert "0%" in robodx(*words, cwd=tmp_path)


def test_summary_shows_rates_with_intervals(tmp_path: Path) -> None:
    call("run", TASK, "--policy", "expert", "--seeds", "3", "--out", "run", cwd=tmp_path)
    assert "100% [44, 100]" in call("summary", "run", cwd=tmp_path)
    report = json.loads(call("summary", "run", "--json", cwd=tmp_path))
    assert report["rows"][0]["success"] == pytest.approx({"value": 1.0, "low": 0.4385, "high": 1.0, "n": 3}, abs=1e-3)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("run", "control/stack_cub", "--policy", "expert"), 'Did you mean "control/stack_cube"'),
        (("run", "stack_cube", "--policy", "expert"), '"control/stack_cube"'),
        (("run", "contrl", "--policy", "expert"), 'Did you mean "control"'),
        (("run", TASK, "--policy", "exprt"), 'No policy "exprt". Did you mean "expert"'),
        (("run", TASK, "--policy", "replay"), "RUN is missing"),
        (("run", TASK, "--policy", "expert:3"), "takes no argument"),
        (("run", TASK, "--policy", "replay:nowhere"), "nowhere is not a run folder"),
        (("run", TASK, "--policy", "expert", "--perturb", "frame_dorp=v1"), 'Did you mean "frame_drop"'),
        (("run", TASK, "--policy", "expert", "--perturb", "frame_drop=v9"), 'No level of frame_drop "v9"'),
        (("run", TASK, "--policy", "expert", "--perturb", "frame_drop"), "has no level"),
        (("run", TASK, "--policy", "expert", "--robot", "pandas"), 'Did you mean "panda"'),
        (("run", TASK, "--policy", "expert", "--quality", "fst"), 'Did you mean "fast"'),
        (("run", TASK, "--policy", "expert", "--plugin", "no.py"), "no plugin file"),
        (("run", TASK, "--policy", "expert", "--clock", "realtme:1"), "There are: lockstep, realtime:SECONDS"),
        (("run", TASK, "--policy", "expert", "--clock", "realtime:measured", "--workers", "2"), "to itself"),
        (("run", TASK, "--policy", "expert", "--shard", "5/4"), "write K/N"),
        (("show", "control/stack_cub"), 'Did you mean "control/stack_cube"'),
        (("show", TASK, "--camera", "frnt", "-o", "x.png"), 'No camera "frnt". Did you mean "front"'),
        (("show", TASK, "-o", "x.gif"), "neither a .png"),
        (("list", "task"), 'Did you mean "tasks"'),
        (("summary", "nowhere"), "is not a run folder"),
        (("doctor", "--require", "gpu"), 'unknown requirement "gpu": --require takes gl'),
    ],
)
def test_a_mistake_is_told_in_a_line(words: tuple[str, ...], message: str, tmp_path: Path) -> None:
    text = call(*words, cwd=tmp_path, expect=2)
    assert message in text and "Traceback" not in text
    assert not list(tmp_path.iterdir()), "nothing is left behind"


def test_show_draws_a_picture_and_a_video_that_browsers_play(tmp_path: Path) -> None:
    text = robodx("show", TASK, "--camera", "all", "--size", "96", "-o", "x.png", cwd=tmp_path)
    assert '"Press the switch."' in text and "Wrote x.png" in text
    with av.open(str(tmp_path / "x.png")) as picture:
        # Above each stands of which camera it is, in a line of small letters.
        assert (picture.streams.video[0].width, picture.streams.video[0].height) == (3 * 96 + 8, 3 * (96 + 14) + 8)
        shown = next(picture.decode(video=0)).to_ndarray(format="rgb24")
    assert shown[:14, :96].min() == 0 and shown[:14, 96:100].min() == 255
    call("show", TASK, "--size", "96", "-o", "x.mp4", cwd=tmp_path)
    with av.open(str(tmp_path / "x.mp4")) as video:
        stream = video.streams.video[0]
        assert (stream.codec_context.name, stream.codec_context.pix_fmt) == ("h264", "yuv420p")
        assert stream.average_rate == 20
        frames = [frame.to_ndarray(format="rgb24") for frame in video.decode(stream)]
    assert len(frames) > 30 and abs(frames[-1].astype(int) - frames[0]).mean() > 1


def test_a_run_is_filmed_without_simulating_again(tmp_path: Path) -> None:
    common = ("run", TASK, "--policy", "expert", "--seeds", "2", "--out", "run")
    call(*common, cwd=tmp_path)
    call(*common, "--video", "1", cwd=tmp_path)
    (video,) = (tmp_path / "run/videos").iterdir()
    assert video.name.startswith("primitive.press_switch-seed0-success") and video.stat().st_size > 10_000


def test_the_same_command_resumes_and_another_is_refused(tmp_path: Path) -> None:
    common = ("run", TASK, "--policy", "expert", "--out", "run")
    call(*common, "--seeds", "2", cwd=tmp_path)
    before = (tmp_path / "run/episodes/all.parquet").read_bytes()
    assert "Resuming: 2 of 2 episodes are already done." in call(*common, "--seeds", "2", cwd=tmp_path)
    text = call(*common, "--seeds", "3", cwd=tmp_path, expect=2)
    assert "seeds: 2 there, 3 asked" in text
    assert (tmp_path / "run/episodes/all.parquet").read_bytes() == before


def test_a_nan_ends_that_trial_with_the_numbers(plugin: Path, tmp_path: Path) -> None:
    robodx("run", TASK, "--policy", "nan", "--seeds", "2", "--plugin", plugin, "--out", "run", cwd=tmp_path)
    table = load(tmp_path / "run")
    assert table["failure_kind"].to_list() == ["invalid_action"] * 2
    assert (
        "at step 3 the policy sent an action that is not finite at index [0, 1, 2, 3, 4, 5, 6]: [nan"
        in table["error"][0]
    )


@pytest.mark.parametrize("workers", [pytest.param("1", marks=pytest.mark.thorough), "2"])
def test_what_a_policy_prints_does_not_get_into_the_answer(workers: str, plugin: Path, tmp_path: Path) -> None:
    words = ("run", TASK, "--policy", "chatty", "--seeds", "2", "--workers", workers, "--plugin", plugin, "--json")
    result = subprocess.run([*ROBODX, *map(str, words)], cwd=tmp_path, text=True, capture_output=True, timeout=240)
    assert json.loads(result.stdout)["rows"][0]["timeouts"] == 2 and "GARBAGE" in result.stderr


def test_what_two_suites_ask_for_is_run_once(tmp_path: Path) -> None:
    words = ("run", TASK, "primitive", f"capability/{TASK}", "--policy", "expert", "--seeds", "1", "--out", "run")
    call(*words, cwd=tmp_path)
    assert len(load(tmp_path / "run")) == 3


def test_ctrl_c_keeps_what_is_finished_and_the_same_command_goes_on(plugin: Path, tmp_path: Path) -> None:
    words = ("run", TASK, "--policy", "slow", "--seeds", "6", "--workers", "2", "--plugin", plugin, "--out", "run")
    process = subprocess.Popen([*ROBODX, *map(str, words)], cwd=tmp_path, stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 60
    while len(list((tmp_path / "run/trajectories").glob("*.npz"))) < 3:
        assert time.monotonic() < deadline and process.poll() is None
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, text = process.communicate(timeout=30)
    assert process.returncode == 130 and "the same command resumes there" in text
    kept = load(tmp_path / "run")
    assert 0 < len(kept) < 6
    resumed = robodx(*words, cwd=tmp_path)
    assert f"Resuming: {len(kept)} of 6" in resumed
    whole = ("run", TASK, "--policy", "slow", "--seeds", "6", "--plugin", plugin, "--out", "whole")
    robodx(*whole, cwd=tmp_path)
    assert json.loads(call("diff", "run", "whole", "--json", cwd=tmp_path))["is_same"]


def test_a_killed_worker_is_replaced_and_its_trial_run_again(plugin: Path, tmp_path: Path) -> None:
    words = ("run", TASK, "--policy", f"killer:{tmp_path / 'killed'}", "--seeds", "6", "--plugin", plugin)
    robodx(*words, "--workers", "2", "--out", "run", cwd=tmp_path)
    table = load(tmp_path / "run")
    assert table["outcome"].to_list() == ["timeout"] * 6 and (tmp_path / "killed").exists()
    assert table["attempt"].max() == 2


def test_a_trial_that_kills_every_worker_is_an_error_and_costs_no_other(plugin: Path, tmp_path: Path) -> None:
    words = ("run", TASK, "--policy", "deadly", "--seeds", "4", "--plugin", plugin, "--workers", "2", "--out", "run")
    assert "Too many errors for a success rate: it is between 0% and 25% of 4" in robodx(*words, cwd=tmp_path, expect=1)
    table = load(tmp_path / "run").sort("seed")
    assert table.filter(pl.col("outcome") == "error")["seed"].to_list() == [1]
    assert "worker process died" in table["error"][1]


def test_without_gl_state_only_runs_work_and_cameras_say_what_to_install(tmp_path: Path) -> None:
    no_gl = {"MUJOCO_GL": "disable"}
    robodx("run", TASK, "--policy", "expert", "--seeds", "1", "--out", "run", cwd=tmp_path, env=no_gl)
    text = robodx("show", TASK, "-o", "x.png", cwd=tmp_path, expect=2, env=no_gl)
    assert "Traceback" not in text and "MUJOCO_GL" in text
    robodx("doctor", "--require", "gl", cwd=tmp_path, expect=1, env=no_gl)


def test_the_doctor_tells_versions_and_renderer(tmp_path: Path) -> None:
    facts = json.loads(robodx("doctor", "--require", "gl", "--json", cwd=tmp_path))
    assert facts["gl"]["is_available"] and facts["gl_renderer"] and facts["mujoco"].startswith("4.")
