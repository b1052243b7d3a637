"""Every task is a Gymnasium environment that Gymnasium itself accepts, and the same as in a run."""

from __future__ import annotations

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import robodx.environments
from robodx.errors import UserError
from robodx.policy_contract import make_policy
from robodx.records.trial import Trial
from robodx.registry import UnknownName
from robodx.running.rollout import rollout
from robodx.spaces import ACTION_SPACES
from robodx.tasks.base import TASKS


def env_id(task: str) -> str:
    return f"robodx/{task.replace('/', '.')}-v{TASKS[task].version}"


# Gymnasium resets an environment many times; what tasks differ in, a step of each shows. One without a choice, one in
# which something happens, one whose things differ from seed to seed, and one told by another instruction later.
CHECKED = ("primitive/press_switch", "dynamic/catch_after_light", "generated/factorial", "adaptability/pick_other_cube")


@pytest.mark.parametrize(
    "task",
    [pytest.param(task, marks=() if task in CHECKED else pytest.mark.thorough) for task in TASKS],
)
def test_gymnasium_accepts_the_environment(task: str) -> None:
    env = gymnasium.make(env_id(task), size=48, render_mode="rgb_array")
    check_env(env.unwrapped)
    env.close()


@pytest.mark.parametrize("task", list(TASKS))
def test_what_is_observed_is_as_declared(task: str) -> None:
    env = gymnasium.make(env_id(task), size=48)
    observation, _ = env.reset(seed=0)
    assert observation in env.observation_space
    env.action_space.seed(0)
    observation, *_ = env.step(env.action_space.sample())
    assert observation in env.observation_space
    env.close()


@pytest.mark.parametrize("space", ACTION_SPACES)
def test_every_action_space_can_be_sampled_and_executed(space: str) -> None:
    env = gymnasium.make(env_id("control/stack_cube"), action_space=space, cameras=())
    env.reset(seed=3)
    env.action_space.seed(3)
    for _ in range(20):
        observation, _, _, _, _ = env.step(env.action_space.sample())
        assert observation in env.observation_space
    env.close()


def test_a_camera_that_is_not_there_is_refused_when_it_is_made() -> None:
    with pytest.raises(UserError, match=r"asks for the camera top, but panda in this scene has: front, left, .*wrist"):
        gymnasium.make(env_id("control/stack_cube"), cameras=("top",))


def test_the_same_actions_move_it_as_in_a_run() -> None:
    ((episode, trajectory),) = rollout([Trial("control/stack_cube", 2, "expert", 5)], make_policy("expert"))
    assert trajectory is not None
    env = gymnasium.make(env_id("control/stack_cube"), action_space="ee_pose", cameras=())
    _, info = env.reset(seed=5)
    assert info["instruction"] == episode.instructions[0].text
    total = 0.0
    for action in trajectory.actions:
        _, reward, terminated, truncated, info = env.step(action)
        total += float(reward)
    assert terminated and not truncated and info["success"]
    assert total == pytest.approx(1.0)
    inner = env.unwrapped
    assert isinstance(inner, robodx.environments.GymTask)
    assert np.array_equal(inner.running.trajectory().qpos, trajectory.qpos)
    env.close()


def test_time_runs_out_as_truncation() -> None:
    env = gymnasium.make(env_id("primitive/press_switch"), cameras=())
    env.reset(seed=0)
    hold = np.array([0, 0, 0, 0, 0, 0, 1], dtype=np.float32)
    results = [env.step(hold) for _ in range(400)]
    assert [truncated for *_, truncated, _ in results] == [False] * 399 + [True]
    assert not any(terminated for _, _, terminated, _, _ in results)
    env.close()


def test_bad_actions_and_early_steps_raise() -> None:
    env = robodx.environments.GymTask("control/stack_cube", cameras=())
    with pytest.raises(gymnasium.error.ResetNeeded):
        env.step(np.zeros(7, dtype=np.float32))
    env.reset(seed=0)
    env.step(np.zeros(7, dtype=np.float32))
    with pytest.raises(ValueError, match="not finite"):
        env.step(np.full(7, np.nan, dtype=np.float32))
    with pytest.raises(UnknownName, match="stack_cube"):
        robodx.environments.GymTask("control/stack_cub")


def test_without_a_seed_situations_differ() -> None:
    env = gymnasium.make(env_id("primitive/pick_cube"), cameras=())
    env.reset(seed=1)
    situations = set()
    for _ in range(3):
        env.reset()
        assert isinstance(env.unwrapped, robodx.environments.GymTask)
        situations.add(env.unwrapped.running.trial.seed)
    assert len(situations) == 3
    env.close()
