"""A camera whose white balance is off."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from robodx.perturbations.base import SensorStress, perturbation


@perturbation(
    "colour_shift",
    kind="sensor",
    levels={"v1": 30, "v2": 60, "v3": 120},
    unit="of 255",
    most=255,
    anchor="8-bit steps. 30: white balance set for another lamp; 60: a coloured lamp; 120: a channel that is "
    "nearly lost.",
)
class ColourShift(SensorStress):
    """Adds this to, or subtracts it from, one colour channel; channel and sign are drawn per trial."""

    def image(self, image: NDArray[np.uint8], camera: str, step: int) -> NDArray[np.uint8]:
        rng = self.draws.rng()
        channel, sign = int(rng.integers(3)), int(rng.choice((-1, 1)))
        offset = sign * round(self.severity)
        if offset == 0:
            return image
        shifted = image.copy()
        lookup = np.clip(np.arange(256) + offset, 0, 255).astype(np.uint8)
        shifted[..., channel] = np.take(lookup, image[..., channel])
        return shifted
