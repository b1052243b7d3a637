"""A camera whose plug is loose."""

from __future__ import annotations

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from robodx.perturbations.base import SensorStress, perturbation
from robodx.perturbations.spells import Spells
from robodx.policy_contract import Observation

Pixels = TypeVar("Pixels", bound=np.generic)


# A hub that resets a port, a driver that opens its device anew, a camera that starts again.
@perturbation("camera_disconnect", kind="sensor", levels={"v1": 0.25, "v2": 0.5, "v3": 1.0}, most=20.0)
class CameraDisconnect(SensorStress):
    """One of the views is all zero for so many seconds, again and again; which one is drawn per trial.

    A policy with a single camera loses that one.
    """

    def begin(self) -> None:
        self._spells = Spells(self.severity, self.draws)
        self._loose: str | None = None

    def observation(self, observation: Observation) -> Observation:
        cameras = sorted(observation.images)
        self._loose = cameras[int(self.draws.rng("camera").integers(len(cameras)))] if cameras else None
        return super().observation(observation)

    def image(self, image: NDArray[np.uint8], camera: str, step: int) -> NDArray[np.uint8]:
        return self._or_nothing(image, camera, step)

    def depth(self, depth: NDArray[np.float32], camera: str, step: int) -> NDArray[np.float32]:
        return self._or_nothing(depth, camera, step)

    def segmentation(self, ids: NDArray[np.int32], camera: str, step: int) -> NDArray[np.int32]:
        return self._or_nothing(ids, camera, step)

    def _or_nothing(self, frame: NDArray[Pixels], camera: str, step: int) -> NDArray[Pixels]:
        is_missing = camera == self._loose and self._spells.is_on(step * self.period_s)
        return np.zeros_like(frame) if is_missing else frame
