"""ManiSkill's trajectories: observations before each action, what its JSON file says, and nothing that is not there."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

from robodx.datasets.formats.base import FORMATS, UnreadableData, open_data, writable
from robodx.errors import UserError

STEPS = 3


def listed() -> dict[str, Any]:
    return {
        "env_info": {
            "env_id": "PickCube-v1",
            "max_episode_steps": 50,
            "env_kwargs": {"obs_mode": "rgb", "control_mode": "pd_ee_delta_pos", "sim_backend": "physx_cpu"},
        },
        "source_type": "motionplanning",
        "episodes": [
            {"episode_id": 0, "episode_seed": 11, "control_mode": "pd_ee_delta_pos", "success": True},
            {"episode_id": 10, "reset_kwargs": {"seed": 12}, "control_mode": "pd_ee_delta_pos", "success": False},
        ],
    }


def add_trajectory(group: Any, rng: np.random.Generator) -> None:
    group["actions"] = rng.normal(size=(STEPS, 4)).astype(np.float32)
    for name in ("terminated", "truncated"):
        group[name] = np.zeros(STEPS, bool)
    group["success"] = np.arange(STEPS) == STEPS - 1
    group["env_states/actors/cube"] = rng.normal(size=(STEPS + 1, 13))
    group["obs/agent/qpos"] = rng.normal(size=(STEPS + 1, 9))
    group["obs/agent/qvel"] = rng.normal(size=(STEPS + 1, 9))
    group["obs/extra/tcp_pose"] = rng.normal(size=(STEPS + 1, 7))
    group["obs/extra/is_grasped"] = np.array([False, False, True, True])
    group["obs/sensor_param/base_camera/extrinsic_cv"] = rng.normal(size=(STEPS + 1, 3, 4))
    group["obs/sensor_data/base_camera/rgb"] = rng.integers(0, 256, (STEPS + 1, 8, 8, 3), dtype=np.uint8)
    group["obs/sensor_data/base_camera/depth"] = rng.integers(0, 99, (STEPS + 1, 8, 8, 1), dtype=np.int16)


def trajectories(
    folder: Path, change: Callable[[Any], None] = lambda file: None, about: dict[str, Any] | None = None
) -> Path:
    """As ManiSkill's RecordEpisode writes them."""
    path = folder / "trajectory.rgb.pd_ee_delta_pos.physx_cpu.h5"
    rng = np.random.default_rng(0)
    with h5py.File(path, "w") as file:
        for name in ("traj_0", "traj_10"):
            add_trajectory(file.create_group(name), rng)
        change(file)
    path.with_suffix(".json").write_text(json.dumps(about or listed()))
    return path


def test_trajectories_are_read_by_what_lies_beside_them(tmp_path: Path) -> None:
    path = trajectories(tmp_path)
    data = open_data(str(path))
    assert data.features.cameras == {"base_camera": (8, 8)}
    assert {name: len(names) for name, names in data.features.state.items()} == {
        "qpos": 9,
        "qvel": 9,
        "is_grasped": 1,
        "tcp_pose": 7,
    }
    assert len(data.features.action) == 4
    assert data.features.about == {
        "env_id": "PickCube-v1",
        "obs_mode": "rgb",
        "control_mode": "pd_ee_delta_pos",
        "source_type": "motionplanning",
        "observations": "the one after the last action is left out",
        "ignored": [
            "obs/sensor_data/base_camera/depth",
            "obs/sensor_param/base_camera/extrinsic_cv",
            "env_states",
            "terminated",
            "truncated",
        ],
        "missing": ["hz", "instruction"],
    }
    assert data.features.hz is None
    assert [data[index].metadata for index in range(len(data))] == [
        {"task": "PickCube-v1", "episode_id": 0, "seed": 11, "control_mode": "pd_ee_delta_pos", "success": True},
        {"task": "PickCube-v1", "episode_id": 10, "seed": 12, "control_mode": "pd_ee_delta_pos", "success": False},
    ]


