"""What a camera sees of one thing: how much, how much is hidden or cut off, its contrast, and how many of its faces."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage  # type: ignore[import-untyped]

from robodx.fairness.colour_difference import Lab, ciede2000, lab
from robodx.sim.render import Renderer
from robodx.sim.simulation import Simulation

# Side of a picture in pixels: what counts pixels here counts them in such a picture.
SIZE = 256
# As far beyond each edge what is cut off is looked for.
MARGIN = SIZE // 2
# The ring around a thing whose colour it is held against: from a pixel off its edge, which may be of both, to so many.
RING_PX = (1, 6)
# Normals that differ by less are of one face; a face takes so many pixels, and such a share of what is seen of a thing.
# The faces of what is round are as many as its normals fill.
SAME_FACE_DEG, OTHER_FACE_DEG = 20.0, 35.0
LEAST_FACE_PX, LEAST_FACE_SHARE = 4, 0.06
# Of a large thing every so many pixels are looked at.
MOST_NORMALS = 500

Mask = NDArray[np.bool_]
CROSS = ndimage.generate_binary_structure(2, 1)


@dataclass(frozen=True)
class Seen:
    """Of one thing in one picture."""

    visible_px: int
    # What would be in the picture without all others, and what would be in one without edges.
    unhidden_px: int
    whole_px: int
    # CIEDE2000 to what is around it; None where nothing of it or nothing around it is seen.
    contrast: float | None
    faces: int

    @property
    def hidden(self) -> float:
        """The share of it in the picture that others hide."""
        return 1 - self.visible_px / self.unhidden_px if self.unhidden_px else 0.0

    @property
    def cut_off(self) -> float:
        """The share of it beyond the picture's edges; all of it where it is nowhere near."""
        return 1 - self.unhidden_px / self.whole_px if self.whole_px else 1.0


@dataclass(frozen=True)
class Sight:
    """A picture, and what is seen in it of the things that were asked for, by name."""

    picture: NDArray[np.uint8]
    things: dict[str, Seen]
    # L* of the middle pixel, from dark (0) to bright (100).
    lightness: float


def sight(simulation: Simulation, renderer: Renderer, camera: str, names: tuple[str, ...]) -> Sight:
    """The renderer's largest picture has SIZE + 2 MARGIN pixels on each side."""
    picture = renderer.rgb(camera, SIZE, SIZE)
    shown, depth = renderer.segmentation(camera, SIZE, SIZE), renderer.depth(camera, SIZE, SIZE)
    focal_px = SIZE / 2 / math.tan(math.radians(simulation.camera(camera).fovy_deg) / 2)
    things = {}
    for name in names:
        visible = shown == renderer.names.index(name)
        alone = renderer.alone(name, camera, SIZE, SIZE, margin=MARGIN)
        inside = alone[MARGIN:-MARGIN, MARGIN:-MARGIN]
        things[name] = Seen(
            int(visible.sum()),
            int(inside.sum()),
            int(alone.sum()),
            contrast(picture, visible),
            faces(depth, visible, focal_px),
        )
    return Sight(picture, things, float(np.median(lab(picture)[..., 0])))


def contrast(picture: NDArray[np.uint8], visible: Mask) -> float | None:
    """Between the medians of what is seen of a thing and of the ring around it."""
    near, far = (ndimage.binary_dilation(visible, CROSS, iterations=px) for px in RING_PX)
    ring = far & ~near
    if not visible.any() or not ring.any():
        return None
    return ciede2000(_median(picture[visible]), _median(picture[ring]))


def _median(pixels: NDArray[np.uint8]) -> Lab:
    lightness, a, b = np.median(lab(pixels), axis=0).tolist()
    return lightness, a, b


def faces(depth: NDArray[np.float32], visible: Mask, focal_px: float) -> int:
    """How many sides of a thing are seen, by which way its surface looks; none where it is too thin for a surface."""
    normals = _normals(depth, visible, focal_px)
    least = max(LEAST_FACE_PX, LEAST_FACE_SHARE * len(normals))
    if len(normals) > MOST_NORMALS:
        normals = normals[:: -(-len(normals) // MOST_NORMALS)]
        least = max(LEAST_FACE_PX, LEAST_FACE_SHARE * len(normals))
    same, other = (math.cos(math.radians(degrees)) for degrees in (SAME_FACE_DEG, OTHER_FACE_DEG))
    found = 0
    while len(normals) >= least:
        likeness = normals @ normals.T
        counts = (likeness > same).sum(axis=0)
        best = int(counts.argmax())
        if counts[best] < least:
            break
        found += 1
        normals = normals[likeness[best] < other]
    return found


def _normals(depth: NDArray[np.float32], visible: Mask, focal_px: float) -> NDArray[np.float64]:
    """(n, 3) of the surface, where a pixel and the four beside it show the thing."""
    rows, columns = np.indices(depth.shape) - (np.array(depth.shape)[:, None, None] - 1) / 2
    z = depth.astype(np.float64)
    points = np.stack([columns * z / focal_px, rows * z / focal_px, z], axis=-1)
    inner = ndimage.binary_erosion(visible, CROSS)
    at = np.argwhere(inner)
    across = points[at[:, 0], at[:, 1] + 1] - points[at[:, 0], at[:, 1] - 1]
    down = points[at[:, 0] + 1, at[:, 1]] - points[at[:, 0] - 1, at[:, 1]]
    normals = np.cross(across, down)
    lengths = np.maximum(np.linalg.norm(normals, axis=1, keepdims=True), 1e-12)
    return np.asarray(normals / lengths)
