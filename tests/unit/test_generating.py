"""Data sets of the expert's demonstrations: what is in them, and how they are made in spite of interruptions."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from robodx.datasets.formats.base import locate, open_data
from robodx.datasets.schema import DataSet, Video
from robodx.datasets.survey import survey
from robodx.datasets.videos import encode, pictures
from robodx.errors import UserError
from robodx.perturbations.base import PERTURBATIONS, Draws
from robodx.policy_contract import Observation
from robodx.records.folder import locked
from robodx.records.trial import Trial
from robodx.running.environment import Environment
from robodx.running.generating import UNFINISHED, Generated, Generation, record, write
from robodx.running.run import Execution
from robodx.sim.rooms import FAMILIAR_ROOMS, UNSEEN_ROOMS
from robodx.sim.scene import Arena, Scene
from robodx.streams import FIRST_TRAINING_SEED, Streams
from robodx.tasks.base import TASKS
from tests.commands import call

TASK = "primitive/press_switch"
SMALL = Generation((TASK,), 2, cameras="front@32,wrist@16")


def generated(asked: Generation, out: Path, form: str = "lerobot", **more: Any) -> Generated:
    return write(record(asked, out, form, **more))


def numbers(data: DataSet) -> list[tuple[bytes, bytes, tuple[str, ...]]]:
    every = [data[place] for place in range(len(data))]
    return [(one.state["state"].tobytes(), one.action.tobytes(), one.instructions) for one in every]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("made") / "small.lerobot"
    generated(SMALL, out)
    return out


def test_a_data_set_holds_solved_episodes_on_training_seeds(made: Path) -> None:
    data = open_data(str(made))
    assert [one.metadata["seed"] for one in map(data.__getitem__, (0, 1))] == [FIRST_TRAINING_SEED + n for n in (0, 1)]
    first = data[0]
    assert first.is_solved and not first.success[:-1].any() and first.metadata["task"] == TASK  # type: ignore[index]
    assert data.features.cameras == {"front": (32, 32), "wrist": (16, 16)} and data.features.hz == 20
    assert data.features.state["state"][:8] == ("x", "y", "z", "qw", "qx", "qy", "qz", "opening")
    assert len(data.features.state["state"]) == first.state["state"].shape[1] == 15
    # The tool goes where the action says: an absolute pose.
    way = first.state["state"][1:, :3] - first.action[:-1, :3]
    assert np.abs(way).max() < 0.03 < np.abs(first.action[0, :3] - first.action[-1, :3]).max()
    # Of the two quaternions of a rotation, that of the state.
    assert ((first.state["state"][:, 3:7] * first.action[:, 3:7]).sum(axis=1) > 0).all()


def test_its_card_says_what_is_in_it_and_how_to_load_it(made: Path) -> None:
    card = (made / "README.md").read_text()
    frames = sum(len(one) for one in map(open_data(str(made)).__getitem__, (0, 1)))
    for text in (f"| {TASK} | 2 | {frames} | 0 |", "license: apache-2.0", "LeRobotDataset(", "`wrist` 16×16", "20 Hz"):
        assert text in card, text
    assert not (made.parent / f"{made.name}{UNFINISHED}").exists()


def test_the_same_command_gives_the_same_numbers_in_any_format(made: Path, tmp_path: Path) -> None:
    generated(SMALL, tmp_path / "again.hdf5", "hdf5")
    again, data = open_data(str(tmp_path / "again.hdf5")), open_data(str(made))
    assert numbers(again) == numbers(data)
    exact, coded = again[0].images["front"].all(), data[0].images["front"].all()
    assert np.abs(exact.astype(float) - coded).mean() < 4 and exact.std() > 10


def test_an_episode_that_erred_is_no_failure_of_the_expert_and_is_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out, whole = tmp_path / "small.lerobot", Environment.observe

    def lost(self: Environment) -> Observation:
        if self.trial.seed == FIRST_TRAINING_SEED + 1:
            raise RuntimeError("the renderer is lost")
        return whole(self)

    with monkeypatch.context() as patch:
        patch.setattr(Environment, "observe", lost)
        with pytest.raises(UserError, match=r"1 of 2 episodes ended in an error.*the renderer is lost"):
            record(SMALL, out, "lerobot", Execution(retries=0))
    assert not out.exists()
    assert generated(SMALL, out).episodes == 2


def test_a_second_process_in_the_same_place_is_refused_and_what_a_dead_one_left_is_removed(tmp_path: Path) -> None:
    out = tmp_path / "small.lerobot"
    left = tmp_path / ".part-999999999-small.lerobot"
    left.mkdir()
    unfinished = tmp_path / f"small.lerobot{UNFINISHED}"
    unfinished.mkdir()
    with locked(unfinished), pytest.raises(UserError, match="is being written by another run"):
        record(SMALL, out, "lerobot")
    generated(SMALL, out)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["small.lerobot"]


def test_the_card_of_a_file_lies_beside_it_and_is_shown(tmp_path: Path) -> None:
    generated(replace(SMALL, episodes=1), tmp_path / "small.hdf5", "hdf5")
    assert "h5py.File" in (tmp_path / "small.hdf5.md").read_text()
    assert any("# small.hdf5" in line for line in shown_card(tmp_path / "small.hdf5"))


def shown_card(path: Path) -> list[str]:
    located = locate(str(path))
    return survey(located, located.format.read(located.path)).card


def test_gr00t_is_told_which_numbers_move_the_gripper(tmp_path: Path) -> None:
    generated(replace(SMALL, episodes=1), tmp_path / "small.v21", "lerobot-v2.1")
    told = json.loads((tmp_path / "small.v21" / "meta" / "modality.json").read_text())
    assert told["action"] == {"arm": {"start": 0, "end": 7}, "gripper": {"start": 7, "end": 8}}


def test_lossless_videos_give_back_the_very_pictures(tmp_path: Path) -> None:
    images = np.random.default_rng(0).integers(0, 256, (5, 16, 24, 3), dtype=np.uint8)
    encode(tmp_path / "v.mp4", images, 10.0, is_lossless=True)
    np.testing.assert_array_equal(pictures(Video(tmp_path / "v.mp4"), 5, 10.0).read([4, 0, 2]), images[[4, 0, 2]])


def test_at_half_the_rate_every_second_step_is_kept_with_where_the_expert_goes_until_the_next(
    made: Path, tmp_path: Path
) -> None:
    generated(replace(SMALL, hz=10, episodes=1), tmp_path / "slow.lerobot")
    whole, half = open_data(str(made))[0], open_data(str(tmp_path / "slow.lerobot"))[0]
    np.testing.assert_array_equal(half.state["state"], whole.state["state"][::2])
    np.testing.assert_allclose(np.abs(half.action[:-1]), np.abs(whole.action[1 : 2 * len(half) - 1 : 2]))
    np.testing.assert_array_equal(half.action[-1, :3], whole.action[-1, :3])
    assert half.is_solved


def test_every_second_episode_is_disturbed_and_its_action_is_what_the_expert_answers(
    made: Path, tmp_path: Path
) -> None:
    generated(replace(SMALL, disturb_m=0.006), tmp_path / "d.lerobot")
    clean, data = open_data(str(made)), open_data(str(tmp_path / "d.lerobot"))
    assert [data[place].metadata["disturb_m"] for place in (0, 1)] == [0.0, 0.006]
    assert numbers(data)[0] == numbers(clean)[0]
    disturbed = data[1]
    off_m = np.abs(disturbed.state["state"][5:, :3] - disturbed.action[4:-1, :3]).mean()
    usual_m = np.abs(clean[1].state["state"][5:, :3] - clean[1].action[4:-1, :3]).mean()
    assert off_m > usual_m + 0.002 and disturbed.is_solved


def test_half_of_the_episodes_are_in_random_rooms_whether_disturbed_or_not(made: Path, tmp_path: Path) -> None:
    asked = replace(SMALL, episodes=4, disturb_m=0.006, has_random_rooms=True)
    generated(asked, tmp_path / "r.lerobot")
    usual, data = open_data(str(made)), open_data(str(tmp_path / "r.lerobot"))
    told = [(data[place].metadata["disturb_m"] > 0, data[place].metadata["has_random_room"]) for place in range(4)]
    assert told == [(False, False), (True, False), (False, True), (True, True)]
    assert numbers(data)[0] == numbers(usual)[0]
    rooms = [TASKS[TASK].situation(one.seed).scene for one in asked.trials()]
    drawn = [_scene(one) for one in asked.trials()]
    assert drawn[:2] == rooms[:2]
    listed = [room.arena for room in (*FAMILIAR_ROOMS, *UNSEEN_ROOMS)]
    assert drawn[2].arena != drawn[3].arena and not any(one.arena in listed for one in drawn[2:])
    # Nothing else of the situation is touched.
    assert [replace(one, arena=Arena(), lights=()) for one in drawn] == [
        replace(one, arena=Arena(), lights=()) for one in rooms
    ]


def _scene(trial: Trial) -> Scene:
    scene = TASKS[trial.task].situation(trial.seed).scene
    for name, value in trial.perturbations:
        scene = PERTURBATIONS[name].cls(value, Draws(Streams(trial.seed), name), 0.05).scene(scene)
    return scene


def test_what_was_interrupted_goes_on_and_nothing_is_lost_or_doubled(made: Path, tmp_path: Path) -> None:
    seen: list[str] = []

    def stopping(episode: Any, **_: Any) -> None:
        if episode is not None:
            seen.append(episode.trial_id)
            raise KeyboardInterrupt

    out = tmp_path / "small.lerobot"
    with pytest.raises(KeyboardInterrupt):
        generated(SMALL, out, observers=[stopping])
    assert not out.exists() and (tmp_path / f"small.lerobot{UNFINISHED}").is_dir()
    with pytest.raises(UserError, match=r"another command \(hz was 20, now 10\)"):
        record(replace(SMALL, hz=10), out, "lerobot")
    generated(SMALL, out, observers=[lambda episode, **_: seen.append(episode.trial_id) if episode else None])
    assert len(seen) == len(set(seen)) == 2
    assert numbers(open_data(str(out))) == numbers(open_data(str(made)))
    with pytest.raises(UserError, match="is there already"):
        record(SMALL, out, "lerobot")


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"first_seed": 0}, "training seeds, from 1000000 on, not of 0"),
        ({"hz": 7}, "a rate of 7 Hz: .* 1, 2, 4, 5, 10, 20"),
        ({"cameras": "front"}, '"front" is no camera with a size'),
        ({"cameras": "front@31"}, "odd side"),
        ({"cameras": "front@7777"}, '"front@7777": a picture of 7777×7777: each side must be 1 to 2048'),
        ({"cameras": "front@0"}, '"front@0": a picture of 0×0: each side must be 1 to 2048'),
        ({"cameras": "front@32,front@16"}, "asked for twice"),
        ({"episodes": None}, "how many episodes a task"),
    ],
)
def test_what_cannot_be_generated_is_refused_at_once(wrong: dict[str, Any], says: str) -> None:
    with pytest.raises(UserError, match=says):
        replace(SMALL, **wrong)


@pytest.mark.parametrize("command", [("generate", TASK, "--episodes", "1"), ("data", "convert", "made.lerobot")])
def test_a_file_of_a_format_has_the_ending_by_which_it_is_found(command: tuple[str, ...], tmp_path: Path) -> None:
    target = ("demos",) if command[0] == "data" else ("--out", "demos")
    said = call(*command, *target, "--format", "hdf5", cwd=tmp_path, expect=2)
    assert "demos is no name of a data set of format hdf5: it must end in .hdf5 or .h5" in said and not list(
        tmp_path.iterdir()
    )


@pytest.mark.parametrize("content", ["", '{"hz": 2', "[]", "\x00"])
def test_a_damaged_note_of_what_was_asked_is_told(content: str, tmp_path: Path) -> None:
    folder = tmp_path / f"x.lerobot{UNFINISHED}"
    folder.mkdir()
    (folder / "generation.json").write_text(content)
    with pytest.raises(UserError, match=r"generation\.json is damaged.*remove .*unfinished and begin anew"):
        record(SMALL, tmp_path / "x.lerobot", "lerobot")


def test_tasks_for_evaluation_only_and_suites_that_choose_by_outcomes_are_refused(tmp_path: Path) -> None:
    for selector, says in (("robustness", "for evaluation only"), ("diagnosis", "chooses its trials by outcomes")):
        with pytest.raises(UserError, match=says):
            record(replace(SMALL, selectors=(selector,)), tmp_path / "x.lerobot", "lerobot")
    assert not list(tmp_path.iterdir())


def test_alpha_has_ten_times_the_episodes_of_beta_and_no_task_for_evaluation() -> None:
    alpha, beta = (Generation((name,)) for name in ("alpha", "beta"))
    assert (alpha.each, beta.each) == (100, 10) and alpha.tasks == beta.tasks
    assert not any(task.startswith("robustness/") for task in alpha.tasks) and "control/stack_cube" in alpha.tasks


def test_the_command_writes_a_data_set_and_says_where(tmp_path: Path) -> None:
    words = ("--episodes", "1", "--cameras", "front@32", "--format", "rlds", "--json")
    printed = call("generate", TASK, *words, cwd=tmp_path)
    # After the progress, which goes to stderr.
    said = json.loads(printed[printed.index("{") :])
    assert (said["episodes"], said["failed"]) == (1, {}) and len(open_data(str(tmp_path / said["data"]))[0])
    assert (tmp_path / said["card"]).read_text().count("tensorflow_datasets") == 1


@pytest.mark.thorough
@pytest.mark.parametrize(("episodes", "kills", "after_s"), [(12, 2, 5), (334, 4, 40)])
def test_after_kill_9_nothing_is_lost_or_doubled(tmp_path: Path, episodes: int, kills: int, after_s: float) -> None:
    words = [sys.executable, "-c", "from robodx.cli import main; main()", "generate", "primitive", "--episodes",
             str(episodes), "--cameras", "front@32", "--workers", "2"]  # fmt: skip
    for name, times in (("killed", kills), ("whole", 0)):
        command = [*words, "--out", f"{name}.lerobot"]
        for _ in range(times):
            process = subprocess.Popen(command, cwd=tmp_path, start_new_session=True)
            time.sleep(after_s)
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            assert not (tmp_path / f"{name}.lerobot").exists()
        subprocess.run(command, cwd=tmp_path, check=True)
    killed, whole = (open_data(str(tmp_path / f"{name}.lerobot")) for name in ("killed", "whole"))
    assert 3 * episodes >= len(killed) == len(whole) >= 0.99 * 3 * episodes and numbers(killed) == numbers(whole)
