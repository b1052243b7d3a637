"""The real `vla-eval run` evaluates a real vla-eval model server on RoboDx's tasks."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from vla_eval.api import serve_background
from vla_eval.model_servers.base import ModelServer, SessionContext
from vla_eval.specs import DimSpec

from robodx.environments.vla_eval import HOLD, RoboDxBenchmark
from robodx.errors import UserError
from robodx.policy_contract import PolicySpec, make_policy
from robodx.records.trial import Trial
from robodx.registry import UnknownName
from robodx.robots.control import action_width
from robodx.running.environment import Environment, FirstReplyInvalid
from robodx.running.rollout import rollout
from robodx.sim.robot import ROBOTS
from robodx.spaces import ACTION_SPACES, ActionSpace
from robodx.tasks.base import TASKS

EPISODES = 2
NAMES = ("control/stack_cube", "primitive/pick_cube")
# By the name of the task and the number of the episode.
Plan = Mapping[tuple[str, int], NDArray[np.float32]]


class Playing(ModelServer):  # type: ignore[misc]  # vla-eval does not ship its types
    """Sends the planned joint actions of the episode it is told of, and keeps the first observation of each."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.key = ("", -1)
        self.first_seen: dict[tuple[str, int], dict[str, Any]] = {}

    async def on_episode_start(self, config: dict[str, Any], ctx: SessionContext) -> None:
        self.key = (config["task"]["name"], config["task"]["episode_idx"])

    async def on_observation(self, obs: dict[str, Any], ctx: SessionContext) -> None:
        self.first_seen.setdefault(self.key, obs)
        actions = self.plan[self.key]
        await ctx.send_action({"actions": actions[min(ctx.step, len(actions) - 1)]})

    def get_action_spec(self) -> dict[str, DimSpec]:
        return {"joints": DimSpec("joints", 7, "joint_positions"), "gripper": DimSpec("gripper", 1, "opening_01")}

    def get_observation_spec(self) -> dict[str, DimSpec]:
        return {"state": DimSpec("state", 8, "joint_positions+gripper_opening")}


@pytest.fixture(scope="module")
def expert_plan() -> Plan:
    """What the expert commands in each situation, as joint actions."""
    trials = [Trial(name, TASKS[name].version, "expert", seed) for name in NAMES for seed in range(EPISODES)]
    plan = {}
    for episode, trajectory in rollout(trials, make_policy("expert")):
        assert trajectory is not None and episode.success
        plan[episode.task, episode.seed] = trajectory.commands
    return plan


def vla_eval_run(
    server: ModelServer, folder: Path, names: Sequence[str] = NAMES, episodes: int = EPISODES, **fields: Any
) -> list[dict[str, Any]]:
    """What the command `vla-eval run` writes about each benchmark of its configuration."""
    entries = [
        {
            "benchmark": "robodx.environments.vla_eval:RoboDxBenchmark",
            "subname": name.replace("/", "-"),
            "episodes_per_task": episodes,
            "params": {"suite": name, "action_space": "joint", "size": 32},
            **fields,
        }
        for name in names
    ]
    # JSON is YAML.
    (folder / "run.yaml").write_text(json.dumps({"render": "cpu", "benchmarks": entries}))
    with serve_background(server) as serving:
        command = [sys.executable, "-m", "vla_eval.cli.main", "run", "--config", str(folder / "run.yaml")]
        command += ["--server-url", serving.url, "--output-dir", str(folder / "out")]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert "Spec validation passed" in done.stderr
    return [json.loads(path.read_text()) for path in sorted((folder / "out").glob("*_aggregate.json"))]


def test_a_server_that_plays_the_expert_scores_one(expert_plan: Plan, tmp_path: Path) -> None:
    server = Playing(expert_plan)
    results = vla_eval_run(server, tmp_path)
    assert [(result["mean_success"], result["mean_progress"], result["num_errors"]) for result in results] == [
        (1.0, 1.0, 0),
        (1.0, 1.0, 0),
    ]
    steps = {
        (task["task"], episode["episode_idx"]): episode["steps"]
        for result in results
        for task in result["tasks"]
        for episode in task["episodes"]
    }
    assert steps == {key: len(actions) for key, actions in expert_plan.items()}
    assert set(server.first_seen) == set(expert_plan)
    for (task, seed), seen in server.first_seen.items():
        trial = Trial(task, TASKS[task].version, "still", seed)
        observation = Environment(trial, PolicySpec()).observe()
        assert seen["task_description"] == observation.instruction
        state = np.concatenate([observation.state["joint_positions"], observation.state["gripper_opening"]])
        assert np.array_equal(seen["state"], state) and np.array_equal(seen["states"], state)
        assert list(seen["images"]) == ["front", "wrist"]
        for image in seen["images"].values():
            assert image.shape == (32, 32, 3) and image.dtype == np.uint8 and image.std() > 5


