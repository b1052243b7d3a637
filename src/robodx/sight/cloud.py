"""Pictures with depth to points on things: where they are, which way their surface faces and what colour it has."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from robodx.policy_contract import Calibration
from robodx.sight.ranks import median, medians
from robodx.sim.geometry import Array, Pose, Vector
from robodx.sim.scene import LIGHTS, Arena

# Where things may be: within the arm's reach and below its elbow.
LOWEST = (-0.36, -0.42, -0.005)
HIGHEST = (0.30, 0.42, 0.20)
# Lower than this is the table, or paint on it.
TABLE_M = 0.0015
# How much a pixel's colour differs from the table's where the table is painted.
PAINT = 0.10
# Where the table is speckled or the picture is noisy, by so many times what its pixels differ anyhow.
SPREADS = 4.0
SAMPLES = 500
# Seeing this much further than where a thing's middle was is seeing past it.
PAST_M = 0.02
# The headlight of every RoboDx scene: it shines along the way that the camera looks.
HEADLIGHT = 0.25
# The usual lamp: as bright everywhere, and in most rooms there.
LAMP = LIGHTS[0].brightness
TOWARDS_LAMP: Array = -np.array(LIGHTS[0].direction) / np.linalg.norm(LIGHTS[0].direction)


class Points(NamedTuple):
    """Points on things, one row each, in the world frame."""

    xyz: Array  # (n, 3)
    normals: Array  # (n, 3)
    # As it would look in plain white light.
    colours: Array  # (n, 3), 0 to 1
    is_paint: NDArray[np.bool_]  # (n,)

    def of(self, chosen: NDArray[np.bool_] | NDArray[np.intp]) -> Points:
        rows = np.flatnonzero(chosen) if chosen.dtype == bool else chosen
        xyz, normals, colours = (column.take(rows, axis=0) for column in (self.xyz, self.normals, self.colours))
        return Points(xyz, normals, colours, self.is_paint[rows])


@dataclass(frozen=True)
class Eye:
    """A camera that stands still: where its rays start and go in the world, and which of them may meet things."""

    origin: Array  # (3,)
    rays: Array  # (3, height * width), of unit length along the viewing axis
    in_world: Pose
    focal: float  # in pixels
    height: int
    width: int
    useful: NDArray[np.intp]  # (n,), pixels by their place in the picture, row after row
    useful_rays: NDArray[np.float32]  # (3, n)

    @classmethod
    def of(cls, calibration: Calibration, base_in_world: Pose, height: int, width: int) -> Eye:
        if calibration.frame != "base":
            raise ValueError("a camera that the arm carries does not stand still")
        pose = base_in_world @ calibration.pose
        focal = height / 2 / math.tan(math.radians(calibration.fovy_deg) / 2)
        columns, rows = np.meshgrid(np.arange(width) + 0.5 - width / 2, np.arange(height) + 0.5 - height / 2)
        in_camera = np.stack([columns / focal, -rows / focal, -np.ones_like(rows)], axis=-1)
        rays, origin = (in_camera @ pose.matrix.T).reshape(-1, 3).T.copy(), np.array(pose.position)
        meets = _meets_workspace(origin, rays).reshape(height, width)
        # The outermost pixels have no neighbours to tell a surface by.
        meets[[0, -1]] = meets[:, [0, -1]] = False
        useful = np.flatnonzero(meets)
        return cls(origin, rays, pose, focal, height, width, useful, rays.take(useful, axis=1).astype(np.float32))

    def look(self, image: NDArray[np.uint8], depth: NDArray[np.float32], towards_lamp: Array = TOWARDS_LAMP) -> Points:
        """What stands out of the table, or is painted on it."""
        if not image.shape[:2] == depth.shape == (self.height, self.width):
            raise ValueError(f"a picture of {image.shape} with depth of {depth.shape}, not {self.height}x{self.width}")
        distances = distances_in(depth)
        far, origin = distances[self.useful], self.origin.astype(np.float32)
        z = self.useful_rays[2] * far + origin[2]
        is_thing = (z >= TABLE_M) & (z < HIGHEST[2])
        table = np.flatnonzero(np.abs(z) < TABLE_M)
        is_thing[table[_is_painted(image, self.useful[table])]] = True
        # Most pixels show the plain table: x and y are worked out for the others only.
        chosen = np.flatnonzero(is_thing)
        x, y = self.useful_rays[:2].take(chosen, axis=1) * far[chosen] + origin[:2, None]
        is_within = (x > LOWEST[0]) & (x < HIGHEST[0]) & (y > LOWEST[1]) & (y < HIGHEST[1])
        pixels = self.useful[chosen[is_within]]
        xyz = np.ascontiguousarray(self._points(distances, pixels).T)
        normals = self.normals(distances, pixels)
        light = brightness(normals, np.array(self.in_world.axis("z")), towards_lamp)
        # The foot of what stands on the table is low, too, but does not face up.
        is_flat = (xyz[:, 2] < TABLE_M) & (normals[:, 2] > 0.9)
        return Points(xyz, normals, image.reshape(-1, 3)[pixels] / (255 * light[:, None]), is_flat)

    def sees_past(self, place: Vector, depth: NDArray[np.float32]) -> bool:
        """Whether it sees what is behind a place, so that nothing is there."""
        x, y, z = self.in_world.inverse().apply(place)
        if z >= 0:
            return False
        column = math.floor(self.width / 2 + x / -z * self.focal)
        row = math.floor(self.height / 2 - y / -z * self.focal)
        is_in_picture = 0 <= row < self.height and 0 <= column < self.width
        # What could not be measured is not seen through.
        return is_in_picture and -z + PAST_M < float(depth[row, column]) < math.inf

    def _points(self, distances: NDArray[np.float32], pixels: NDArray[np.intp]) -> Array:
        points: Array = self.origin[:, None] + distances[pixels] * self.rays.take(pixels, axis=1)  # (3, n)
        return points

    def normals(self, distances: NDArray[np.float32], pixels: NDArray[np.intp]) -> Array:
        """From the nearer neighbour on either side: the farther one may lie on what is behind."""
        here = self._points(distances, pixels)

        def along(step: int) -> Array:
            ahead, behind = self._points(distances, pixels + step) - here, here - self._points(distances, pixels - step)
            return np.where((ahead**2).sum(axis=0) < (behind**2).sum(axis=0), ahead, behind)

        (ax, ay, az), (bx, by, bz) = along(1), along(-self.width)
        normals = np.stack([ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx])
        lengths = np.sqrt((normals**2).sum(axis=0))
        return np.ascontiguousarray((normals / np.maximum(lengths, 1e-12)).T)


def distances_in(depth: NDArray[np.float32]) -> NDArray[np.float32]:
    """Row after row; zero where the camera could not measure."""
    return np.where(np.isfinite(depth), depth, 0).reshape(-1)


def _is_painted(image: NDArray[np.uint8], table: NDArray[np.intp]) -> NDArray[np.bool_]:
    """Which pixels of the table differ from most of it, by more than most of it does from itself."""
    if not len(table):
        return np.zeros(0, dtype=bool)
    every = len(table) // SAMPLES + 1
    plain = medians(image.reshape(-1, 3)[table[::every]]).astype(np.uint8)
    # Whole rows of the picture at once: numpy is slow along axes as short as three.
    rows, plain_row = image.reshape(len(image), -1), np.tile(plain, image.shape[1])
    red, green, blue = (np.maximum(rows, plain_row) - np.minimum(rows, plain_row)).reshape(-1, 3).T
    differences = np.maximum(np.maximum(red, green), blue)[table]
    return np.asarray(differences > max(255 * PAINT, SPREADS * median(differences[::every])))


def _meets_workspace(origin: Array, rays: Array) -> NDArray[np.bool_]:
    """Whether each ray passes through the box where things may be."""
    with np.errstate(divide="ignore", invalid="ignore"):
        near, far = ((bounds - origin)[:, None] / rays for bounds in (LOWEST, HIGHEST))
    enters, leaves = np.minimum(near, far).max(axis=0), np.maximum(near, far).min(axis=0)
    return np.asarray(leaves > np.maximum(enters, 0.0))


def brightness(normals: Array, towards_eye: Array, towards_lamp: Array) -> Array:
    """How bright a white surface is that is seen from one way, (3,) or (n, 3), and lit from another."""
    x, y, z = (normals * towards_eye).T
    from_eye = np.clip(x + y + z, 0, 1)
    return np.asarray(Arena().ambient + HEADLIGHT * from_eye + LAMP * np.clip(normals @ towards_lamp, 0, 1))


def look(
    eyes: Mapping[str, Eye],
    images: Mapping[str, NDArray[np.uint8]],
    depth: Mapping[str, NDArray[np.float32]],
    towards_lamp: Array = TOWARDS_LAMP,
) -> Points:
    """What all of them see together; at least one of them looks."""
    return joined([eye.look(images[name], depth[name], towards_lamp) for name, eye in eyes.items()])


def showing(eyes: Mapping[str, Eye], images: Mapping[str, NDArray[np.uint8]]) -> dict[str, Eye]:
    """Those whose frame has come: a picture that is all zero is none."""
    return {name: eye for name, eye in eyes.items() if images[name].any()}


def joined(parts: Sequence[Points]) -> Points:
    return Points(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))
