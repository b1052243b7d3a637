"""A camera that sees less sharply."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array  # type: ignore[import-untyped]

from robodx.perturbations.base import SensorStress, perturbation

Floats = NDArray[np.float32]


@perturbation(
    "resolution",
    kind="sensor",
    levels={"v1": 2, "v2": 4, "v3": 8},
    unit="times coarser",
    most=64,
    anchor="2, 4, 8: detail as from two, four and eight times the distance, or a stream that is sent so much smaller.",
)
class Resolution(SensorStress):
    """Reduces the resolution by this factor: area pooling, then bilinear interpolation back to size.

    It is the colour camera that sees less: depth comes from a sensor of its own. Up to 1 nothing changes.
    """

    def image(self, image: NDArray[np.uint8], camera: str, step: int) -> NDArray[np.uint8]:
        if not self._is_coarser(image.shape):
            return image
        return np.rint(self._coarse(image.astype(np.float32))).astype(np.uint8)

    def _coarse_size(self, size: int) -> int:
        return max(1, round(size / max(1.0, self.severity)))

    def _is_coarser(self, shape: tuple[int, ...]) -> bool:
        return any(self._coarse_size(size) < size for size in shape[:2])

    def _coarse(self, picture: Floats) -> Floats:
        height, width = picture.shape[:2]
        few_rows, few_columns = self._coarse_size(height), self._coarse_size(width)
        pooled = _along_rows(pooling(height, few_rows), picture).swapaxes(0, 1)
        across = _along_rows(stretching(few_columns, width), _along_rows(pooling(width, few_columns), pooled))
        return _along_rows(stretching(few_rows, height), across.swapaxes(0, 1))


def _along_rows(matrix: csr_array, picture: Floats) -> Floats:
    flat = np.ascontiguousarray(picture).reshape(len(picture), -1)
    return np.asarray(matrix @ flat, dtype=np.float32).reshape(-1, *picture.shape[1:])


def pooled(image: NDArray[np.uint8], height: int, width: int) -> NDArray[np.uint8]:
    """A smaller picture: each pixel is what its part of the larger one is on average."""
    rows, columns = pooling(image.shape[0], height), pooling(image.shape[1], width)
    few = _along_rows(columns, _along_rows(rows, image.astype(np.float32)).swapaxes(0, 1)).swapaxes(0, 1)
    return np.ascontiguousarray(np.rint(few).astype(np.uint8))


@lru_cache(maxsize=64)
def pooling(size: int, few: int) -> csr_array:
    """(few, size): the share that each pixel has of each of a few cells of equal length."""
    edges = np.arange(few + 1) * (size / few)
    pixels = np.arange(size)
    overlap = np.minimum(edges[1:, None], pixels + 1) - np.maximum(edges[:-1, None], pixels)
    return csr_array((np.maximum(overlap, 0.0) * (few / size)).astype(np.float32))


@lru_cache(maxsize=64)
def stretching(few: int, size: int) -> csr_array:
    """(size, few): between the centres of the two nearest cells linearly, beyond the outermost as they are."""
    place = np.clip((np.arange(size) + 0.5) * (few / size) - 0.5, 0.0, few - 1.0)
    weights = np.maximum(0.0, 1.0 - np.abs(place[:, None] - np.arange(few)))
    return csr_array(weights.astype(np.float32))
