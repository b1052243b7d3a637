"""The operator as a policy, and the observer that shows the operator what the robot does."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from robodx.learned.acting import STATE
from robodx.policies.demonstrator import cameras_of
from robodx.policy_contract import ActionChunk, EpisodeStart, Observation, PolicySpec
from robodx.records.trial import Trial
from robodx.running.environment import Environment
from robodx.running.generating import EXPERT_HZ
from robodx.running.observers import EpisodeObserver, Finished
from robodx.sim.geometry import Pose
from robodx.sim.render import Renderer
from robodx.teleoperation.console import Console, Decision, Status
from robodx.teleoperation.steering import Target, advanced, yaw_of

# What the operator sees, larger than what is recorded; without shadows, which cost five times as long without a GPU.
SHOWN = ("front", "wrist")
SHOWN_SIZE = 400
# Every second step: ten pictures a second.
SHOWN_EVERY = 2
# Of what may cut a command short, that by which the hand cannot get where it is told.
LIMITS = ("reach", "joint range")


class Abandoned(Exception):
    """The operator decided before the attempt was over."""

    def __init__(self, decision: Decision) -> None:
        super().__init__(f"the operator chose to {decision}")
        self.decision = decision


class TeleopPolicy:
    """Sends the hand where the operator's velocities lead it; what is recorded are these poses."""

    def __init__(self, console: Console, cameras: str) -> None:
        self._console = console
        # What a person takes to answer is world time, in which the robot holds still: no latency beside it.
        self.spec = PolicySpec(
            action_space="ee_pose", cameras=cameras_of(cameras), state=STATE, hz=EXPERT_HZ, latency_s=0.0
        )
        self._targets: dict[str, Target] = {}
        self.abandoned: Decision | None = None

    def reset(self, starts: Sequence[EpisodeStart]) -> None:
        self.abandoned = None
        for start in starts:
            self._targets.pop(start.episode_id, None)

    def act(self, observations: Sequence[Observation]) -> Sequence[ActionChunk | Exception]:
        return [self._act(one) for one in observations]

    def finish(self, ids: Sequence[str]) -> None:
        for one in ids:
            self._targets.pop(one, None)

    def _act(self, observation: Observation) -> ActionChunk | Exception:
        pose = observation.state["ee_pose"].tolist()
        tool = Pose.of(pose[:3], pose[3:7])
        target = self._targets.get(observation.episode_id)
        if target is None:
            target = Target.at(tool)
            self._console.ready()
        # At once, while an attempt is under way.
        self.abandoned = self._console.await_input()
        if self.abandoned is not None:
            return Abandoned(self.abandoned)
        velocity, opening = self._console.command()
        self._targets[observation.episode_id] = target = advanced(target, velocity, tool, 1.0 / self.spec.hz)
        told = [*target.pose.position, *target.pose.quaternion, opening]
        return np.array([told], dtype=np.float32)


@dataclass
class LiveView(EpisodeObserver):
    """Draws what the operator sees, and lets the world's time pass no faster than the clock on the wall."""

    console: Console
    # World seconds in a second.
    pace: float = 1.0
    _renderer: Renderer | None = None
    _due_s: float = 0.0
    _limit_steps: int = 0
    _cameras: tuple[str, ...] = field(default=SHOWN)

    def before_episode(self, environment: Environment) -> None:
        there = (*(camera.name for camera in environment.simulation.scene.cameras), *environment.robot.cameras)
        self._cameras = tuple(name for name in SHOWN if name in there) or there[:1]
        self.close()
        self._renderer = Renderer(environment.simulation, largest=(SHOWN_SIZE, SHOWN_SIZE))
        self._limit_steps = 0
        self._show(environment)

    def after_step(self, environment: Environment) -> None:
        if environment.simulation.step_count % SHOWN_EVERY == 0 or environment.is_done:
            self._show(environment)
        # Behind time, it goes on from here: it never runs faster to catch up, for nobody could follow.
        now_s = time.monotonic()
        period_s = 1.0 / (environment.spec.hz * self.pace)
        self._due_s = max(self._due_s + period_s, now_s - period_s)
        time.sleep(max(self._due_s - now_s, 0.0))

    def after_episode(self, trial: Trial, finished: Finished) -> Finished:
        self.close()
        return finished

    def close(self) -> None:
        if self._renderer is not None:
            self._renderer.close()
            self._renderer = None

    def _show(self, environment: Environment) -> None:
        assert self._renderer is not None
        images = {name: self._renderer.rgb(name, SHOWN_SIZE, SHOWN_SIZE) for name in self._cameras}
        self.console.draw(images)
        simulation, score = environment.simulation, environment.score
        tool = environment.robot.base_in_world.inverse() @ simulation.tool_in_world()
        was, self._limit_steps = self._limit_steps, sum(environment.limit_counts[name] for name in LIMITS)
        self.console.show(
            Status(
                instruction=environment.instruction_updates[-1].text,
                stages=tuple(str(stage) for stage in score.stages),
                reached=score.reached,
                time_s=simulation.time_s,
                limit_s=environment.max_steps / environment.spec.hz,
                tool=tool.position,
                yaw_rad=yaw_of(tool),
                is_at_limit=self._limit_steps > was,
            )
        )
