"""Where the light comes from, by how it falls on the robot's own base, which is white and round."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from robodx.sight.cloud import TOWARDS_LAMP, Eye, brightness, distances_in
from robodx.sight.ranks import median
from robodx.sim.geometry import Array, Pose

# The white of the base in its own frame: heights below and above its dark ring, and how far around its axis.
WHITE_M = ((0.02, 0.125), (0.155, 0.25))
AROUND_M = 0.16
# Above, a picture shows no difference any more.
BRIGHTEST = 250
FEWEST_PIXELS = 100
# Lamps hang as high as the usual one, anywhere around.
WAYS = 36


def towards_lamp(
    eyes: Mapping[str, Eye],
    images: Mapping[str, NDArray[np.uint8]],
    depth: Mapping[str, NDArray[np.float32]],
    base: Pose,
) -> Array | None:
    """The way from the table to the lamp by which the base looks most as it does; none if too little of it is seen."""
    seen = [_of_base(eye, images[name], depth[name], base) for name, eye in eyes.items()]
    shades = np.concatenate([shade for shade, _, _ in seen])
    if len(shades) < FEWEST_PIXELS:
        return None
    normals, towards_eye = (np.concatenate([part[index] for part in seen]) for index in (1, 2))
    high, flat = TOWARDS_LAMP[2], math.hypot(*TOWARDS_LAMP[:2])
    turns = 2 * np.pi * np.arange(WAYS) / WAYS
    around = np.column_stack([flat * np.cos(turns), flat * np.sin(turns), np.full(WAYS, high)])
    ways: list[Array] = [TOWARDS_LAMP, *around]
    best: Array = min(ways, key=lambda way: _misfit(shades, brightness(normals, towards_eye, way)))
    return best


def _misfit(shades: Array, expected: Array) -> float:
    """However bright the picture is as a whole; a median, for some of the base may lie in the arm's shadow."""
    return median(np.abs(shades / median(shades) - expected / median(expected)))


def _of_base(eye: Eye, image: NDArray[np.uint8], depth: NDArray[np.float32], base: Pose) -> tuple[Array, Array, Array]:
    """Of pixels that show it: how bright they are, which way they face, and which way the camera is."""
    distances = distances_in(depth)
    from_base = eye.origin[:, None] + distances * eye.rays - np.array(base.position)[:, None]
    x, y, z = (np.ascontiguousarray(from_base.T) @ base.matrix).T
    is_white = np.logical_or.reduce([(z > low) & (z < high) for low, high in WHITE_M])
    is_white &= np.hypot(x, y) < AROUND_M
    # The outermost pixels have no neighbours to tell a surface by.
    inner = np.zeros((eye.height, eye.width), dtype=bool)
    inner[1:-1, 1:-1] = True
    colours = image.reshape(-1, 3)
    pixels = np.flatnonzero(is_white & inner.reshape(-1))
    pixels = pixels[colours[pixels].max(axis=1) < BRIGHTEST]
    towards_eye = np.broadcast_to(np.array(eye.in_world.axis("z")), (len(pixels), 3))
    return colours[pixels].mean(axis=1) / 255, eye.normals(distances, pixels), towards_eye
