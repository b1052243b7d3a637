"""The policy that moves at random."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from robodx.policies.base import ActionChunk, EpisodeStart, Observation, PolicySpec, policy

# Standard deviations a step: brisk enough to wander over the whole table in 20 s.
STEP_M = 0.02
STEP_RAD = 0.05


@policy("random")
class RandomPolicy:
    """Draws hand motions and gripper openings from its seed: success that needs no skill."""

    spec = PolicySpec(action_space="ee_delta", uses_language=False)

    def __init__(self) -> None:
        self._rngs: dict[str, np.random.Generator] = {}

    def reset(self, starts: Sequence[EpisodeStart]) -> None:
        for start in starts:
            self._rngs[start.episode_id] = np.random.Generator(np.random.PCG64(start.policy_seed))

    def act(self, observations: Sequence[Observation]) -> Sequence[ActionChunk]:
        return [self._act(self._rngs[observation.episode_id]) for observation in observations]

    def finish(self, ids: Sequence[str]) -> None:
        for episode_id in ids:
            self._rngs.pop(episode_id, None)

    def _act(self, rng: np.random.Generator) -> ActionChunk:
        motion = rng.normal(0.0, [STEP_M] * 3 + [STEP_RAD] * 3)
        return np.array([[*motion, rng.random()]], dtype=np.float32)
