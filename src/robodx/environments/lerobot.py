"""RoboDx's tasks as LeRobot's EnvHub expects them: an `env.py` that offers `make_env`; LeRobot itself is not needed."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.vector import AsyncVectorEnv, AutoresetMode, SyncVectorEnv

from robodx.environments.gymnasium import GymTask, Observed
from robodx.environments.selection import Setting, settings
from robodx.errors import UserError
from robodx.policy_contract import STATE
from robodx.records.trial import DEFAULT_ROBOT
from robodx.records.values import Applied
from robodx.registry import UnknownName, unknown
from robodx.spaces import ActionSpace


def make_env(
    n_envs: int = 1,
    use_async_envs: bool = False,
    *,
    suite: str = "control",
    action_space: ActionSpace = "joint",
    cameras: Sequence[str] = ("front", "wrist"),
    size: int = 128,
    agent_pos: Sequence[str] = ("joint_positions", "gripper_opening"),
    hz: float = 20.0,
    robot: str = DEFAULT_ROBOT,
    perturbations: Sequence[Applied] = (),
    quality: str = "fast",
) -> dict[str, dict[int, SyncVectorEnv | AsyncVectorEnv]]:
    """Every task of a suite, a family, a tier or a task's own id, by family and number, each `n_envs` times.

    `agent_pos` names the parts of the state that are joined, in that order: by default the joint positions in radians
    and then the gripper's opening, 0 (closed) to 1.
    """
    if n_envs < 1:
        raise UserError(f"n_envs is {n_envs}: at least 1 environment is needed")
    made: dict[str, dict[int, SyncVectorEnv | AsyncVectorEnv]] = {}
    for setting in settings(suite, robot=robot, perturbations=tuple((name, level) for name, level in perturbations)):
        make = partial(
            LeRobotTask,
            setting,
            agent_pos=tuple(agent_pos),
            action_space=action_space,
            cameras=tuple(cameras),
            size=size,
            hz=hz,
            robot=robot,
            quality=quality,
        )
        family = made.setdefault(setting.task.family, {})
        # LeRobot reads success from `final_info`, which there is only where the reset happens within the last step.
        family[len(family)] = (
            _AskableAsyncVectorEnv([make] * n_envs, context="spawn", autoreset_mode=AutoresetMode.SAME_STEP)
            if use_async_envs
            else SyncVectorEnv([make] * n_envs, autoreset_mode=AutoresetMode.SAME_STEP)
        )
    return made


class LeRobotTask(gymnasium.Wrapper[Observed, Any, Observed, Any]):
    """One task with LeRobot's names: `pixels`, `agent_pos`, `task_description`, `is_success`."""

    def __init__(self, setting: Setting, *, agent_pos: tuple[str, ...], **options: Any) -> None:
        for part in agent_pos:
            if part not in STATE:
                raise UnknownName(unknown("part of the state", part, STATE))
        inner = GymTask(setting.task.id, perturbations=setting.perturbations, render_mode="rgb_array", **options)
        super().__init__(inner)
        self._inner, self._agent_pos, self._setting = inner, agent_pos, setting
        self._instruction = ""
        # LeRobot reads this, underscore and all.
        self._max_episode_steps = round(setting.task.time_limit_s * inner.metadata["render_fps"])
        self.observation_space = self._named_space()

    @property
    def task(self) -> str:
        return self._setting.name

    @property
    def task_description(self) -> str:
        """What the policy is told, which may change within an episode; empty before the first."""
        return self._instruction

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observed, dict[str, Any]]:
        observed, info = self._inner.reset(seed=seed, options=options)
        return self._named(observed), self._noted(info)

    def step(self, action: Any) -> tuple[Observed, float, bool, bool, dict[str, Any]]:
        observed, reward, terminated, truncated, info = self._inner.step(action)
        return self._named(observed), reward, terminated, truncated, self._noted(info)

    def _noted(self, info: dict[str, Any]) -> dict[str, Any]:
        self._instruction = info["instruction"]
        return {**info, "is_success": info["success"]}

    def _named(self, observed: Observed) -> Observed:
        named: Observed = {"pixels": observed["images"]} if "images" in observed else {}
        if self._agent_pos:
            named["agent_pos"] = np.concatenate([observed["state"][part] for part in self._agent_pos])
        return named

    def _named_space(self) -> spaces.Dict:
        inner = self._inner.observation_space
        assert isinstance(inner, spaces.Dict)
        named: dict[str, spaces.Space[Any]] = {"pixels": inner["images"]} if "images" in inner.spaces else {}
        if self._agent_pos:
            state = inner["state"]
            assert isinstance(state, spaces.Dict)
            named["agent_pos"] = _joined([state[part] for part in self._agent_pos])
        return spaces.Dict(named)


class _AskableAsyncVectorEnv(AsyncVectorEnv):
    """LeRobot looks at `envs[0]` for what can be asked; those live in other processes, so their class answers."""

    @property
    def envs(self) -> tuple[type[LeRobotTask], ...]:
        return (LeRobotTask,) * self.num_envs


def _joined(parts: Sequence[spaces.Space[Any]]) -> spaces.Box:
    boxes = [part for part in parts if isinstance(part, spaces.Box)]
    return spaces.Box(
        np.concatenate([box.low for box in boxes]), np.concatenate([box.high for box in boxes]), dtype=np.float32
    )
