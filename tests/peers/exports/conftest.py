"""A run of two policies with a trajectory and a film, made by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from robodx.records.film_name import film_name
from robodx.records.trajectory import Hand, Index, Trajectory
from robodx.records.trajectory_files import trajectory_file
from robodx.video.mp4 import write_mp4
from tests.reporting import ABOUT, episode, run_folder

STEPS, HZ = 20, 10.0


@pytest.fixture(scope="session")
def moved() -> Trajectory:
    """A tool that moves along x, and a cube that is carried from step 10 on."""
    states, turn = STEPS + 1, np.array([1.0, 0.0, 0.0, 0.0])
    qpos = np.zeros((states, 16))
    qpos[:, 12:16] = turn
    qpos[10:, 9] = np.linspace(0, 0.2, states - 10)
    tool = np.concatenate([np.linspace([0, 0, 0.3], [0.5, 0, 0.3], states), np.tile(turn, (states, 1))], axis=1)
    actions = np.linspace(0, 1, STEPS * 8, dtype=np.float32).reshape(STEPS, 8)
    actions[:3] = np.nan
    index = Index({f"j{at}": at for at in range(7)}, {"red/cube": 9}, (Hand("gripper", 0, 7, (7, 8)),))
    return Trajectory(
        time_s=np.arange(states) / HZ, qpos=qpos, tool_in_world=tool[:, None], actions=actions,
        stage=np.repeat(np.array([0, 1], dtype=np.int32), [10, states - 10]),
        commands=np.zeros((STEPS, 8), dtype=np.float32), query_steps=np.array([0], dtype=np.int32),
        inference_s=np.array([0.1]), is_query_perturbed=np.zeros(1, dtype=np.bool_),
        is_command_perturbed=np.zeros(STEPS, dtype=np.bool_), index=index,
    )  # fmt: skip


@pytest.fixture(scope="session")
def failed() -> dict[str, Any]:
    return episode("control/lift", 0, success=False, policy="act") | {
        "trial_id": "0123456789abcdef", "failure_type": "drop",
        "instructions": [{"step": 0, "text": "Lift the cube."}, {"step": 12, "text": "=1+1"}],
        "events": [{"step": 10, "time_s": 1.0, "kind": "grasp", "object": "red/cube", "other": "", "value": 0.0},
                   {"step": 15, "time_s": 1.5, "kind": "drop", "object": "red/cube", "other": "", "value": 0.0}],
        "failure_evidence": {"step": 15, "object": "red/cube", "condition": "held", "says": "the cube was dropped"},
    }  # fmt: skip


@pytest.fixture(scope="session")
def run(tmp_path_factory: pytest.TempPathFactory, failed: dict[str, Any], moved: Trajectory) -> Path:
    rows = [episode("control/lift", seed, success=seed > 0, policy="vision") for seed in range(4)]
    more = [episode("control/lift", seed, policy="act") for seed in range(1, 4)]
    about = {**ABOUT, "policy_spec": {"hz": HZ, "action_space": "ee_pose"}}
    path = run_folder(tmp_path_factory.mktemp("runs") / "both", [*rows, failed, *more], about)
    (path / "trajectories").mkdir()
    (path / "videos").mkdir()
    moved.save(trajectory_file(path, failed["trial_id"]))
    pictures = (np.full((32, 48, 3), 10 * at, dtype=np.uint8) for at in range(STEPS + 6))
    write_mp4(path / "videos" / film_name(failed), pictures, HZ)
    return path
