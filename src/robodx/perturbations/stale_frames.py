"""A camera that hangs and shows what it saw before."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from robodx.perturbations.base import SensorStress, perturbation
from robodx.perturbations.spells import Spells


# A full buffer, a capture thread that waits, a video stream that loses its key frame.
@perturbation("stale_frames", kind="sensor", levels={"v1": 0.25, "v2": 0.5, "v3": 1.0}, most=20.0)
class StaleFrames(SensorStress):
    """Each view freezes for so many seconds, again and again: it repeats the last frame that was delivered before.

    Delivered is what a policy was shown: to one that is asked rarely, the frame may be older than the freeze.
    """

    def begin(self) -> None:
        self._delivered: dict[tuple[str, str], NDArray[Any]] = {}

    def image(self, image: NDArray[np.uint8], camera: str, step: int) -> NDArray[np.uint8]:
        return self._last("image", image, camera, step)

    def depth(self, depth: NDArray[np.float32], camera: str, step: int) -> NDArray[np.float32]:
        return self._last("depth", depth, camera, step)

    def segmentation(self, ids: NDArray[np.int32], camera: str, step: int) -> NDArray[np.int32]:
        return self._last("segmentation", ids, camera, step)

    def _last(self, part: str, frame: NDArray[Any], camera: str, step: int) -> NDArray[Any]:
        is_frozen = Spells(self.severity, self.draws, camera).is_on(step * self.period_s)
        if not is_frozen or (part, camera) not in self._delivered:
            self._delivered[part, camera] = frame
        return self._delivered[part, camera]
