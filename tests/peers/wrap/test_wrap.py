"""Stress on Gymnasium-Robotics' arm, beside an older MuJoCo than RoboDx's own and without its other dependencies."""

from __future__ import annotations

import importlib.metadata
import os
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.wrappers import AddRenderObservation

import robodx
from robodx.perturbations.base import PERTURBATIONS
from robodx.wrapping import wrappable

# As whoever renders without a display has to say, RoboDx or not.
SETTINGS = os.environ.setdefault("MUJOCO_GL", "egl")
ACTION = np.array([0.3, -0.2, 0.1, 1.0], dtype=np.float32)
STILL = (0.0, 0.0, 0.0, 0.0)


@pytest.fixture(scope="module")
def fetch() -> Iterator[gymnasium.Env[Any, Any]]:
    import gymnasium_robotics  # type: ignore[import-not-found]

    gymnasium.register_envs(gymnasium_robotics)
    arm = gymnasium.make("FetchPickAndPlace-v4", render_mode="rgb_array", width=64, height=48)
    arm.reset(seed=0)
    env = AddRenderObservation(arm, render_only=False)
    yield env
    env.close()


def steps(env: gymnasium.Env[Any, Any], n: int = 20) -> tuple[list[dict[str, Any]], list[bool]]:
    observed, info = env.reset(seed=3)
    seen, touched = [observed], [bool(info.get("perturbed"))]
    for _ in range(n):
        observed, _, _, _, info = env.step(ACTION)
        seen.append(observed)
        touched.append(bool(info.get("perturbed")))
    return seen, touched


def test_this_is_another_mujoco_than_that_of_the_package() -> None:
    assert importlib.metadata.version("mujoco").startswith("3.3.")
    absent = {"av", "polars", "typer", "starlette", "msgpack"} - set(importlib.metadata.packages_distributions())
    assert absent == {"av", "polars", "typer", "starlette", "msgpack"}


def test_noise_changes_the_rendered_picture_and_nothing_else(fetch: gymnasium.Env[Any, Any]) -> None:
    clean, _ = steps(fetch)
    noisy, touched = steps(robodx.wrap(fetch, "noise", level="v2"))
    assert all(touched) and clean[0]["pixels"].shape == (48, 64, 3) and clean[0]["pixels"].std() > 5, "a real picture"
    for one, other in zip(clean, noisy, strict=True):
        assert np.array_equal(one["observation"], other["observation"])
        difference = np.abs(one["pixels"].astype(int) - other["pixels"].astype(int))
        assert 5 < difference.mean() < 60


def test_late_commands_move_the_arm_later(fetch: gymnasium.Env[Any, Any]) -> None:
    clean, _ = steps(fetch)
    late, touched = steps(robodx.wrap(fetch, "actuator_latency", level=0.2, actions="relative", still=STILL))
    rate_hz = fetch.metadata["render_fps"]
    delay = round(0.2 * rate_hz)
    assert delay >= 3 and all(touched[1:])
    # While nothing arrives the gripper stands; the clean one is on its way by then.
    start = clean[0]["observation"][:3]
    stood, moved = (np.abs(seen[delay]["observation"][:3] - start).max() for seen in (late, clean))
    assert stood < 0.2 * moved
    assert np.abs(late[-1]["observation"][:3] - start).max() > stood


def test_a_camera_goes_blank(fetch: gymnasium.Env[Any, Any]) -> None:
    seen, touched = steps(robodx.wrap(fetch, "camera_blank", level="pixels"), n=3)
    assert all(touched) and not any(one["pixels"].any() for one in seen)


@pytest.mark.parametrize("name", wrappable())
def test_all_that_can_be_wrapped_runs(fetch: gymnasium.Env[Any, Any], name: str) -> None:
    level = list(PERTURBATIONS[name].levels)[-1]
    seen, _ = steps(robodx.wrap(fetch, name, level=level, actions="relative", still=STILL), n=5)
    assert all(fetch.observation_space["pixels"].contains(one["pixels"]) for one in seen)  # type: ignore[index]


def test_the_settings_of_the_other_mujoco_are_left_alone() -> None:
    assert os.environ.get("MUJOCO_GL") == SETTINGS and "robodx.sim.engine" not in sys.modules


def test_a_task_of_robodx_says_that_it_needs_a_newer_mujoco() -> None:
    done = subprocess.run([sys.executable, "-c", "import robodx.sim.engine"], capture_output=True, text=True)
    assert done.returncode == 1
    assert "RoboDx's own tasks need MuJoCo 4.0 or newer, and 3.3." in done.stderr
