"""The expert without feedback after the first frame: it executes the plan that works if nothing changes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from robodx.experts.plan_executor import PlanExecutor
from robodx.policies.expert import ExpertPolicy, privileged, told
from robodx.policy_contract import ActionChunk, EpisodeStart, Observation, PolicySpec, policy
from robodx.robots.control import Controller
from robodx.sim.build import PHYSICS_STEP_S
from robodx.sim.robot import ROBOTS
from robodx.sim.world import World

# What takes longer than this is not planned further ahead: as long as most tasks last.
HORIZON_S = 20.0


@policy("open_loop")
class OpenLoopPolicy(ExpertPolicy):
    """The expert's plan from the first frame, executed without feedback: fails where something changes."""

    def __init__(self) -> None:
        super().__init__()
        # What is still to be done of each plan.
        self._plans: dict[str, ActionChunk] = {}

    def reset(self, starts: Sequence[EpisodeStart]) -> None:
        super().reset(starts)
        for start in starts:
            self._plans[start.episode_id] = plan_ahead(self._executors[start.episode_id], start, self.spec)

    def act(self, observations: Sequence[Observation]) -> Sequence[ActionChunk]:
        chunks = [self._plans[observation.episode_id] for observation in observations]
        for observation, chunk in zip(observations, chunks, strict=True):
            # All of it at once; after that the last pose holds.
            self._plans[observation.episode_id] = chunk[-1:]
        return chunks

    def finish(self, ids: Sequence[str]) -> None:
        super().finish(ids)
        for episode_id in ids:
            self._plans.pop(episode_id, None)


def plan_ahead(executor: PlanExecutor, start: EpisodeStart, spec: PolicySpec) -> ActionChunk:
    """The actions (n, width) with which a plan executor does what is asked in a world where nothing else happens."""
    shown = privileged(start)
    simulation = shown.world.imagined()
    world, controller = World(simulation), Controller(ROBOTS[start.robot], spec.action_space)
    substeps = round(1.0 / spec.hz / PHYSICS_STEP_S)
    actions: list[ActionChunk] = []
    while not executor.is_done and len(actions) < HORIZON_S * spec.hz:
        executor.measure(world)
        actions.append(told(executor, shown.meaning, world))
        resolved = controller.resolve(actions[-1], simulation.command, substeps * PHYSICS_STEP_S)
        simulation.step(resolved.command, substeps)
    return np.stack(actions)
