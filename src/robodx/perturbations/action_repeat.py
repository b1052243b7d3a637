"""Actions that never reach the controller, which does the last one once more."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from robodx.perturbations.base import Perturbation, perturbation


@perturbation(
    "action_repeat",
    kind="execution",
    levels={"v1": 0.1, "v2": 0.2, "v3": 0.3},
    unit="of the actions",
    most=1.0,
    anchor="As packet_loss, with a controller that does its last action again. 0.1: a congested Wi-Fi network; "
    "0.3: its edge.",
)
class ActionRepeat(Perturbation):
    """Drops an action with this probability; the controller applies the previous action again.

    A step or a speed is then made twice, from where the robot is, and the one that was lost never. A target is held,
    as under `packet_loss`. The first action always arrives: there is none before it.
    """

    is_wrappable = True

    def begin(self) -> None:
        self._arrived: NDArray[np.float32] | None = None

    def reply(self, action: NDArray[np.float32], step: int) -> NDArray[np.float32]:
        if self._arrived is None or self.draws.rng(step).random() >= self.severity:
            self._arrived = action
        return self._arrived
