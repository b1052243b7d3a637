"""Shaky joints: robodx run primitive --policy expert --perturb shaky=weak --plugin examples/my_perturbation.py"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from robodx import Perturbation, perturbation
from robodx.sim.simulation import Command


@perturbation("shaky", kind="execution", levels={"weak": 0.002, "strong": 0.01})
class Shaky(Perturbation):
    """Adds Gaussian noise of this many radians to every joint command."""

    def action(self, command: Command, held: Command, step: int) -> Command:
        noise = self.draws.rng(step).normal(0.0, self.severity, command.joints.shape)
        return replace(command, joints=(command.joints + noise).astype(np.float32))
