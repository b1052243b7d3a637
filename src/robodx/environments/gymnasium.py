"""Every task as a Gymnasium environment, `gymnasium.make("robodx/control.stack_cube-v2")`."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from robodx.policy_contract import STATE, CameraRequest, Observation, PolicySpec
from robodx.records.trial import DEFAULT_ROBOT, Trial
from robodx.records.values import Applied
from robodx.running.environment import Environment
from robodx.running.fit import check_fit
from robodx.sim.render import Renderer
from robodx.sim.robot import ROBOTS, ActionPart, Posed, Robot
from robodx.spaces import ActionSpace
from robodx.tasks.base import TASKS

NAMESPACE = "robodx"
RENDER_PIXELS = 480
# Measured state lies a little outside the nominal ranges: joints give under load, fingers overshoot.
MARGIN = 0.2
MAX_JOINT_SPEED_RAD_S = 50.0
REACH_M = 3.0

Observed = dict[str, Any]


def register() -> None:
    """Register every task as `robodx/FAMILY.NAME-vVERSION`; one slash, for that is all Gymnasium takes."""
    for task in TASKS.entries():
        env_id = f"{NAMESPACE}/{task.id.replace('/', '.')}-v{task.version}"
        if env_id not in gymnasium.registry:
            gymnasium.register(env_id, entry_point=f"{__name__}:GymTask", kwargs={"task": task.id})


class GymTask(gymnasium.Env[Observed, Any]):
    """One task; `reset(seed=K)` gives its situation K, which is the one that `robodx run` calls seed K.

    An observation holds `state` and, where cameras are asked for, `images`. The instruction, which may change, is
    `info["instruction"]`. The reward is the gain in progress: an episode's return is its progress, 1 for success.
    """

    metadata = {"render_modes": ["rgb_array"], "render_fps": 20}  # noqa: RUF012  (Gymnasium's own shape)

    def __init__(
        self,
        task: str,
        *,
        action_space: ActionSpace = "ee_delta",
        cameras: tuple[str, ...] = ("front", "wrist"),
        size: int = 128,
        hz: float = 20.0,
        robot: str = DEFAULT_ROBOT,
        perturbations: tuple[Applied, ...] = (),
        quality: str = "fast",
        render_mode: str | None = None,
    ) -> None:
        self._task, self._robot, self._perturbations, self._quality = TASKS[task], robot, perturbations, quality
        self._spec = PolicySpec(
            action_space=action_space, cameras=tuple(CameraRequest(name, size, size) for name in cameras), hz=hz
        )
        check_fit(self._spec, ROBOTS[robot], self._task.situation(0).scene)
        self.render_mode = render_mode
        self.metadata = {**self.metadata, "render_fps": hz}
        self.action_space = _action_box(action_space, ROBOTS[robot])
        self.observation_space = _observation_space(self._spec, ROBOTS[robot])
        self._environment: Environment | None = None
        self._view: Renderer | None = None

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observed, dict[str, Any]]:
        super().reset(seed=seed)
        situation = int(self.np_random.integers(2**31)) if seed is None else seed
        self.close()
        trial = Trial(
            self._task.id, self._task.version, "gymnasium", situation, self._robot, perturbations=self._perturbations
        )
        self._environment = Environment(trial, self._spec, quality=self._quality)
        return self._observed(self._environment.observe()), self._info(self._environment)

    def step(self, action: NDArray[np.float32]) -> tuple[Observed, float, bool, bool, dict[str, Any]]:
        environment = self.running
        before = environment.score.progress
        environment.accept(np.asarray(action)[None], 0.0)
        if environment.invalid_action is not None:
            raise ValueError(environment.invalid_action)
        environment.step()
        is_over = environment.score.is_over
        return (
            self._observed(environment.observe()),
            environment.score.progress - before,
            is_over,
            environment.is_done and not is_over,
            self._info(environment),
        )

    def render(self) -> NDArray[np.uint8] | None:
        if self.render_mode != "rgb_array":
            return None
        if self._view is None:
            largest = (RENDER_PIXELS, RENDER_PIXELS)
            self._view = Renderer(self.running.simulation, largest=largest, quality="standard")
        return self._view.rgb("front", RENDER_PIXELS, RENDER_PIXELS)

    def close(self) -> None:
        if self._view is not None:
            self._view.close()
            self._view = None
        if self._environment is not None:
            self._environment.close()

    @property
    def running(self) -> Environment:
        """What is underneath: the world, the score and the record of the episode under way."""
        if self._environment is None:
            raise gymnasium.error.ResetNeeded("call reset before anything else")
        return self._environment

    def _observed(self, observation: Observation) -> Observed:
        observed: Observed = {"state": dict(observation.state)}
        if self._spec.cameras:
            observed["images"] = dict(observation.images)
        return observed

    def _info(self, environment: Environment) -> dict[str, Any]:
        score = environment.score
        return {
            "instruction": environment.instruction_updates[-1].text,
            "success": score.is_success,
            "progress": score.progress,
            "stages_reached": score.reached,
        }


def _action_box(space: ActionSpace, robot: Robot) -> spaces.Box:
    bounds = [pair for part in robot.layout(space) for pair in _bounds(part)]
    low, high = np.array(bounds, dtype=np.float32).T
    return spaces.Box(low, high, dtype=np.float32)


def _bounds(part: ActionPart) -> list[tuple[float, float]]:
    if part.kind == "step":
        return [(-0.05, 0.05)] * 3 + [(-0.25, 0.25)] * 3
    if part.kind == "pose":
        return [(-1.0, 1.0)] * 7
    if part.kind == "opening":
        return [(0.0, 1.0)]
    if part.kind == "position":
        assert isinstance(part.group, Posed)
        return list(zip(part.group.lower, part.group.upper, strict=True))
    return [(-speed, speed) for speed in part.group.max_speed]


def _observation_space(spec: PolicySpec, robot: Robot) -> spaces.Dict:
    joints = [
        (lower - MARGIN, upper + MARGIN)
        for group in robot.posed
        for lower, upper in zip(group.lower, group.upper, strict=True)
    ]
    pose = [(-REACH_M, REACH_M)] * 3 + [(-1.0 - MARGIN, 1.0 + MARGIN)] * 4
    bounds = {
        "joint_positions": joints,
        "joint_velocities": [(-MAX_JOINT_SPEED_RAD_S, MAX_JOINT_SPEED_RAD_S)] * len(joints),
        "gripper_opening": [(-MARGIN, 1.0 + MARGIN)] * len(robot.arms),
        "ee_pose": pose * len(robot.arms),
        # A base may drive anywhere.
        "base_pose": pose if robot.base is None else [(-np.inf, np.inf)] * 2 + pose[2:],
    }
    state: dict[str, spaces.Space[Any]] = {}
    for name in STATE:
        low, high = np.array(bounds[name], dtype=np.float32).T
        state[name] = spaces.Box(low, high, dtype=np.float32)
    images: dict[str, spaces.Space[Any]] = {
        camera.name: spaces.Box(0, 255, (camera.height, camera.width, 3), dtype=np.uint8) for camera in spec.cameras
    }
    parts: dict[str, spaces.Space[Any]] = {"state": spaces.Dict(state)}
    if images:
        parts["images"] = spaces.Dict(images)
    return spaces.Dict(parts)
