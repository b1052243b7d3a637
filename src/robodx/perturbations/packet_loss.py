"""Commands that never reach the robot."""

from __future__ import annotations

from typing import TYPE_CHECKING

from robodx.perturbations.base import Perturbation, perturbation

if TYPE_CHECKING:
    from robodx.sim.simulation import Command


@perturbation(
    "packet_loss",
    kind="execution",
    levels={"v1": 0.1, "v2": 0.2, "v3": 0.3},
    unit="of the commands",
    most=1.0,
    anchor="Commands sent without repeats. A cable loses next to none; 0.1: a congested Wi-Fi network; 0.3: the "
    "edge of its range.",
)
class PacketLoss(Perturbation):
    """Drops a command with this probability; the previous joint command is held for the step."""

    is_wrappable = True

    def begin(self) -> None:
        # Its own, and not what was executed: that may be what another perturbation made of it.
        self._arrived: Command | None = None

    def is_lost(self, step: int) -> bool:
        return bool(self.draws.rng(step).random() < self.severity)

    def action(self, command: Command, held: Command, step: int) -> Command:
        if self.is_lost(step):
            return held if self._arrived is None else self._arrived
        self._arrived = command
        return command
