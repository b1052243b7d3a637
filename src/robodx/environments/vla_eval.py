"""RoboDx's tasks as a benchmark of the vla-eval harness, `robodx.environments.vla_eval:RoboDxBenchmark`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from vla_eval.benchmarks.base import StepBenchmark, StepResult
from vla_eval.render import apply_env
from vla_eval.specs import IMAGE_RGB, LANGUAGE, DimSpec

from robodx.environments.selection import settings
from robodx.errors import UserError
from robodx.policy_contract import CameraRequest, Observation, PolicySpec
from robodx.records.trial import DEFAULT_ROBOT, Trial
from robodx.records.values import Applied
from robodx.robots.control import MAX_DELTA_M, MAX_DELTA_RAD
from robodx.running.environment import Environment
from robodx.running.fit import check_fit
from robodx.sim.robot import ROBOTS, Arm
from robodx.spaces import ActionSpace

# Where the GL dispatch library looks for drivers; Mesa's can draw without a GPU.
EGL_VENDORS = Path("/usr/share/glvnd/egl_vendor.d")
# What a real-time run executes while the server thinks: RoboDx's last command holds, whatever the action space.
HOLD: dict[str, Any] = {"hold": True}


class RoboDxBenchmark(StepBenchmark):  # type: ignore[misc]  # vla-eval does not ship its types
    """A suite, a family, a tier or a task of RoboDx; episode K of a task is what `robodx run` calls seed K.

    Observations follow vla-eval's conventions: `images`, `task_description`, and the state under both of its usual
    names. Actions are those of the declared RoboDx action space, unscaled; docs/conventions.md says what they mean.
    """

    render_backends = frozenset({"gpu", "cpu"})
    _ALL_RECORD_FIELDS = frozenset({"action", "reward", "done", "success", "progress", "stages_reached"})

    @classmethod
    def configure_render(cls, mode: str) -> dict[str, str]:
        """On `cpu` the GL is told to use Mesa's software renderer and no other; RoboDx itself settles MUJOCO_GL."""
        if mode == "gpu":
            return {}
        mesa = sorted(EGL_VENDORS.glob("*mesa*.json"))
        vendor = {"__EGL_VENDOR_LIBRARY_FILENAMES": str(mesa[0])} if mesa else {}
        return dict(apply_env({"LIBGL_ALWAYS_SOFTWARE": "1", **vendor}))

    def __init__(
        self,
        suite: str = "capability",
        *,
        action_space: ActionSpace = "ee_delta",
        cameras: Sequence[str] = ("front",),
        size: int = 128,
        send_wrist_image: bool = True,
        send_state: bool = True,
        state: Sequence[str] = ("joint_positions", "gripper_opening"),
        hz: float = 20.0,
        robot: str = DEFAULT_ROBOT,
        perturbations: Sequence[Applied] = (),
        quality: str = "fast",
    ) -> None:
        super().__init__()
        self._robot, self._quality = ROBOTS[robot], quality
        chosen = settings(suite, robot=robot, perturbations=tuple((name, level) for name, level in perturbations))
        self._settings = {setting.name: setting for setting in chosen}
        # A server that needs them says so in these two words when it is connected to.
        names = [*cameras, *(["wrist"] if send_wrist_image and "wrist" not in cameras else [])]
        self._spec = PolicySpec(
            action_space=action_space,
            cameras=tuple(CameraRequest(name, size, size) for name in names),
            state=tuple(state) if send_state else (),
            hz=hz,
        )
        for setting in chosen:
            check_fit(self._spec, self._robot, setting.task.situation(0).scene)
        self._environment: Environment | None = None

    # What there is to run.

    def get_tasks(self) -> list[dict[str, Any]]:
        return [{"name": setting.name, "suite": setting.task.family} for setting in self._settings.values()]

    def get_metadata(self) -> dict[str, Any]:
        # The longest: each task ends at its own limit.
        longest_s = max(setting.task.time_limit_s for setting in self._settings.values())
        return {"max_steps": round(longest_s * self._spec.hz), "hz": self._spec.hz, "robot": self._robot.name}

    def get_metric_keys(self) -> dict[str, str]:
        return {"success": "mean", "progress": "mean"}

    # An episode.

    def reset(self, task: dict[str, Any]) -> Observation:
        self.cleanup()
        setting = self._settings[task["name"]]
        trial = Trial(
            setting.task.id,
            setting.task.version,
            "vla-eval",
            int(task["episode_idx"]),
            self._robot.name,
            perturbations=setting.perturbations,
        )
        self._environment = Environment(trial, self._spec, quality=self._quality)
        return self._observe()

    def step(self, action: dict[str, Any]) -> StepResult:
        environment = self.running
        before = environment.score.progress
        sent = None if action is HOLD else read_action(action)
        if sent is not None:
            environment.accept(sent, 0.0)
        # An action that cannot be executed has ended the episode.
        if not environment.is_done:
            environment.step()
        score = environment.score
        reward = score.progress - before
        self._recorder.record_step(
            action=None if sent is None else sent[0],
            reward=reward,
            done=environment.is_done,
            success=score.is_success,
            progress=score.progress,
            stages_reached=score.reached,
        )
        return StepResult(self._observe(), reward, environment.is_done, {})

    def make_obs(self, raw_obs: Observation, task: dict[str, Any]) -> dict[str, Any]:
        observation: dict[str, Any] = {"images": dict(raw_obs.images), "task_description": raw_obs.instruction}
        if self._spec.state:
            vector = np.concatenate([raw_obs.state[name] for name in self._spec.state])
            # Servers read the one or the other.
            observation |= {"state": vector, "states": vector}
        return observation

    def get_step_result(self, step_result: StepResult) -> dict[str, Any]:
        environment = self.running
        score = environment.score
        result = {"success": score.is_success, "progress": score.progress, "stages_reached": score.reached}
        return result if environment.invalid_action is None else {**result, "error": environment.invalid_action}

    def get_hold_action(self, last_action: dict[str, Any] | None) -> dict[str, Any]:
        return HOLD

    def cleanup(self) -> None:
        if self._environment is not None:
            self._environment.close()
            self._environment = None

    def render(self) -> NDArray[np.uint8] | None:
        """What the server saw last: looking anew would be one more observation to a perturbation that counts them."""
        seen: Observation | None = self._last_result.obs
        return self._frame(seen) if seen is not None else None

    @property
    def running(self) -> Environment:
        """What is underneath: the world, the score and the record of the episode under way."""
        if self._environment is None:
            raise RuntimeError("no episode is under way: call reset first")
        return self._environment

    def _observe(self) -> Observation:
        observation = self.running.observe()
        self._recorder.record_video(self._frame(observation))
        return observation

    def _frame(self, observation: Observation) -> NDArray[np.uint8] | None:
        return observation.images[self._spec.cameras[0].name] if self._spec.cameras else None

    # What is declared, for the harness to compare with the server's own declaration.

    def get_action_spec(self) -> dict[str, DimSpec]:
        arms = self._robot.arms
        return {
            name if len(arms) == 1 else f"{arm.name}_{name}": part
            for arm in arms
            for name, part in _arm_spec(self._spec.action_space, arm).items()
        }

    def get_observation_spec(self) -> dict[str, DimSpec]:
        spec = {camera.name: IMAGE_RGB for camera in self._spec.cameras} | {"language": LANGUAGE}
        if self._spec.state:
            spec["state"] = DimSpec("state", 0, "+".join(self._spec.state))
        return spec


