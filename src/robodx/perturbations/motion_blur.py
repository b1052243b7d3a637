"""A camera that shakes while its shutter is open."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from robodx.perturbations.base import SensorStress, perturbation

# Beyond this many pixels the weights of a line need more than 8 bits.
SHORT_PX = 32
POINTS_PER_PX = 8


class Tap(NamedTuple):
    """A pixel on the line, from its middle, and its weight."""

    down: int
    across: int
    weight: int


@perturbation(
    "motion_blur",
    kind="sensor",
    levels={"v1": 0.02, "v2": 0.05, "v3": 0.1},
    unit="of the width",
    most=1.0,
    anchor="A hand at 0.5 m/s that sees 0.35 m of the table and is exposed for 14, 35 and 70 ms: a lit, a dim "
    "and a dark room.",
)
class MotionBlur(SensorStress):
    """Blurs along a line of this share of the picture's width, in a direction drawn per trial.

    Depth is left alone: its cameras bring their own light and are exposed for a few milliseconds.
    """

    def image(self, image: NDArray[np.uint8], camera: str, step: int) -> NDArray[np.uint8]:
        height, width = image.shape[:2]
        taps = line(width * self.severity, float(self.draws.rng().uniform(0.0, math.pi)))
        if len(taps) == 1:
            return image
        down, across = max(abs(tap.down) for tap in taps), max(abs(tap.across) for tap in taps)
        total = sum(tap.weight for tap in taps)
        # Whole numbers: the same on every machine, and faster than floats.
        kind = np.uint16 if total == 256 else np.uint32
        wide = np.pad(image, ((down, down), (across, across), (0, 0)), mode="edge").astype(kind)
        sums = np.full(image.shape, total // 2, dtype=kind)
        for tap in taps:
            top, left = down + tap.down, across + tap.across
            sums += wide[top : top + height, left : left + width] * tap.weight
        return (sums // total).astype(np.uint8)


@lru_cache(maxsize=16)
def line(length_px: float, angle_rad: float) -> tuple[Tap, ...]:
    """The pixels that a centred line passes, with weights that add up to a power of two: 256, or 65536 if it is long.

    Each of its points is shared among the four pixels around it, so that half a pixel of blur is half a pixel.
    """
    count = math.ceil(POINTS_PER_PX * (1 + length_px))
    along = ((np.arange(count) + 0.5) / count - 0.5) * length_px
    y, x = along * math.sin(angle_rad), along * math.cos(angle_rad)
    reach = math.ceil(length_px / 2) + 1
    shares = np.zeros((2 * reach + 1, 2 * reach + 1))
    for corner_y in (np.floor(y), np.floor(y) + 1):
        for corner_x in (np.floor(x), np.floor(x) + 1):
            near = (1 - np.abs(y - corner_y)) * (1 - np.abs(x - corner_x)) / count
            np.add.at(shares, (reach + corner_y.astype(int), reach + corner_x.astype(int)), near)
    total = 256 if length_px < SHORT_PX else 65536
    weights = np.floor(total * shares).astype(int)
    missed = np.argsort((total * shares - weights).ravel(), kind="stable")[::-1]
    weights.ravel()[missed[: total - weights.sum()]] += 1
    return tuple(Tap(int(i) - reach, int(j) - reach, int(weights[i, j])) for i, j in np.argwhere(weights))
