"""A worn gripper."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from robodx.perturbations.base import Perturbation, perturbation

if TYPE_CHECKING:
    from robodx.sim.simulation import Command


@perturbation(
    "gripper_backlash",
    kind="execution",
    levels={"v1": 0.05, "v2": 0.1, "v3": 0.2},
    unit="of the opening",
    most=1.0,
    anchor="Of 80 mm: 4, 8 and 16 mm of play, from a hobby servo's gears to a belt that has stretched.",
)
class GripperBacklash(Perturbation):
    """Adds play to the gripper, as a share of the full opening: it neither opens nor closes fully.

    The fingers stand still until the drive has moved by half the play, then stay behind it by that much.
    """

    def begin(self) -> None:
        self._fingers = np.empty(0, dtype=np.float32)

    def action(self, command: Command, held: Command, step: int) -> Command:
        half = np.float32(self.severity / 2)
        before = self._fingers if len(self._fingers) else held.openings
        self._fingers = np.clip(before, command.openings - half, command.openings + half)
        return command if np.array_equal(self._fingers, command.openings) else replace(command, openings=self._fingers)
