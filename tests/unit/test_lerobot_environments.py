"""What LeRobot is lent, without LeRobot: its own code drives these environments in tests/peers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from gymnasium.vector import AsyncVectorEnv, SyncVectorEnv

import robodx.environments
from robodx.environments.lerobot import LeRobotTask, make_env
from robodx.errors import UserError
from robodx.policy_contract import make_policy
from robodx.records.trial import Trial
from robodx.registry import UnknownName
from robodx.running.rollout import rollout
from robodx.tasks.base import TASKS

TASK = "primitive/pick_cube"
Make = Callable[..., SyncVectorEnv | AsyncVectorEnv]


@pytest.fixture
def make() -> Iterator[Make]:
    """The one vector environment of a task, closed when the test ends."""
    opened: list[SyncVectorEnv | AsyncVectorEnv] = []

    def make(**options: Any) -> SyncVectorEnv | AsyncVectorEnv:
        opened.append(make_env(**{"suite": TASK, "cameras": (), **options})["primitive"][0])
        return opened[-1]

    yield make
    for env in opened:
        env.close()


def test_every_task_of_a_family_is_there_by_number() -> None:
    made = make_env(suite="control")
    tasks = [task for task in TASKS.entries() if task.family == "control"]
    assert list(made) == ["control"]
    assert {number: env.call("task") for number, env in made["control"].items()} == {
        number: (task.id,) for number, task in enumerate(tasks)
    }


def test_observations_have_lerobots_names(make: Make) -> None:
    env = make(n_envs=2, cameras=("front", "wrist"), size=48)
    observation, _ = env.reset(seed=[0, 1])
    assert observation in env.observation_space
    assert observation["agent_pos"].shape == (2, 8) and observation["agent_pos"].dtype == np.float32
    assert {name: images.shape for name, images in observation["pixels"].items()} == {
        "front": (2, 48, 48, 3),
        "wrist": (2, 48, 48, 3),
    }


def test_agent_pos_is_made_of_the_parts_that_are_named(make: Make) -> None:
    observation, _ = make(agent_pos=("gripper_opening", "ee_pose")).reset(seed=[3])
    gym_task = robodx.environments.GymTask(TASK, cameras=())
    state = gym_task.reset(seed=3)[0]["state"]
    assert set(observation) == {"agent_pos"}
    assert np.array_equal(observation["agent_pos"][0], np.concatenate([state["gripper_opening"], state["ee_pose"]]))


def test_success_and_instruction_are_where_lerobot_looks(make: Make) -> None:
    seeds = (0, 4)
    finished = list(
        rollout([Trial(TASK, TASKS[TASK].version, "expert", seed) for seed in seeds], make_policy("expert"))
    )
    plans = [one.trajectory.commands for one in finished if one.trajectory is not None]
    env = make(n_envs=2)
    env.reset(seed=[*seeds])
    assert env.call("task_description") == tuple(one.episode.instructions[0].text for one in finished)
    assert env.call("_max_episode_steps") == (400, 400)
    ended: dict[int, int] = {}
    for step in range(max(map(len, plans))):
        actions = np.stack([plan[min(step, len(plan) - 1)] for plan in plans])
        _, _, terminated, _, info = env.step(actions)
        for index in np.flatnonzero(terminated):
            assert info["final_info"]["is_success"][index]
            ended.setdefault(int(index), step + 1)
    assert ended == {index: len(plan) for index, plan in enumerate(plans)}


def test_environments_in_other_processes_can_be_asked_what_they_are(make: Make) -> None:
    env = make(use_async_envs=True)
    env.reset(seed=[0])
    remote: Any = env
    assert remote.envs == (LeRobotTask,)
    assert all(hasattr(remote.envs[0], name) for name in ("task", "task_description"))
    assert env.call("task") == (TASK,) and env.call("task_description")[0].endswith(".")


def test_wrong_words_are_refused() -> None:
    with pytest.raises(UnknownName, match="gripper_opening"):
        make_env(suite=TASK, agent_pos=("gripper_openin",))
    with pytest.raises(UnknownName, match="pick_cube"):
        make_env(suite="primitive/pick_cub")
    with pytest.raises(UserError, match="n_envs is 0"):
        make_env(0)
