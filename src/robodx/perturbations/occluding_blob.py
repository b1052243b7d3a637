"""Somebody's hand before the camera."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from robodx.perturbations.base import SensorStress, perturbation

# Bare hands, and gloves as they are worn in workshops.
COLOURS = ((224, 172, 140), (141, 92, 62), (86, 56, 40), (58, 96, 168), (40, 40, 44))
# It sways by this share of the picture's height to either side.
SWAY, SWAY_S = 0.08, 6.0
# Where it is, as a share of the distance of what is seen.
NEARNESS = 1 / 3


class Stencil(NamedTuple):
    """A square around the blob, its middle the blob's."""

    mask: NDArray[np.bool_]  # (n, n)
    colours: NDArray[np.uint8]  # (n, n, 3)


class Window(NamedTuple):
    """The part of a picture that the stencil lies on, and the part of the stencil that lies on the picture."""

    picture: tuple[slice, slice]
    stencil: tuple[slice, slice]


@perturbation(
    "occluding_blob",
    kind="sensor",
    levels={"v1": 0.15, "v2": 0.45, "v3": 0.9},
    unit="of the height",
    most=3.0,
    anchor="A hand, 9 cm wide, before a 45° camera: 0.7, 0.24 and 0.12 m away.",
)
class OccludingBlob(SensorStress):
    """Hides part of each view behind a slowly moving blob, this share of the picture's height wide.

    Its place is drawn per trial and camera. Its depth is a third of the view's median, or that of what it hides if that
    is nearer still; in a segmentation it is background, which is what no thing is.
    """

    def begin(self) -> None:
        self._stencils: dict[tuple[str, int], Stencil] = {}

    def image(self, image: NDArray[np.uint8], camera: str, step: int) -> NDArray[np.uint8]:
        stencil, window = self._placed(image.shape, camera, step)
        mask = stencil.mask[window.stencil]
        if not mask.any():
            return image
        hidden = image.copy()
        hidden[window.picture][mask] = stencil.colours[window.stencil][mask]
        return hidden

    def depth(self, depth: NDArray[np.float32], camera: str, step: int) -> NDArray[np.float32]:
        stencil, window = self._placed(depth.shape, camera, step)
        mask = stencil.mask[window.stencil]
        if not mask.any():
            return depth
        hidden, near_m = depth.copy(), NEARNESS * np.median(depth)
        hidden[window.picture][mask] = np.minimum(depth[window.picture][mask], near_m)
        return hidden

    def segmentation(self, ids: NDArray[np.int32], camera: str, step: int) -> NDArray[np.int32]:
        stencil, window = self._placed(ids.shape, camera, step)
        mask = stencil.mask[window.stencil]
        if not mask.any():
            return ids
        hidden = ids.copy()
        hidden[window.picture][mask] = 0
        return hidden

    def _placed(self, shape: tuple[int, ...], camera: str, step: int) -> tuple[Stencil, Window]:
        height, width = shape[:2]
        if (camera, height) not in self._stencils:
            self._stencils[camera, height] = self._stencil(camera, height)
        stencil = self._stencils[camera, height]
        rng = self.draws.rng("place", camera)
        y, x, angle, phase = rng.uniform((0.25, 0.25, 0.0, 0.0), (0.75, 0.75, 2 * np.pi, 2 * np.pi))
        sway = SWAY * height * math.sin(2 * np.pi * step * self.period_s / SWAY_S + phase)
        reach = len(stencil.mask) // 2
        top = round(y * height + sway * math.sin(angle)) - reach
        left = round(x * width + sway * math.cos(angle)) - reach
        rows, columns = _overlap(top, len(stencil.mask), height), _overlap(left, len(stencil.mask), width)
        return stencil, Window((rows[0], columns[0]), (rows[1], columns[1]))

    def _stencil(self, camera: str, height: int) -> Stencil:
        rng = self.draws.rng("shape", camera)
        colour = np.array(COLOURS[int(rng.integers(len(COLOURS)))])
        waves = [(n, part, rng.uniform(0.0, 2 * np.pi)) for n, part in ((2, 0.25), (3, 0.10), (5, 0.06))]
        radius = self.severity * height / 2
        reach = math.ceil(radius * (1.0 + sum(part for _, part, _ in waves)))
        y, x = np.mgrid[-reach : reach + 1, -reach : reach + 1]
        turn = np.arctan2(y, x)
        outline = radius * (1.0 + sum(part * np.cos(n * turn + phase) for n, part, phase in waves))
        # Lit from above.
        shade = 0.9 - 0.15 * y / max(reach, 1)
        colours = np.minimum(np.rint(shade[..., None] * colour), 255.0).astype(np.uint8)
        return Stencil(np.hypot(x, y) <= outline, colours)


def _overlap(start: int, length: int, size: int) -> tuple[slice, slice]:
    """Of a stretch from `start` and an axis of `size`: the part of the axis, and the part of the stretch."""
    first, last = max(start, 0), min(start + length, size)
    if first >= last:
        return slice(0, 0), slice(0, 0)
    return slice(first, last), slice(first - start, last - start)