@pytest.mark.thorough
def test_a_server_that_stands_still_fails_without_errors(expert_plan: Plan, tmp_path: Path) -> None:
    name = NAMES[0]
    (result,) = vla_eval_run(Playing({(name, 0): expert_plan[name, 0][:1]}), tmp_path, [name], 1)
    assert (result["mean_success"], result["num_errors"]) == (0.0, 0)
    # It ended by the task's own time limit.
    assert result["tasks"][0]["avg_steps"] == TASKS[name].time_limit_s * 20


@pytest.mark.thorough
def test_a_live_run_holds_the_last_command_while_the_server_thinks(tmp_path: Path) -> None:
    class Silent(Playing):
        def __init__(self) -> None:
            super().__init__({})
            self.states: list[NDArray[np.float32]] = []

        async def on_observation(self, obs: dict[str, Any], ctx: SessionContext) -> None:
            self.states.append(obs["state"])

    server = Silent()
    live = {"mode": "live", "hz": 20, "paced": False, "max_steps": 10}
    (result,) = vla_eval_run(server, tmp_path, NAMES[:1], 1, **live)
    assert (result["mean_success"], result["num_errors"], result["tasks"][0]["avg_steps"]) == (0.0, 0, 10)
    assert len(server.states) > 1
    # A step towards all joints at zero, which others take for standing still, would be a hundred times as far.
    assert np.allclose(server.states[0], server.states[-1], atol=0.001)


def started(**options: Any) -> RoboDxBenchmark:
    benchmark = RoboDxBenchmark(**{"suite": NAMES[0], "cameras": (), "send_wrist_image": False, **options})
    asyncio.run(benchmark.start_episode({**benchmark.get_tasks()[0], "episode_idx": 0}))
    return benchmark


def test_a_reply_that_cannot_be_executed_is_an_error_first_and_a_failure_later() -> None:
    with pytest.raises(FirstReplyInvalid, match="8"):
        started().step({"actions": np.zeros(8)})
    benchmark = started()
    assert not benchmark.step({"actions": np.zeros((1, 7))}).done
    last = benchmark.step({"actions": np.full(7, np.nan)})
    assert last.done
    result = benchmark.get_step_result(last)
    assert not result["success"] and "not finite" in result["error"]


def test_replies_that_are_not_one_action_are_refused() -> None:
    benchmark = started()
    with pytest.raises(UserError, match=r"5 actions for one observation.*chunk_size"):
        benchmark.step({"actions": np.zeros((5, 7))})
    with pytest.raises(UserError, match='no "actions"; it holds: action'):
        benchmark.step({"action": np.zeros(7)})


@pytest.mark.parametrize("space", ACTION_SPACES)
def test_the_declared_action_is_as_wide_as_the_executed_one(space: ActionSpace) -> None:
    benchmark = RoboDxBenchmark(NAMES[0], action_space=space)
    declared = sum(part.dims for part in benchmark.get_action_spec().values())
    assert declared == action_width(space, ROBOTS["panda"])


def test_a_suite_is_lent_with_its_perturbations() -> None:
    benchmark = RoboDxBenchmark("control/easy", perturbations=[("brightness", 0.5)])
    easy = [task.id for task in TASKS.entries() if (task.family, task.tier) == ("control", "easy")]
    assert [task["name"] for task in benchmark.get_tasks()] == [f"{name} brightness=0.5" for name in easy]
    assert {task["suite"] for task in benchmark.get_tasks()} == {"control"}
    with pytest.raises(UnknownName, match="stack_cube"):
        RoboDxBenchmark("control/stack_cub")


def test_a_server_without_need_of_pictures_or_state_gets_none() -> None:
    benchmark = started(send_state=False)
    observation = asyncio.run(benchmark.get_observation())
    assert set(observation) == {"images", "task_description"} and observation["images"] == {}
    assert set(benchmark.get_observation_spec()) == {"language"}
    assert benchmark.get_hold_action(None) is HOLD


def test_the_picture_shown_is_the_one_that_was_sent() -> None:
    assert started().render() is None
    benchmark = started(cameras=["left"], size=32)
    image = benchmark.render()
    assert image is not None
    assert np.array_equal(image, asyncio.run(benchmark.get_observation())["images"]["left"])
