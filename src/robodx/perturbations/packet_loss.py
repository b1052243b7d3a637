"""Commands that never reach the robot."""

from __future__ import annotations

from typing import TYPE_CHECKING

from robodx.perturbations.base import Perturbation, perturbation

if TYPE_CHECKING:
    from robodx.sim.simulation import Command


@perturbation("packet_loss", kind="execution", levels={"v1": 0.1, "v2": 0.2, "v3": 0.3}, most=1.0)
class PacketLoss(Perturbation):
    """With this probability the previously executed joint command is held for a step."""

    def action(self, command: Command, held: Command, step: int) -> Command:
        return held if self.draws.rng(step).random() < self.severity else command
