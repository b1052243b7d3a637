"""Turns the standing cameras a little."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import product

import numpy as np

from robodx.interventions.base import intervention
from robodx.interventions.camera_jitter import jittered
from robodx.interventions.factors import factor
from robodx.interventions.surroundings import with_cameras
from robodx.sim.scene import Camera
from robodx.tasks.base import Situation

TURN_DEG = 6
# Of a camera with such a view; one that sees less is turned by as much less, or the scene would leave the picture.
VIEW_DEG = 45.0
BASELINE = "yaw 0, pitch 0"
TURNS = {
    f"yaw {yaw:g}, pitch {pitch:g}": (yaw, pitch)
    for yaw, pitch in product((-TURN_DEG, 0, TURN_DEG), repeat=2)
    if yaw or pitch
}


def _placebo(situation: Situation, rng: np.random.Generator) -> Situation:
    return jittered(situation, 0.005, rng)


@intervention(
    "camera turned",
    factor="looks",
    values={name: {} for name in TURNS},
    placebo=_placebo,
)
def camera_turned(situation: Situation, value: str, rng: np.random.Generator) -> Situation:
    """Turns each standing camera by 6° of 45° sideways, up or down, from where it stands."""
    yaw, pitch = (math.radians(angle) for angle in TURNS[value])

    def turned(camera: Camera) -> Camera:
        share = camera.fovy_deg / VIEW_DEG
        way = np.subtract(camera.target, camera.position)
        distance = float(np.linalg.norm(way))
        azimuth, elevation = math.atan2(way[1], way[0]) + share * yaw, math.asin(way[2] / distance) + share * pitch
        flat = distance * math.cos(elevation)
        ahead = (flat * math.cos(azimuth), flat * math.sin(azimuth), distance * math.sin(elevation))
        x, y, z = camera.position
        return replace(camera, target=(x + ahead[0], y + ahead[1], z + ahead[2]))

    return with_cameras(situation, [turned(camera) for camera in situation.scene.cameras])


factor("camera_orientation", "camera turned", baseline=BASELINE, is_in_paper=True)
