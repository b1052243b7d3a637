"""How different two colours look: CIE L*a*b* of what a camera shows, and CIEDE2000 between two of them."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

Lab = tuple[float, float, float]

# Linear sRGB to CIE XYZ, divided by the white of D65, which sRGB has.
_TO_XYZ = np.array(
    [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750], [0.0193339, 0.1191920, 0.9503041]]
)
_WHITE = np.array([0.95047, 1.0, 1.08883])
# Below this share of the white, lightness is linear: the cube root would be too steep.
_EPSILON, _KAPPA = 216 / 24389, 24389 / 27


def lab(rgb: ArrayLike) -> NDArray[np.float64]:
    """(…, 3) from sRGB of 0 … 255."""
    share = np.asarray(rgb, dtype=np.float64) / 255
    linear = np.where(share <= 0.04045, share / 12.92, ((share + 0.055) / 1.055) ** 2.4)
    x, y, z = np.moveaxis(linear @ _TO_XYZ.T / _WHITE, -1, 0)
    fx, fy, fz = (np.where(v > _EPSILON, np.cbrt(v), (_KAPPA * v + 16) / 116) for v in (x, y, z))
    return np.stack([116 * fy - 16, 500 * (fx - fy), 200 * (fy - fz)], axis=-1)


def ciede2000(one: Lab, other: Lab) -> float:
    """About 1 can just be noticed side by side. As in Sharma, Wu and Dalal (2005), with weights of 1."""
    (l1, a1, b1), (l2, a2, b2) = one, other
    mean_c7 = ((math.hypot(a1, b1) + math.hypot(a2, b2)) / 2) ** 7
    stretch = 1 + 0.5 * (1 - math.sqrt(mean_c7 / (mean_c7 + 25.0**7)))
    a1, a2 = stretch * a1, stretch * a2
    c1, c2 = math.hypot(a1, b1), math.hypot(a2, b2)
    h1, h2 = math.degrees(math.atan2(b1, a1)) % 360, math.degrees(math.atan2(b2, a2)) % 360
    turn, mean_h = _hues(h1, h2, c1 * c2 == 0)
    dl, dc, dh = l2 - l1, c2 - c1, 2 * math.sqrt(c1 * c2) * _sin(turn / 2)
    mean_l, mean_c = (l1 + l2) / 2, (c1 + c2) / 2
    t = (
        1
        - 0.17 * _cos(mean_h - 30)
        + 0.24 * _cos(2 * mean_h)
        + 0.32 * _cos(3 * mean_h + 6)
        - 0.2 * _cos(4 * mean_h - 63)
    )
    lightness = dl / (1 + 0.015 * (mean_l - 50) ** 2 / math.sqrt(20 + (mean_l - 50) ** 2))
    chroma, hue = dc / (1 + 0.045 * mean_c), dh / (1 + 0.015 * mean_c * t)
    # Blues turn towards purple as they grow more saturated.
    rotation = 2 * math.sqrt(mean_c**7 / (mean_c**7 + 25.0**7)) * _sin(60 * math.exp(-(((mean_h - 275) / 25) ** 2)))
    return math.sqrt(max(0.0, lightness**2 + chroma**2 + hue**2 - rotation * chroma * hue))


def _hues(h1: float, h2: float, is_grey: bool) -> tuple[float, float]:
    """The turn from one hue to the other, the short way, and the hue between them; of greys there is none."""
    if is_grey:
        return 0.0, h1 + h2
    turn = h2 - h1
    if abs(turn) <= 180:
        return turn, (h1 + h2) / 2
    mean = (h1 + h2 + 360) / 2 if h1 + h2 < 360 else (h1 + h2 - 360) / 2
    return (turn - 360 if turn > 0 else turn + 360), mean


def _sin(degrees: float) -> float:
    return math.sin(math.radians(degrees))


def _cos(degrees: float) -> float:
    return math.cos(math.radians(degrees))
