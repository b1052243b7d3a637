"""Networks in ONNX as policies, on tiny ones with random weights that tests/peers/torch/tiny_networks.py wrote."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from robodx.errors import UserError
from robodx.learned.acting import REACH_M, LearnedPolicy, denormalised_actions
from robodx.learned.networks import load
from robodx.learned.words import PADDING, UNKNOWN, numbered, vocabulary_of
from robodx.policy_contract import EpisodeStart, Observation
from robodx.records.folder import RunConflict
from robodx.running.request import Request
from robodx.running.run import run
from robodx.sim.geometry import Pose, quaternion_to_matrix

NETWORKS = Path(__file__).parent.parent / "golden" / "networks"
TASK = "primitive/press_switch"


def start(policy_seed: int = 0) -> EpisodeStart:
    return EpisodeStart("e", policy_seed, TASK, "panda", 0, 0, "Press the switch.", {})


def seen(step: int = 0, instruction: str = "Put the red cube on the green cube.") -> Observation:
    rng = np.random.default_rng(1)
    state = {
        "ee_pose": np.array([0.4, 0.1, 0.3, 0.0, 1.0, 0.0, 0.0], dtype=np.float32),
        "gripper_opening": np.array([0.5], dtype=np.float32),
        "joint_positions": np.zeros(7, dtype=np.float32),
    }
    images = {name: rng.integers(0, 256, (32, 32, 3), dtype=np.uint8) for name in ("front", "wrist")}
    return Observation("e", step, 0.05 * step, instruction, state, images)


def reply(policy: LearnedPolicy, observation: Observation, policy_seed: int = 0) -> np.ndarray:
    policy.reset([start(policy_seed)])
    (chunk,) = policy.act([observation])
    policy.finish(["e"])
    return np.asarray(chunk)


def test_a_network_answers_with_a_chunk_of_poses_near_the_tool() -> None:
    policy = load(NETWORKS / "act.onnx")
    assert policy.spec.hz == 10 and policy.spec.replan == 2 and policy.spec.uses_language
    chunk = reply(policy, seen())
    assert chunk.shape == (4, 8) and chunk.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(chunk[:, 3:7], axis=1), 1.0, atol=1e-5)
    assert (chunk[:, 7] >= 0).all() and (chunk[:, 7] <= 1).all()
    np.testing.assert_array_equal(chunk, reply(policy, seen()))


def test_it_reads_the_words_it_knows_and_one_without_words_says_so() -> None:
    policy = load(NETWORKS / "act.onnx")
    told = reply(policy, seen())
    assert not np.array_equal(told, reply(policy, seen(instruction="Put the green cube on the red cube.")))
    assert np.array_equal(told, reply(policy, seen(instruction="PUT the red cube on the green cube.")))
    mute = load(NETWORKS / "act_no_language.onnx")
    assert not mute.spec.uses_language
    assert np.array_equal(reply(mute, seen()), reply(mute, seen(instruction="Anything else.")))


def test_a_flow_draws_by_the_policys_seed_and_the_step() -> None:
    policy = load(NETWORKS / "flow.onnx")
    first = reply(policy, seen())
    assert np.array_equal(first, reply(policy, seen()))
    assert not np.array_equal(first, reply(policy, seen(), policy_seed=1))
    assert not np.array_equal(first, reply(policy, seen(step=2)))


def test_what_a_network_writes_of_a_pose_is_that_pose() -> None:
    """The inverse of `normalised_actions` in examples/training/network.py: position by the tool, two axes, opening."""
    rng = np.random.default_rng(3)
    tool = np.array([0.4, -0.1, 0.2], dtype=np.float32)
    for _ in range(20):
        quaternion = rng.normal(size=4)
        quaternion /= np.linalg.norm(quaternion)
        pose = Pose(tuple(tool + rng.uniform(-0.1, 0.1, 3)), tuple(quaternion))
        matrix = np.asarray(quaternion_to_matrix(pose.quaternion)).reshape(3, 3)
        written = np.concatenate([(np.array(pose.position) - tool) / REACH_M, matrix[:, 0], matrix[:, 1], [0.7]])
        (action,) = denormalised_actions(written[None].astype(np.float32), tool)
        np.testing.assert_allclose(action[:3], pose.position, atol=1e-5)
        assert abs(float(np.dot(action[3:7], quaternion))) == pytest.approx(1.0, abs=1e-4)
        assert action[7] == pytest.approx(0.7)


def test_words_are_numbers_of_a_list_and_others_are_unknown() -> None:
    vocabulary = vocabulary_of(["Put the cube 15 cm to the left."])
    told = numbered("Put the mug 15 cm left!", vocabulary, 8)
    assert [vocabulary[number] for number in told[:2]] == ["put", "the"] and told[2] == UNKNOWN == told[6]
    assert told[7] == PADDING and len(numbered("the " * 50, vocabulary, 8)) == 8


def test_it_runs_an_episode_by_its_name_and_other_weights_of_that_name_do_not_go_on(tmp_path: Path) -> None:
    file, request = tmp_path / "mine.onnx", Request((TASK,), f"onnx:{tmp_path / 'mine.onnx'}", 1)
    shutil.copy(NETWORKS / "act.onnx", file)
    (episode,) = run(request, tmp_path / "run").to_dicts()
    assert episode["outcome"] in ("timeout", "failure") and episode["steps"] > 10
    assert len(run(request, tmp_path / "run")) == 1
    # Of the same spec.
    file.write_bytes(file.read_bytes().replace(b'"steps": 0', b'"steps": 9'))
    with pytest.raises(RunConflict, match=r"weights_digest: [0-9a-f]{32} there, [0-9a-f]{32} asked"):
        run(request, tmp_path / "run")


def test_a_flow_runs_only_beside_the_encoder_it_was_exported_for(tmp_path: Path) -> None:
    for name in ("act.onnx", "flow.onnx"):
        shutil.copy(NETWORKS / name, tmp_path)
    assert load(tmp_path / "flow.onnx").spec.weights_digest == load(NETWORKS / "flow.onnx").spec.weights_digest
    shutil.copy(NETWORKS / "act_no_language.onnx", tmp_path / "act.onnx")
    with pytest.raises(UserError, match=r"flow\.onnx reads the tokens of another network than .*act\.onnx now holds"):
        load(tmp_path / "flow.onnx")


def test_a_rate_that_no_policy_has_is_refused_with_its_file(tmp_path: Path) -> None:
    (tmp_path / "slow.onnx").write_bytes((NETWORKS / "act.onnx").read_bytes().replace(b'"hz": 10.0', b'"hz": 2.50'))
    with pytest.raises(UserError, match=r"slow\.onnx cannot be run: .* 5 to 60 Hz, not 2\.5"):
        load(tmp_path / "slow.onnx")


def test_what_is_no_network_is_refused_by_name(tmp_path: Path) -> None:
    (tmp_path / "odd.onnx").write_bytes(b"no network")
    for path, says in ((tmp_path / "none.onnx", "there is no network"), (tmp_path / "odd.onnx", "cannot be run")):
        with pytest.raises(UserError, match=says) as error:
            load(path)
        assert path.name in str(error.value)
    card = load(NETWORKS / "act.onnx").card
    assert replace(card, vocabulary=()).spec.uses_language is False
