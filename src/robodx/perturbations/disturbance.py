"""A hand that is carried off its way, slowly to and fro: how demonstrations come to show recoveries."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from robodx.errors import UserError
from robodx.perturbations.base import Perturbation, perturbation
from robodx.policy_contract import PolicySpec
from robodx.records.values import Value

# After this long an offset has mostly become another one: long enough for a hand to follow it.
MEMORY_S = 0.5
# Numbers of an `ee_pose` action for each hand: position, quaternion, opening.
HAND = 8


@perturbation("disturbance", kind="execution", levels={"usual": 0.006}, most=0.1)
class Disturbance(Perturbation):
    """Adds a slowly varying offset with this standard deviation, in metres, to each hand's target position.

    What is recorded as the action stays the policy's own: `robodx generate --disturb` shows so how the expert recovers.
    """

    def begin(self) -> None:
        self._offset_m: NDArray[np.float64] | None = None

    @classmethod
    def check(cls, value: Value, spec: PolicySpec) -> None:
        if spec.action_space != "ee_pose":
            raise UserError(f'the disturbance is of ee_pose actions, not of "{spec.action_space}"')

    def reply(self, action: NDArray[np.float32], step: int) -> NDArray[np.float32]:
        drawn = self.draws.rng(step).normal(0.0, self.severity, (len(action) // HAND, 3))
        keeps = math.exp(-self.period_s / MEMORY_S)
        last = drawn if self._offset_m is None else keeps * self._offset_m + math.sqrt(1 - keeps**2) * drawn
        self._offset_m = last
        moved = action.copy()
        for hand, offset_m in enumerate(last):
            moved[hand * HAND : hand * HAND + 3] += offset_m.astype(np.float32)
        return moved
