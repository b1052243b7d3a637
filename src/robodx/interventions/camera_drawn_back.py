"""Draws the standing cameras back along their line of sight."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from robodx.interventions.base import intervention
from robodx.interventions.camera_jitter import jittered
from robodx.interventions.factors import factor
from robodx.interventions.surroundings import with_cameras
from robodx.sim.scene import Camera
from robodx.tasks.base import Situation

STEP_M, STEPS = 0.05, 8
BASELINE = "0.00 m"
DISTANCES = {f"{STEP_M * step:.2f} m": STEP_M * step for step in range(1, STEPS + 1)}


def _placebo(situation: Situation, rng: np.random.Generator) -> Situation:
    return jittered(situation, 0.005, rng)


@intervention(
    "camera drawn back",
    factor="looks",
    values={name: {} for name in DISTANCES},
    entails=("camera_offset_m",),
    placebo=_placebo,
)
def camera_drawn_back(situation: Situation, value: str, rng: np.random.Generator) -> Situation:
    """Draws each standing camera back by 5 to 40 cm from where it looks."""

    def back(camera: Camera) -> Camera:
        way = np.subtract(camera.position, camera.target)
        x, y, z = np.add(camera.position, DISTANCES[value] * way / np.linalg.norm(way))
        return replace(camera, position=(float(x), float(y), float(z)))

    return with_cameras(situation, [back(camera) for camera in situation.scene.cameras])


factor("camera_distance", "camera drawn back", baseline=BASELINE, is_in_paper=True)