def read_action(action: dict[str, Any]) -> NDArray[Any]:
    """The one action (1, action_dim) of a server's reply."""
    if "actions" not in action:
        raise UserError(f'the server\'s reply has no "actions"; it holds: {", ".join(action) or "nothing"}')
    actions = np.asarray(action["actions"])
    if actions.ndim == 2 and len(actions) > 1:
        raise UserError(
            f"the server sent {len(actions)} actions for one observation, but this harness executes one at a time: "
            "give the server a chunk_size, so that it hands them out one by one"
        )
    return actions if actions.ndim == 2 else actions[None]


def _arm_spec(space: ActionSpace, arm: Arm) -> dict[str, DimSpec]:
    """Formats have names of their own where vla-eval's mean something else: its deltas are scaled to -1 … 1."""
    gripper = DimSpec("gripper", 1, "opening_01", (0.0, 1.0), description="0 closed, 1 open")
    if space == "ee_delta":
        return {
            "position": DimSpec("position", 3, "delta_xyz_m", (-MAX_DELTA_M, MAX_DELTA_M)),
            "rotation": DimSpec("rotation", 3, "delta_rotation_vector_rad", (-MAX_DELTA_RAD, MAX_DELTA_RAD)),
            "gripper": gripper,
        }
    if space == "ee_pose":
        return {
            "position": DimSpec("position", 3, "absolute_xyz", description="metres, in the robot's base frame"),
            "rotation": DimSpec("rotation", 4, "quaternion_wxyz", (-1.0, 1.0)),
            "gripper": gripper,
        }
    form = "joint_positions" if space == "joint" else "joint_velocities"
    return {"joints": DimSpec("joints", len(arm.joints), form), "gripper": gripper}
