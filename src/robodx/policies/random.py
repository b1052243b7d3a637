"""The policy that moves at random."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from robodx.policy_contract import ActionChunk, EpisodeStart, Observation, PolicySpec, policy

# The bounds of `ee_delta`: position, rotation, gripper opening.
LOWER = np.array([-0.05] * 3 + [-0.25] * 3 + [0.0])
UPPER = np.array([0.05] * 3 + [0.25] * 3 + [1.0])


@policy("random")
class RandomPolicy:
    """Draws every action uniformly from the action space: the success that needs no skill."""

    spec = PolicySpec(action_space="ee_delta", state=())

    def __init__(self) -> None:
        self._rngs: dict[str, np.random.Generator] = {}

    def reset(self, starts: Sequence[EpisodeStart]) -> None:
        for start in starts:
            self._rngs[start.episode_id] = np.random.Generator(np.random.PCG64(start.policy_seed))

    def act(self, observations: Sequence[Observation]) -> Sequence[ActionChunk]:
        return [
            self._rngs[observation.episode_id].uniform(LOWER, UPPER).astype(np.float32)[None]
            for observation in observations
        ]

    def finish(self, ids: Sequence[str]) -> None:
        for episode_id in ids:
            self._rngs.pop(episode_id, None)
