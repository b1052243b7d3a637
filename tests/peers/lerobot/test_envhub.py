"""LeRobot's own code loads RoboDx's tasks from an EnvHub repository and evaluates policies on them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from lerobot.envs import factory
from lerobot.envs.utils import close_envs
from lerobot.policies.act.modeling_act import ACTPolicy
from lerobot.policies.factory import make_pre_post_processors
from lerobot.processor.pipeline import PolicyProcessorPipeline
from lerobot.scripts.lerobot_eval import eval_policy_all, rollout
from numpy.typing import NDArray

import robodx
from robodx.environments.lerobot import make_env
from robodx.records.trial import Trial
from robodx.tasks.base import TASKS

COMMIT = "0123456789abcdef0123456789abcdef01234567"
DOCS = Path(__file__).parents[3] / "docs" / "interoperation.md"
TASK = "primitive/pick_cube"


@pytest.fixture
def hub_cache(tmp_path: Path) -> Path:
    """The hub's cache after the `env.py` of the docs was fetched from a repository: nothing is asked of the network."""
    found = re.search(r"```python\n(.*?def make_env.*?)```", DOCS.read_text(), re.DOTALL)
    assert found is not None
    snapshot = tmp_path / "models--someone--robodx-control" / "snapshots" / COMMIT
    snapshot.mkdir(parents=True)
    (snapshot / "env.py").write_text(found[1])
    return tmp_path


@pytest.fixture
def made() -> Iterator[list[Any]]:
    """What the test makes is closed when it ends."""
    opened: list[Any] = []
    yield opened
    for envs in opened:
        close_envs(envs)


def unprocessed() -> PolicyProcessorPipeline[Any, Any]:
    return PolicyProcessorPipeline(steps=[])


def test_lerobot_loads_the_env_file_of_the_docs(hub_cache: Path, made: list[Any]) -> None:
    envs = factory.make_env(
        f"someone/robodx-control@{COMMIT}:env.py", n_envs=2, hub_cache_dir=str(hub_cache), trust_remote_code=True
    )
    made.append(envs)
    names = [env.call("task")[0] for env in envs["control"].values()]
    assert names == [task.id for task in TASKS.entries() if task.family == "control"]
    assert list(envs["control"]) == list(range(len(names)))
    env = envs["control"][names.index("control/stack_cube")]
    observation, _ = env.reset(seed=[0, 1])
    assert observation in env.observation_space
    assert observation["agent_pos"].shape == (2, 8)
    assert {name: images.shape for name, images in observation["pixels"].items()} == {
        "front": (2, 128, 128, 3),
        "wrist": (2, 128, 128, 3),
    }


def test_lerobot_evaluates_a_checkpoint_on_a_suite(checkpoint: Path, tmp_path: Path, made: list[Any]) -> None:
    policy = ACTPolicy.from_pretrained(checkpoint)
    preprocessor, postprocessor = make_pre_post_processors(policy.config, pretrained_path=str(checkpoint))
    envs = make_env(2, suite="primitive", size=64, hz=5)
    made.append(envs)
    info = eval_policy_all(
        envs=envs,
        policy=policy,
        env_preprocessor=unprocessed(),
        env_postprocessor=unprocessed(),
        preprocessor=preprocessor,
        postprocessor=postprocessor,
        n_episodes=2,
        max_episodes_rendered=1,
        videos_dir=tmp_path,
        start_seed=7,
    )
    tasks = [task for task in TASKS.entries() if task.family == "primitive"]
    assert info["overall"]["n_episodes"] == 2 * len(tasks)
    assert info["overall"]["pc_success"] == 0.0
    assert len(info["overall"]["video_paths"]) == len(tasks)
    assert all(Path(path).stat().st_size > 1000 for path in info["overall"]["video_paths"])


class Playing(torch.nn.Module):  # type: ignore[misc]  # torch is not where types are checked
    """Sends recorded actions, one row an environment, and keeps what it was told."""

    def __init__(self, rows: list[NDArray[np.float32]]) -> None:
        super().__init__()
        self.rows, self.step = rows, 0
        self.instructions: list[str] = []

    def reset(self) -> None:
        self.step = 0

    def select_action(self, observation: dict[str, Any]) -> torch.Tensor:
        self.instructions = observation["task"]
        now = [row[min(self.step, len(row) - 1)] for row in self.rows]
        self.step += 1
        return torch.from_numpy(np.stack(now))


@pytest.mark.parametrize("use_async_envs", [False, True])
def test_lerobot_sees_the_expert_succeed(use_async_envs: bool, made: list[Any]) -> None:
    seeds = [0, 4]
    trials = [Trial(TASK, TASKS[TASK].version, "expert", seed) for seed in seeds]
    finished = list(robodx.rollout(trials, robodx.make_policy("expert")))
    rows = [one.trajectory.commands for one in finished if one.trajectory is not None]
    envs = make_env(2, use_async_envs, suite=TASK, size=32)
    made.append(envs)
    policy = Playing(rows)
    played = rollout(
        env=envs["primitive"][0],
        policy=policy,
        env_preprocessor=unprocessed(),
        env_postprocessor=unprocessed(),
        preprocessor=unprocessed(),
        postprocessor=lambda action: action,
        seeds=seeds,
    )
    assert played["success"].any(dim=1).tolist() == [True, True]
    # Done at the step at which the recorded episode ended: the same situations moved alike.
    assert played["done"].int().argmax(dim=1).tolist() == [len(row) - 1 for row in rows]
    assert policy.instructions == [one.episode.instructions[0].text for one in finished]
    first_done = [int(row.int().argmax()) for row in played["done"]]
    returns = [float(rewards[: end + 1].sum()) for rewards, end in zip(played["reward"], first_done, strict=True)]
    assert returns == pytest.approx([1.0, 1.0])
