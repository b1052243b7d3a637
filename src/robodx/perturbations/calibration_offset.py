"""A robot that was moved after its cameras were calibrated."""

from __future__ import annotations

import math
from dataclasses import replace

from robodx.perturbations.base import Perturbation, perturbation
from robodx.sim.geometry import Pose, about
from robodx.sim.scene import Scene

# How much is turned with so much of a shift: a table that is knocked at one end turns about the other.
TURN_RAD_PER_M = 1.0


@perturbation(
    "calibration_offset",
    kind="sensor",
    levels={"v1": 0.005, "v2": 0.02, "v3": 0.05},
    unit="m",
    most=0.5,
    anchor="Metres. 0.005: a calibration done with care; 0.02: one done by hand; 0.05: a tripod that was "
    "knocked (by 0.3, 1.1, 2.9°).",
)
class CalibrationOffset(Perturbation):
    """Shifts all fixed cameras together by this many metres relative to the robot, and rotates them.

    The calibration that a policy is told stays nominal. A camera on a hand moves with the robot and is not affected.
    """

    def scene(self, scene: Scene) -> Scene:
        rng, size = self.draws.rng(), self.severity
        heading, sign = rng.uniform(0.0, 2 * math.pi), int(rng.choice((-1, 1)))
        # A tripod or a table that is knocked hardly changes its height.
        rise = rng.uniform(-0.3, 0.3)
        shift = (size * math.cos(heading), size * math.sin(heading), size * rise)
        # Turned about the table's middle: there things seem to be off by the shift, whatever the turn.
        moved = Pose(shift, about("z", sign * TURN_RAD_PER_M * size))
        return replace(
            scene,
            cameras=tuple(
                replace(camera, position=moved.apply(camera.position), target=moved.apply(camera.target))
                for camera in scene.cameras
            ),
        )
