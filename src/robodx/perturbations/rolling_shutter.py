"""A sensor that reads its rows one after another while it moves."""

from __future__ import annotations

from functools import lru_cache
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from robodx.perturbations.base import SensorStress, perturbation

Pixels = TypeVar("Pixels", bound=np.generic)


@perturbation(
    "rolling_shutter",
    kind="sensor",
    levels={"v1": 0.1, "v2": 0.2, "v3": 0.5},
    unit="of the width",
    most=1.0,
    anchor="If 60° are read in 33 ms: a camera that turns at 180, 360 and 900°/s. The first is a quick wrist, "
    "the others a knock.",
)
class RollingShutter(SensorStress):
    """Shifts row y of H to the right by this share of the width times √(y/H); the edge is repeated.

    Depth and segmentation are shifted alike, for they are of the same frame.
    """

    def image(self, image: NDArray[np.uint8], camera: str, step: int) -> NDArray[np.uint8]:
        return self._skewed(image)

    def depth(self, depth: NDArray[np.float32], camera: str, step: int) -> NDArray[np.float32]:
        return self._skewed(depth)

    def segmentation(self, ids: NDArray[np.int32], camera: str, step: int) -> NDArray[np.int32]:
        return self._skewed(ids)

    def _skewed(self, frame: NDArray[Pixels]) -> NDArray[Pixels]:
        height, width = frame.shape[:2]
        sources = _sources(height, width, self.severity)
        if sources is None:
            return frame
        return np.take(frame.reshape(height * width, *frame.shape[2:]), sources, axis=0)


@lru_cache(maxsize=16)
def _sources(height: int, width: int, share: float) -> NDArray[np.intp] | None:
    """(height, width): where each pixel comes from, counted row by row; None where no row moves."""
    rows = np.arange(height)
    shifts = np.rint(width * share * np.sqrt(rows / height)).astype(np.intp)
    if not shifts.any():
        return None
    columns = np.maximum(np.arange(width) - shifts[:, None], 0)
    return np.asarray(rows[:, None] * width + columns)
