"""A robot state that never changes: does the policy use what its joints say?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from robodx.errors import UserError
from robodx.perturbations.base import Perturbation, perturbation
from robodx.policy_contract import Observation, PolicySpec
from robodx.records.values import Value


@perturbation("frozen_state", kind="sensor", levels={"on": 1.0}, is_ordered=False, most=1.0)
class FrozenState(Perturbation):
    """The robot's state stays as it was at the policy's first observation."""

    @classmethod
    def check(cls, value: Value, spec: PolicySpec) -> None:
        if not spec.state:
            raise UserError("frozen_state: the policy is given no state that could be frozen")

    def begin(self) -> None:
        self._first: Mapping[str, NDArray[np.float32]] | None = None

    def observation(self, observation: Observation) -> Observation:
        if self._first is None:
            self._first = observation.state
        return replace(observation, state=self._first)
