"""What tables and walls are made of: small pictures without seams, drawn from noise in two colours."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from robodx.registry import UnknownName, unknown
from robodx.sim.colours import RGB
from robodx.sim.geometry import Array

# Pixels of a picture's side: each is sent to the renderer at every reset, and is as fine as a camera sees.
PIXELS = 128


class Material(NamedTuple):
    """`mix` gives for each pixel how much of the second colour there is, 0 to 1; a picture covers `side_m` metres."""

    mix: Callable[[np.random.Generator], Array]
    side_m: float


def noise(rng: np.random.Generator, *, smooth_x: float, smooth_y: float) -> Array:
    """Smooth over so many pixels each way, and from one edge to the opposite one: mean 0, most of it within ±1."""
    along = np.fft.fftfreq(PIXELS)
    keep = np.exp(-2 * np.pi**2 * ((smooth_y * along[:, None]) ** 2 + (smooth_x * along[None]) ** 2))
    keep[0, 0] = 0.0
    drawn = np.fft.ifft2(np.fft.fft2(rng.standard_normal((PIXELS, PIXELS))) * keep).real
    return np.asarray(drawn / (2 * drawn.std()))


def _wood(rng: np.random.Generator) -> Array:
    """Four boards along x, with grain."""
    board = np.arange(PIXELS) * 4 // PIXELS
    tone = rng.permutation([0.15, 0.35, 0.5, 0.7])[board][:, None]
    grain = noise(rng, smooth_x=24, smooth_y=0.8) + 0.7 * noise(rng, smooth_x=30, smooth_y=4)
    joint = (np.arange(PIXELS) * 4 % PIXELS < 4)[:, None]
    return np.where(joint, 1.0, tone + 0.25 * grain)


def _cloth(rng: np.random.Generator) -> Array:
    """Threads over and under each other, two pixels wide."""
    over, under = np.indices((PIXELS, PIXELS)) // 2 % 2
    return (
        0.3
        + 0.35 * (over ^ under)
        + 0.2 * noise(rng, smooth_x=6, smooth_y=0.7)
        + 0.15 * noise(rng, smooth_x=0.7, smooth_y=6)
    )


def _marble(rng: np.random.Generator) -> Array:
    """Veins where slow noise crosses zero, fading in and out."""
    vein = np.exp(-((noise(rng, smooth_x=9, smooth_y=6) / 0.06) ** 2))
    strength = np.clip(0.4 + noise(rng, smooth_x=10, smooth_y=10), 0, 1)
    return 0.25 + 0.2 * noise(rng, smooth_x=12, smooth_y=12) + 0.7 * vein * strength


def _tiles(rng: np.random.Generator) -> Array:
    """Four by four, each of a tone of its own, with joints between."""
    place = np.arange(PIXELS) * 4 // PIXELS
    tone = rng.uniform(0.1, 0.45, (4, 4))[place[:, None], place[None]]
    joint = np.arange(PIXELS) * 4 % PIXELS < 8
    return np.where(joint[:, None] | joint[None], 1.0, tone + 0.08 * noise(rng, smooth_x=1, smooth_y=1))


def _plaster(rng: np.random.Generator) -> Array:
    return 0.5 + 0.25 * noise(rng, smooth_x=1.2, smooth_y=1.2) + 0.35 * noise(rng, smooth_x=7, smooth_y=7)


def _stripes(rng: np.random.Generator) -> Array:
    return np.broadcast_to((np.arange(PIXELS) * 8 // PIXELS % 2).astype(float), (PIXELS, PIXELS))


def _checks(rng: np.random.Generator) -> Array:
    down, right = np.indices((PIXELS, PIXELS)) * 8 // PIXELS
    return ((down + right) % 2).astype(float)


def _dots(rng: np.random.Generator) -> Array:
    down, right = (np.indices((PIXELS, PIXELS)) * 6 % PIXELS) / PIXELS - 0.5
    return np.asarray(np.hypot(down, right) < 0.3, float)


def _speckles(rng: np.random.Generator) -> Array:
    return (noise(rng, smooth_x=1.5, smooth_y=1.5) > 0.4).astype(float)


PLAIN = "plain"
# Of rooms, and of things.
MATERIALS: dict[str, Material | None] = {
    PLAIN: None,
    "wood": Material(_wood, 0.5),
    "cloth": Material(_cloth, 0.35),
    "marble": Material(_marble, 0.9),
    "tiles": Material(_tiles, 0.6),
    "plaster": Material(_plaster, 0.6),
}
# Patterns that no room has: of things, and of a table whose bias is looked for.
PATTERNS: dict[str, Material] = {
    "stripes": Material(_stripes, 0.5),
    "checks": Material(_checks, 0.5),
    "dots": Material(_dots, 0.5),
    "speckles": Material(_speckles, 0.4),
}


def check(name: str) -> None:
    if name not in MATERIALS and name not in PATTERNS:
        raise UnknownName(unknown("material", name, [*MATERIALS, *PATTERNS]))


class Picture(NamedTuple):
    rgb: bytes  # (PIXELS, PIXELS, 3), uint8
    repeats_per_m: float


@cache
def picture(name: str, colour: RGB, second: RGB) -> Picture | None:
    """The same at every call and in every process; none of what is plain."""
    check(name)
    material = MATERIALS.get(name) or PATTERNS.get(name)
    if material is None:
        return None
    mix = np.clip(material.mix(np.random.default_rng(list(name.encode()))), 0, 1)[..., None]
    shades: NDArray[np.uint8] = np.round(255 * ((1 - mix) * np.array(colour) + mix * np.array(second))).astype(np.uint8)
    return Picture(shades.tobytes(), 1 / material.side_m)
