"""The expert with planted faults: what a diagnosis must find, and nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from robodx.experts.plan_executor import PlanExecutor
from robodx.faults.base import planted
from robodx.faults.plan_executor import FaultyPlanExecutor
from robodx.policies.expert import ExpertPolicy, privileged
from robodx.policies.open_loop import plan_ahead
from robodx.policy_contract import ActionChunk, EpisodeStart, Observation, policy
from robodx.streams import Streams


@policy("fault", takes="NAME")
class FaultPolicy(ExpertPolicy):
    """The expert with a planted fault: colour_blind, weak_grip=0.001, A+B; see: robodx list faults."""

    def __init__(self, names: str) -> None:
        super().__init__()
        self._planted = planted(names)
        latency_s = sum(each.entry.latency_s(each.severity) for each in self._planted)
        self.spec = replace(ExpertPolicy.spec, latency_s=latency_s or None)
        # What is still to be done of the plans of those that planned ahead.
        self._plans: dict[str, ActionChunk] = {}
        self._ahead: list[EpisodeStart] = []

    def executor(self, start: EpisodeStart) -> PlanExecutor:
        world = privileged(start).world
        executor = FaultyPlanExecutor.of(world, 1.0 / self.spec.hz)
        faults = [begun for each in self._planted if (begun := each.begin(start, executor.hands)) is not None]
        executor.plant(faults, list(world.things.values()), Streams(start.policy_seed).rng("fault", "choice"))
        if executor.plans_ahead:
            self._ahead.append(start)
        return executor

    def reset(self, starts: Sequence[EpisodeStart]) -> None:
        self._ahead = []
        super().reset(starts)
        for start in self._ahead:
            self._plans[start.episode_id] = plan_ahead(self._executors[start.episode_id], start, self.spec)

    def act(self, observations: Sequence[Observation]) -> Sequence[ActionChunk]:
        return [self._planned(seen) if seen.episode_id in self._plans else self._act(seen) for seen in observations]

    def finish(self, ids: Sequence[str]) -> None:
        super().finish(ids)
        for episode_id in ids:
            self._plans.pop(episode_id, None)

    def _planned(self, seen: Observation) -> ActionChunk:
        """All of the plan at once; after that the last pose holds."""
        chunk = self._plans[seen.episode_id]
        self._plans[seen.episode_id] = chunk[-1:]
        return chunk
