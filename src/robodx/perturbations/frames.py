"""What happens to a camera's frame as a whole: to its picture, its depth and its segmentation alike."""

from __future__ import annotations

from typing import Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from robodx.perturbations.base import SensorStress

Part = Literal["image", "depth", "segmentation"]
Pixels = TypeVar("Pixels", bound=np.generic)


class WholeFrames(SensorStress):
    """Deals with every part of a frame by `frame`, which makes it all zero where it `is_missing`."""

    def is_missing(self, camera: str, step: int) -> bool:
        return False

    def frame(self, frame: NDArray[Pixels], part: Part, camera: str, step: int) -> NDArray[Pixels]:
        return np.zeros_like(frame) if self.is_missing(camera, step) else frame

    def image(self, image: NDArray[np.uint8], camera: str, step: int) -> NDArray[np.uint8]:
        return self.frame(image, "image", camera, step)

    def depth(self, depth: NDArray[np.float32], camera: str, step: int) -> NDArray[np.float32]:
        return self.frame(depth, "depth", camera, step)

    def segmentation(self, ids: NDArray[np.int32], camera: str, step: int) -> NDArray[np.int32]:
        return self.frame(ids, "segmentation", camera, step)
