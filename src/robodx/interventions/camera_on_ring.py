"""Puts the standing cameras on rings around and above the workspace."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from robodx.interventions.base import intervention
from robodx.interventions.camera_jitter import jittered
from robodx.interventions.factors import factor
from robodx.interventions.surroundings import with_cameras
from robodx.sim.scene import Camera
from robodx.tasks.base import Situation

# Radius and height of each, from near and high to far and low; azimuths from the robot's right to its left.
RINGS_M = ((0.5, 0.9), (0.7, 0.7), (0.9, 0.5))
AZIMUTHS_DEG = (-90, -60, -30, 0, 30, 60, 90)
MIDDLE = (-0.07, 0.0, 0.02)
BASELINE = "original"
POSES = {
    f"ring {number}, {azimuth}°": (radius, height, math.radians(azimuth))
    for number, (radius, height) in enumerate(RINGS_M, start=1)
    for azimuth in AZIMUTHS_DEG
}


def _placebo(situation: Situation, rng: np.random.Generator) -> Situation:
    return jittered(situation, 0.005, rng)


@intervention(
    "camera on ring",
    factor="looks",
    values={name: {} for name in POSES},
    entails=("camera_offset_m",),
    placebo=_placebo,
)
def camera_on_ring(situation: Situation, value: str, rng: np.random.Generator) -> Situation:
    """Puts each standing camera on one of three rings, facing the workspace, which fills as much of its picture."""
    radius, height, azimuth = POSES[value]

    def placed(camera: Camera) -> Camera:
        away = np.subtract(camera.position, MIDDLE)
        # The front camera comes to stand there, and the others as they stand around it.
        angle = math.atan2(away[1], away[0]) + azimuth
        position = (MIDDLE[0] + radius * math.cos(angle), MIDDLE[1] + radius * math.sin(angle), height)
        # How much it saw around the middle, from how far away.
        half = float(np.linalg.norm(away)) * math.tan(math.radians(camera.fovy_deg) / 2)
        view = 2 * math.degrees(math.atan(half / math.dist(position, MIDDLE)))
        return replace(camera, position=position, target=MIDDLE, fovy_deg=view)

    return with_cameras(situation, [placed(camera) for camera in situation.scene.cameras])


# The rings are compared with each other: the original pose is no ring.
factor("camera_pose", "camera on ring", baseline=BASELINE, is_in_paper=True, has_baseline=False)
