"""Moves the standing cameras by some millimetres."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from robodx.interventions.base import intervention
from robodx.interventions.surroundings import any_way, with_cameras
from robodx.sim.scene import Camera
from robodx.tasks.base import Situation

MILLIMETRES = (2, 4, 6)
HARDLY_M = 0.0005


def jittered(situation: Situation, by_m: float, rng: np.random.Generator) -> Situation:
    """Each standing camera by so much in any direction."""

    def moved(camera: Camera) -> Camera:
        (x, y, z), (dx, dy, dz) = camera.position, any_way(rng, by_m)
        return replace(camera, position=(x + dx, y + dy, z + dz))

    scene = situation.scene
    after = with_cameras(situation, [moved(camera) for camera in scene.cameras])
    # Nobody has noticed it: the calibration is that of before.
    return replace(after, scene=replace(after.scene, told_cameras=scene.told_cameras or scene.cameras))


def _placebo(situation: Situation, rng: np.random.Generator) -> Situation:
    return jittered(situation, HARDLY_M, rng)


@intervention(
    "camera jitter",
    factor="looks",
    values={f"{size} mm": {} for size in MILLIMETRES},
    entails=("camera_offset_m",),
    placebo=_placebo,
)
def camera_jitter(situation: Situation, value: str, rng: np.random.Generator) -> Situation:
    """Moves each standing camera by a few millimetres in any direction, as a knock would; the calibration stays."""
    return jittered(situation, int(value.split()[0]) / 1000, rng)
