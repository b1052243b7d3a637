"""Moves the standing cameras a little."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from robodx.interventions.base import NotApplicable, intervention
from robodx.interventions.surroundings import any_way, with_cameras
from robodx.records.features import level
from robodx.sim.scene import CAMERAS, Camera
from robodx.tasks.base import Situation

ATTRIBUTE = "camera_offset_m"
MOVED_M = 0.06


def _placebo(situation: Situation, rng: np.random.Generator) -> Situation:
    """Each looks beside where it looked, from where it stands."""

    def turned(camera: Camera) -> Camera:
        x, y, z = camera.target
        dx, dy, _ = any_way(rng, MOVED_M / 2)
        return replace(camera, target=(x + dx, y + dy, z))

    return with_cameras(situation, [turned(camera) for camera in situation.scene.cameras])


@intervention(
    "camera",
    factor="looks",
    values={"moved": {ATTRIBUTE: level(ATTRIBUTE, MOVED_M)}},
    placebo=_placebo,
)
def camera(situation: Situation, value: str, rng: np.random.Generator) -> Situation:
    """Moves each standing camera by 6 cm in any direction."""
    standing = situation.scene.cameras
    if not set(standing) <= set(CAMERAS):
        raise NotApplicable("the cameras do not stand where they usually do")

    def moved(each: Camera) -> Camera:
        (x, y, z), (dx, dy, dz) = each.position, any_way(rng, MOVED_M)
        return replace(each, position=(x + dx, y + dy, z + dz))

    return with_cameras(situation, [moved(each) for each in standing])
