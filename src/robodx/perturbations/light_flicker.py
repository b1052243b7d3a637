"""Lamps on alternating current, seen by a camera that reads its rows one after another."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from robodx.perturbations.base import SensorStress, perturbation

DEPTH = 0.1
# Bands are counted on a picture of this many rows, for which the levels were made.
COUNTED_ROWS = 512
# Half as many bands as rows are the most that can be drawn: this is below it at every height.
MOST_BANDS = 255


@perturbation(
    "light_flicker",
    kind="sensor",
    levels={"v1": 20, "v2": 50, "v3": 80},
    unit="bands per 512 rows",
    is_ordered=False,
    most=MOST_BANDS,
    anchor="If 512 rows are read in 33 ms: LED lamps dimmed at 0.6, 1.5 and 2.4 kHz. Lamps on the mains make "
    "three or four bands.",
)
class LightFlicker(SensorStress):
    """Adds this many bright and dark bands per 512 rows of the picture; they move with every frame.

    A band is as many rows high whatever the picture's height.
    """

    def image(self, image: NDArray[np.uint8], camera: str, step: int) -> NDArray[np.uint8]:
        height = len(image)
        phase = self.draws.rng(camera, step).uniform(0.0, 2 * np.pi)
        gain = 1.0 + DEPTH * np.sin(2 * np.pi * self.severity * np.arange(height) / COUNTED_ROWS + phase)
        lit = image * gain.astype(np.float32)[:, None, None]
        return np.asarray(np.minimum(np.rint(lit), 255.0).astype(np.uint8))
