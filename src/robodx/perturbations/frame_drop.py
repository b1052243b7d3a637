"""Camera frames that never arrive."""

from __future__ import annotations

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from robodx.perturbations.base import SensorStress, perturbation

Pixels = TypeVar("Pixels", bound=np.generic)


@perturbation("frame_drop", kind="sensor", levels={"v1": 0.1, "v2": 0.2, "v3": 0.3}, most=1.0)
class FrameDrop(SensorStress):
    """Each camera frame is all zero with this probability, its depth and segmentation too."""

    def image(self, image: NDArray[np.uint8], camera: str, step: int) -> NDArray[np.uint8]:
        return self._or_nothing(image, camera, step)

    def depth(self, depth: NDArray[np.float32], camera: str, step: int) -> NDArray[np.float32]:
        return self._or_nothing(depth, camera, step)

    def segmentation(self, ids: NDArray[np.int32], camera: str, step: int) -> NDArray[np.int32]:
        return self._or_nothing(ids, camera, step)

    def _or_nothing(self, frame: NDArray[Pixels], camera: str, step: int) -> NDArray[Pixels]:
        # Of all parts of a frame alike: they draw from the same place of the stream.
        return np.zeros_like(frame) if self.draws.rng(camera, step).random() < self.severity else frame
