"""The expert as a policy: privileged state in, ordinary actions out."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from robodx.experts.plan_executor import PlanExecutor, Understanding
from robodx.experts.skills import Hand, Waypoint
from robodx.language.meaning import Meaning
from robodx.policy_contract import ActionChunk, EpisodeStart, Observation, PolicySpec, Privileged, policy
from robodx.sim.geometry import Pose


@policy("expert")
class ExpertPolicy:
    """Solves every task from privileged state: the proof that a task is solvable, and the reference path."""

    spec = PolicySpec(action_space="ee_pose", is_privileged=True, state=())

    def __init__(self) -> None:
        self._executors: dict[str, PlanExecutor] = {}

    def understanding(self, start: EpisodeStart) -> Understanding:
        return Understanding()

    def executor(self, start: EpisodeStart, hand: Hand) -> PlanExecutor:
        return PlanExecutor(hand, self.understanding(start))

    def reset(self, starts: Sequence[EpisodeStart]) -> None:
        for start in starts:
            world = privileged(start).world
            hand = Hand(world.tool(), world.openings()[0], 1.0 / self.spec.hz, world.tool())
            self._executors[start.episode_id] = self.executor(start, hand)

    def act(self, observations: Sequence[Observation]) -> Sequence[ActionChunk]:
        return [self._act(observation) for observation in observations]

    def finish(self, ids: Sequence[str]) -> None:
        for episode_id in ids:
            self._executors.pop(episode_id, None)

    def _act(self, observation: Observation) -> ActionChunk:
        executor, shown = self._executors[observation.episode_id], privileged(observation)
        executor.hand.tool, executor.hand.opening = shown.world.tool(), shown.world.openings()[0]
        executor.is_held = shown.is_held
        return to_action(shown.world.base, executor.next(self.meaning(observation), shown.world))[None]

    def meaning(self, observation: Observation) -> Meaning:
        """What it takes itself to be told."""
        return privileged(observation).meaning


def to_action(base_in_world: Pose, waypoint: Waypoint) -> ActionChunk:
    """A waypoint as one `ee_pose` action."""
    tool = base_in_world.inverse() @ waypoint.tool
    return np.array([*tool.position, *tool.quaternion, waypoint.opening], dtype=np.float32)


def privileged(shown: EpisodeStart | Observation) -> Privileged:
    if shown.privileged is None:
        raise RuntimeError("the expert needs privileged observations")
    return shown.privileged
