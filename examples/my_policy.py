"""A policy of your own: robodx run control/push_cube --policy nudge --plugin examples/my_policy.py"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from robodx import CameraRequest, Observation, PolicySpec, policy
from robodx.policy_contract import ActionChunk


@policy("nudge")
class Nudge:
    """Lowers the hand and sweeps it forward, whatever it sees."""

    spec = PolicySpec(
        action_space="ee_delta", cameras=(CameraRequest("front"),), state=("ee_pose",), uses_language=False
    )

    def act(self, observations: Sequence[Observation]) -> Sequence[ActionChunk]:
        return [self._sweep(observation) for observation in observations]

    def _sweep(self, observation: Observation) -> ActionChunk:
        assert observation.images["front"].shape == (128, 128, 3)
        height_m = float(observation.state["ee_pose"][2])
        down, ahead = (-0.02, 0.0) if height_m > 0.03 else (0.0, 0.01)
        return np.array([[ahead, 0, down, 0, 0, 0, 0]] * 5, dtype=np.float32)  # (chunk, action_dim)