def test_observations_are_those_before_the_actions(tmp_path: Path) -> None:
    path = trajectories(tmp_path)
    last = open_data(str(path))[-1]
    assert len(last) == STEPS
    with h5py.File(path) as file:
        group = file["traj_10"]
        np.testing.assert_array_equal(last.action, group["actions"][:])
        np.testing.assert_array_equal(last.state["qpos"], group["obs/agent/qpos"][:STEPS].astype(np.float32))
        rgb = group["obs/sensor_data/base_camera/rgb"][:]
    assert last.state["is_grasped"].tolist() == [[0], [0], [1]]
    np.testing.assert_array_equal(last.images["base_camera"].all(), rgb[:STEPS])
    np.testing.assert_array_equal(last.images["base_camera"].read([2, 0]), rgb[[2, 0]])
    assert last.success is not None
    assert last.success.tolist() == [False, False, True]
    assert last.instructions == ("",) * STEPS


def test_success_of_the_episode_is_not_taken_for_that_of_its_steps(tmp_path: Path) -> None:
    def change(file: Any) -> None:
        del file["traj_0/success"], file["traj_10/success"]

    data = open_data(str(trajectories(tmp_path, change)))
    assert data[0].success is None
    assert data[0].metadata["success"] is True
    assert "success" in data.features.about["missing"]


def test_observations_as_one_vector_are_a_state(tmp_path: Path) -> None:
    def change(file: Any) -> None:
        for name in ("traj_0", "traj_10"):
            del file[name]["obs"]
            file[name]["obs"] = np.arange(8.0).reshape(STEPS + 1, 2)

    data = open_data(str(trajectories(tmp_path, change)))
    assert data[0].state["obs"].tolist() == [[0, 1], [2, 3], [4, 5]]
    assert data[0].images == {}


def test_recorded_without_observations_says_so_and_a_given_rate_is_read(tmp_path: Path) -> None:
    def change(file: Any) -> None:
        del file["traj_0/obs"], file["traj_10/obs"]

    about = listed()
    about["env_info"]["env_kwargs"] |= {"sim_config": {"control_freq": 20}, "robot_uids": "panda"}
    data = open_data(str(trajectories(tmp_path, change, about)))
    assert (data.features.hz, data.features.robot) == (20.0, "panda")
    assert data.features.about["missing"] == ["instruction", "observations"]
    assert data[0].state == {}


def test_it_is_only_read() -> None:
    assert "maniskill" not in writable()


def fewer_observations(file: Any) -> None:
    del file["traj_10/obs/agent/qpos"]
    file["traj_10/obs/agent/qpos"] = np.zeros((STEPS, 9))


def fewer_successes(file: Any) -> None:
    del file["traj_10/success"]
    file["traj_10/success"] = np.zeros(2, bool)


@pytest.mark.parametrize("change", [fewer_observations, fewer_successes])
def test_a_trajectory_of_unequal_lengths_is_refused_by_the_name_of_its_file(
    change: Callable[[Any], None], tmp_path: Path
) -> None:
    data = open_data(str(trajectories(tmp_path, change)))
    with pytest.raises(UnreadableData, match=r"physx_cpu\.h5"):
        data[1]


def test_a_missing_trajectory_is_named(tmp_path: Path) -> None:
    def change(file: Any) -> None:
        del file["traj_10"]

    with pytest.raises(UnreadableData, match=r"physx_cpu\.h5 has no traj_10"):
        open_data(str(trajectories(tmp_path, change)))


@pytest.mark.parametrize("content", ["{", "[]", "{}", '{"episodes": [{}]}', '{"episodes": 3}', '{"episodes": []}'])
def test_a_broken_list_of_episodes_is_refused_by_its_name(content: str, tmp_path: Path) -> None:
    path = trajectories(tmp_path)
    path.with_suffix(".json").write_text(content)
    with pytest.raises(UnreadableData, match=r"physx_cpu\.json"):
        open_data(str(path))


def test_a_cut_file_is_refused_by_its_name(tmp_path: Path) -> None:
    path = trajectories(tmp_path)
    path.write_bytes(path.read_bytes()[:-500])
    with pytest.raises(UnreadableData, match=r"physx_cpu\.h5"):
        open_data(str(path))


def test_without_h5py_it_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = trajectories(tmp_path)
    monkeypatch.setitem(sys.modules, "h5py", None)
    with pytest.raises(UserError, match=r"h5py.*pip install 'robodx\[data\]'"):
        FORMATS["maniskill"].read(path)
