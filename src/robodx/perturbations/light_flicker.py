"""Lamps on alternating current, seen by a camera that reads its rows one after another."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from robodx.perturbations.base import SensorStress, perturbation

DEPTH = 0.1
# More bands than half the rows cannot be drawn; the levels were made for pictures of this many rows.
MADE_FOR_ROWS = 512


@perturbation("light_flicker", kind="sensor", levels={"v1": 20, "v2": 50, "v3": 80}, is_ordered=False)
class LightFlicker(SensorStress):
    """Adds this many bright and dark bands over the picture's height; they move with every frame.

    Below 256 rows there are fewer in proportion, as many as such a camera could see.
    """

    def image(self, image: NDArray[np.uint8], camera: str, step: int) -> NDArray[np.uint8]:
        height = len(image)
        bands = self.severity * (height / MADE_FOR_ROWS if height < MADE_FOR_ROWS / 2 else 1.0)
        phase = self.draws.rng(camera, step).uniform(0.0, 2 * np.pi)
        gain = 1.0 + DEPTH * np.sin(2 * np.pi * bands * np.arange(height) / height + phase)
        lit = image * gain.astype(np.float32)[:, None, None]
        return np.asarray(np.minimum(np.rint(lit), 255.0).astype(np.uint8))
