"""The policy that does nothing."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from robodx.policy_contract import ActionChunk, Observation, PolicySpec, policy


@policy("still")
class StillPolicy:
    """Stands still with an open hand: the success that needs no action."""

    spec = PolicySpec(action_space="ee_delta", state=())

    def act(self, observations: Sequence[Observation]) -> Sequence[ActionChunk]:
        hold = np.zeros((1, 7), dtype=np.float32)
        hold[0, -1] = 1.0
        return [hold for _ in observations]
