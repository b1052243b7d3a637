"""The expert as a policy: privileged state in, ordinary actions out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from robodx.experts import expert
from robodx.experts.skills import Hand, Waypoint
from robodx.language.meaning import Meaning, Reference, Unresolved
from robodx.policies.base import ActionChunk, EpisodeStart, Observation, PolicySpec, policy
from robodx.sim.geometry import Pose
from robodx.sim.world import World

# Which thing each reference is taken to mean.
Resolve = Callable[[Meaning, World], Mapping[Reference, str]]


@dataclass
class _Course:
    """The expert's way through one episode, for the meaning it was last given."""

    hand: Hand
    resolve: Resolve
    meaning: Meaning | None = None
    names: Mapping[Reference, str] | None = None
    waypoints: Iterator[Waypoint] = field(default_factory=lambda: iter(()))


@policy("expert")
class ExpertPolicy:
    """Privileged state; solves every task: the proof that it can be solved, and the reference path."""

    spec = PolicySpec(action_space="ee_pose", is_privileged=True, state=())

    def __init__(self) -> None:
        self._courses: dict[str, _Course] = {}

    def resolver(self, start: EpisodeStart) -> Resolve:
        return expert.resolve_all

    def reset(self, starts: Sequence[EpisodeStart]) -> None:
        for start in starts:
            world = _world(start)
            hand = Hand(world.tool(), world.openings()[0], 1.0 / self.spec.hz, world.tool())
            self._courses[start.episode_id] = _Course(hand, self.resolver(start))

    def act(self, observations: Sequence[Observation]) -> Sequence[ActionChunk]:
        return [self._act(observation) for observation in observations]

    def finish(self, ids: Sequence[str]) -> None:
        for episode_id in ids:
            self._courses.pop(episode_id, None)

    def _act(self, observation: Observation) -> ActionChunk:
        course, privileged = self._courses[observation.episode_id], observation.privileged
        if privileged is None:
            raise RuntimeError("the expert needs privileged observations")
        world, hand = privileged.world, course.hand
        hand.tool, hand.opening = world.tool(), world.openings()[0]
        try:
            names = course.resolve(privileged.meaning, world)
        except Unresolved:
            # What is meant is not there yet, or not told apart yet.
            return to_action(world.base, hand.stay())[None]
        if (course.meaning, course.names) != (privileged.meaning, names):
            course.meaning, course.names = privileged.meaning, names
            course.waypoints = expert.solve(privileged.meaning, world, hand, names)
        return to_action(world.base, next(course.waypoints))[None]


def to_action(base_in_world: Pose, waypoint: Waypoint) -> ActionChunk:
    """A waypoint as one `ee_pose` action."""
    tool = base_in_world.inverse() @ waypoint.tool
    return np.array([*tool.position, *tool.quaternion, waypoint.opening], dtype=np.float32)


def _world(start: EpisodeStart) -> World:
    if start.privileged is None:
        raise RuntimeError("the expert needs privileged observations")
    return start.privileged.world
