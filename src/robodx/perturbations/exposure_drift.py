"""A camera whose exposure creeps away from what it was set to."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from robodx.perturbations.base import SensorStress, perturbation

# A cloud before the sun, or an automatic exposure that follows something bright into the view.
DRIFT_S = 3.0
# Pictures are stored as the eye sees: twice the light is not twice the number.
GAMMA = 2.2


@perturbation(
    "exposure_drift",
    kind="sensor",
    levels={"v1": 0.5, "v2": 1.0, "v3": 2.0},
    unit="stops",
    most=8.0,
    anchor="Stops. 0.5: an automatic exposure that hunts; 1: a cloud before the sun; 2: a blind that is drawn.",
)
class ExposureDrift(SensorStress):
    """Drifts the exposure by this many stops over three seconds; up or down is drawn per trial."""

    def image(self, image: NDArray[np.uint8], camera: str, step: int) -> NDArray[np.uint8]:
        sign = int(self.draws.rng().choice((-1, 1)))
        stops = sign * self.severity * min(1.0, step * self.period_s / DRIFT_S)
        values = np.arange(256)
        lookup = np.minimum(np.rint(values * 2.0 ** (stops / GAMMA)), 255.0).astype(np.uint8)
        return image if np.array_equal(lookup, values) else np.take(lookup, image)
