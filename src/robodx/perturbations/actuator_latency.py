"""Commands that reach the robot late."""

from __future__ import annotations

import math
from collections import deque
from typing import TYPE_CHECKING

from robodx.perturbations.base import Perturbation, perturbation

if TYPE_CHECKING:
    from robodx.sim.simulation import Command

# Seconds times a rate: half a step is half a step, whatever the last bits say.
SLACK = 1e-9


@perturbation(
    "actuator_latency",
    kind="execution",
    levels={"v1": 0.25, "v2": 0.75, "v3": 1.25},
    unit="s",
    most=10.0,
    anchor="Seconds there and back. 0.25: another continent; 0.75: a geostationary satellite and buffers; 1.25: "
    "an overloaded link.",
)
class ActuatorLatency(Perturbation):
    """Delays every command by this many seconds; the robot holds its initial pose until the first arrives.

    In whole control steps, for a step executes one command: the nearest number, and the longer of two as near.
    """

    is_wrappable = True

    def begin(self) -> None:
        self.steps = math.floor(self.severity / self.period_s + 0.5 + SLACK)
        self._under_way: deque[Command] = deque()

    def action(self, command: Command, held: Command, step: int) -> Command:
        if not self._under_way:
            # At the first step what is held is the initial pose.
            self._under_way.extend([held] * self.steps)
        self._under_way.append(command)
        return self._under_way.popleft()
