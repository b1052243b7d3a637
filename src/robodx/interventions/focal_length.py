"""Zooms the standing cameras."""

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

ZOOMS = (0.7, 0.8, 0.9, 0.95, 1.05, 1.1, 1.2)


def _placebo(situation: Situation, rng: np.random.Generator) -> Situation:
    return jittered(situation, 0.005, rng)


@intervention("focal length", factor="looks", values={f"× {zoom:g}": {} for zoom in ZOOMS}, placebo=_placebo)
def focal_length(situation: Situation, value: str, rng: np.random.Generator) -> Situation:
    """Makes the focal length of each standing camera 0.7 to 1.2 times as long."""
    zoom = float(value.removeprefix("× "))

    def zoomed(camera: Camera) -> Camera:
        half = math.tan(math.radians(camera.fovy_deg) / 2) / zoom
        return replace(camera, fovy_deg=2 * math.degrees(math.atan(half)))

    return with_cameras(situation, [zoomed(camera) for camera in situation.scene.cameras])


factor("focal_length", "focal length")
