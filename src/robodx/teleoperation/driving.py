"""The operator as a policy, and the observer that shows the operator what the robot does."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from robodx.learned.acting import STATE
from robodx.policies.demonstrator import cameras_of
from robodx.policy_contract import ActionChunk, EpisodeStart, Observation, PolicySpec
from robodx.records.trial import Trial
from robodx.robots.kinematics import Kinematics
from robodx.running.environment import Environment
from robodx.running.generating import EXPERT_HZ
from robodx.running.observers import EpisodeObserver, Finished
from robodx.sim.geometry import Array, Pose, interpolate
from robodx.sim.render import Renderer
from robodx.teleoperation.console import Console, Decision, Status
from robodx.teleoperation.steering import Target, Velocity, advanced, yaw_of

# What the operator sees, larger than what is recorded; without shadows, which cost five times as long without a GPU.
SHOWN = ("front", "wrist")
SHOWN_SIZE = 400
# Every second step: ten pictures a second.
SHOWN_EVERY = 2


# Of a step that the arm cannot follow as much of it is tried: a stretched arm bends slowly.
SHARES = (1.0, 0.3)
# Metres that the hand moves in a radian of all joints, in the direction in which it moves least. All that tasks place
# on the table is well above; a stretched arm comes to 0.
LEAST_DEXTERITY = 0.08
# An arm whose joints are this far from where they were led was carried there by something else, and is led from there.
ASTRAY_RAD = 0.1


class Abandoned(Exception):
    """The operator decided before the attempt was over."""

    def __init__(self, decision: Decision) -> None:
        super().__init__(f"the operator chose to {decision}")
        self.decision = decision


@dataclass
class Way:
    """Where a hand was told to go so far, no further than its arm can follow.

    At the end of its reach an arm that is told to go on swings about: what it cannot follow it is not told.
    """

    kinematics: Kinematics
    target: Target
    # The arm's, at the target.
    joints: Array
    is_at_limit: bool = False

    def advance(self, asked: Velocity, tool: Pose, joints: Array, period_s: float) -> Pose:
        """One control step on; `tool` and `joints` are measured."""
        if np.abs(joints - self.joints).max() > ASTRAY_RAD:
            self.joints, self.target = joints, Target.at(tool)
        # Where it cannot turn further it may still move, and the other way round.
        for velocity in dict.fromkeys((asked, replace(asked, yaw=0.0), Velocity(yaw=asked.yaw))):
            wanted = advanced(self.target, velocity, tool, period_s)
            for share in SHARES:
                if self._go(wanted, share, period_s):
                    self.is_at_limit = velocity != asked
                    return self.target.pose
        self.target, self.is_at_limit = replace(self.target, velocity_m_s=(0.0, 0.0, 0.0)), True
        return self.target.pose

    def _go(self, wanted: Target, share: float, period_s: float) -> bool:
        """That share of the way, if the arm can follow."""
        before = self.target
        pose = wanted.pose if share == 1.0 else interpolate(before.pose, wanted.pose, share)
        joints = self._followed(pose, period_s) if pose != before.pose else self.joints
        if joints is None:
            return False
        x, y, z = wanted.velocity_m_s
        yaw = before.yaw_rad + share * (wanted.yaw_rad - before.yaw_rad)
        self.target, self.joints = Target(pose, yaw, (share * x, share * y, share * z)), joints
        return True

    def _followed(self, pose: Pose, period_s: float) -> Array | None:
        """The joints there, if the arm can be there a step later, and is not led where it could not come back from."""
        solution = self.kinematics.solve(pose, self.joints)
        fastest = np.array(self.kinematics.arm.max_speed)
        if not solution.is_reached or (np.abs(solution.joints - self.joints) > period_s * fastest).any():
            return None
        dexterity = self.kinematics.dexterity(solution.joints)
        is_agile = dexterity >= min(LEAST_DEXTERITY, self.kinematics.dexterity(self.joints))
        return solution.joints if is_agile or self._is_back(solution.joints) else None

    def _is_back(self, joints: Array) -> bool:
        home = np.array(self.kinematics.arm.home)
        return bool(np.linalg.norm(joints - home) < np.linalg.norm(self.joints - home))


class TeleopPolicy:
    """Sends the hand where the operator's velocities lead it; what is recorded are these poses."""

    def __init__(self, console: Console, cameras: str) -> None:
        self._console = console
        # What a person takes to answer is world time, in which the robot holds still: no latency beside it.
        self.spec = PolicySpec(
            action_space="ee_pose", cameras=cameras_of(cameras), state=STATE, hz=EXPERT_HZ, latency_s=0.0
        )
        self._robots: dict[str, str] = {}
        self._ways: dict[str, Way] = {}
        self.abandoned: Decision | None = None

    def reset(self, starts: Sequence[EpisodeStart]) -> None:
        self.abandoned = None
        for start in starts:
            self._robots[start.episode_id] = start.robot
            self._ways.pop(start.episode_id, None)

    def act(self, observations: Sequence[Observation]) -> Sequence[ActionChunk | Exception]:
        return [self._act(one) for one in observations]

    def finish(self, ids: Sequence[str]) -> None:
        for one in ids:
            self._robots.pop(one, None)
            self._ways.pop(one, None)

    def _act(self, observation: Observation) -> ActionChunk | Exception:
        pose = observation.state["ee_pose"].tolist()
        tool = Pose.of(pose[:3], pose[3:7])
        way = self._ways.get(observation.episode_id)
        joints = observation.state["joint_positions"].astype(np.float64)
        if way is None:
            way = Way(Kinematics(self._robots[observation.episode_id]), Target.at(tool), joints)
            self._ways[observation.episode_id] = way
            self._console.ready()
        # At once, while an attempt is under way.
        self.abandoned = self._console.await_input()
        if self.abandoned is not None:
            return Abandoned(self.abandoned)
        velocity, opening = self._console.command()
        told = way.advance(velocity, tool, joints, 1.0 / self.spec.hz)
        self._console.note_limit(way.is_at_limit)
        return np.array([[*told.position, *told.quaternion, opening]], dtype=np.float32)


@dataclass
class LiveView(EpisodeObserver):
    """Draws what the operator sees, and lets the world's time pass no faster than the clock on the wall."""

    console: Console
    # World seconds in a second.
    pace: float = 1.0
    _renderer: Renderer | None = None
    _due_s: float = 0.0
    _cameras: tuple[str, ...] = field(default=SHOWN)

    def before_episode(self, environment: Environment) -> None:
        there = (*(camera.name for camera in environment.simulation.scene.cameras), *environment.robot.cameras)
        self._cameras = tuple(name for name in SHOWN if name in there) or there[:1]
        self.close()
        self._renderer = Renderer(environment.simulation, largest=(SHOWN_SIZE, SHOWN_SIZE))
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
        tool = simulation.base_in_world().inverse() @ simulation.tool_in_world()
        self.console.show(
            Status(
                instruction=environment.instruction_updates[-1].text,
                stages=tuple(str(stage) for stage in score.stages),
                reached=score.reached,
                time_s=simulation.time_s,
                limit_s=environment.max_steps / environment.spec.hz,
                tool=tool.position,
                yaw_rad=yaw_of(tool),
            )
        )
