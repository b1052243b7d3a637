"""The expert as a policy: privileged state in, ordinary actions out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from robodx.experts.plan_executor import PlanExecutor, Understanding
from robodx.experts.skills import Waypoint
from robodx.language.meaning import Meaning
from robodx.policy_contract import ActionChunk, EpisodeStart, Observation, PolicySpec, Privileged, policy
from robodx.sim.geometry import Pose
from robodx.sim.robot import Posed

if TYPE_CHECKING:
    from robodx.sim.world import World


@policy("expert")
class ExpertPolicy:
    """Solves every task from privileged state: the proof that a task is solvable, and the reference path."""

    spec = PolicySpec(action_space="ee_pose", is_privileged=True, state=())

    def __init__(self) -> None:
        self._executors: dict[str, PlanExecutor] = {}

    def understanding(self, start: EpisodeStart) -> Understanding:
        return Understanding()

    def executor(self, start: EpisodeStart) -> PlanExecutor:
        return PlanExecutor.of(privileged(start).world, 1.0 / self.spec.hz, self.understanding(start))

    def reset(self, starts: Sequence[EpisodeStart]) -> None:
        for start in starts:
            self._executors[start.episode_id] = self.executor(start)

    def act(self, observations: Sequence[Observation]) -> Sequence[ActionChunk]:
        return [self._act(observation) for observation in observations]

    def finish(self, ids: Sequence[str]) -> None:
        for episode_id in ids:
            self._executors.pop(episode_id, None)

    def _act(self, observation: Observation) -> ActionChunk:
        executor, shown = self._executors[observation.episode_id], privileged(observation)
        executor.measure(shown.world)
        executor.is_held = shown.is_held
        return told(executor, self.meaning(observation), shown.world)[None]

    def meaning(self, observation: Observation) -> Meaning:
        """What it takes itself to be told."""
        return privileged(observation).meaning


def told(executor: PlanExecutor, meaning: Meaning, world: World) -> ActionChunk:
    """The next step of a plan as one `ee_pose` action (width,) of the robot that is there."""
    waypoints, base = executor.next(meaning, world), world.base
    numbers: list[float] = []
    for part in world.robot.layout("ee_pose"):
        group = part.group
        if part.kind == "pose":
            tool = base.inverse() @ waypoints[group.name].tool
            numbers += [*tool.position, *tool.quaternion]
        elif part.kind == "opening":
            numbers.append(waypoints[group.name].opening)
        elif part.kind == "drive":
            numbers += executor.wheels.velocity if executor.wheels is not None else (0.0, 0.0, 0.0)
        else:
            # No plan moves a lift yet.
            assert isinstance(group, Posed)
            numbers += group.home
    return np.array(numbers, dtype=np.float32)


def to_action(base_in_world: Pose, waypoint: Waypoint) -> ActionChunk:
    """A waypoint as one `ee_pose` action of a robot with one hand."""
    tool = base_in_world.inverse() @ waypoint.tool
    return np.array([*tool.position, *tool.quaternion, waypoint.opening], dtype=np.float32)


def privileged(shown: EpisodeStart | Observation) -> Privileged:
    if shown.privileged is None:
        raise RuntimeError("the expert needs privileged observations")
    return shown.privileged
