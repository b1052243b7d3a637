"""Simple solids fitted to points: spheres, upright cylinders, and boxes that stand flat and are turned about z."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from robodx.sight.cloud import Points
from robodx.sight.ranks import median, quantile
from robodx.sim.geometry import Array, Vector

# A point faces a way, up or along an axis, when its normal's part that way is more than this; and it is on an upright
# side when its normal's upward part is less than that.
FACING = 0.95
UPRIGHT = 0.2
# A side's points lie this near the outermost ones; a box this near to square is square where a side of it is hidden.
SIDE_M = 0.008
SQUARE_M = 0.006
# A face is believed when this many points lie on it.
FACE_POINTS = 5
# Points on a face lie within a millimetre of it: where fewer than this share of all do, it is a stray edge.
FACE_SHARE = 0.01
# The outermost points of a surface that is seen from above lie, on average, this far inside its edge.
INSET_M = 0.001


class Sphere(NamedTuple):
    centre: Vector
    radius: float
    # Root mean square distance of the points from it.
    error_m: float


class Circle(NamedTuple):
    x: float
    y: float
    radius: float


class Box(NamedTuple):
    """Turned about z by `yaw_rad`; the extents are along its own axes."""

    centre: Vector
    half: Vector
    yaw_rad: float
    # How sharply its sides face four ways, 0 (round) to 1.
    squareness: float


class Facing(NamedTuple):
    """Shares of the points that face sideways, and slantwise up."""

    sideways: float
    slanted: float


def facing(points: Points) -> Facing:
    return Facing(float((np.abs(points.normals[:, 2]) < UPRIGHT).mean()), float(is_slanted(points).mean()))


def is_slanted(points: Points) -> NDArray[np.bool_]:
    """Whether each faces up, but neither straight up nor sideways."""
    return (points.normals[:, 2] >= UPRIGHT) & (points.normals[:, 2] <= FACING)


def fit_sphere(xyz: Array) -> Sphere:
    centre, radius = _fit_round(xyz)
    distances = np.sqrt(sum(((xyz - centre) ** 2).T))
    error = float(np.sqrt(np.mean((distances - radius) ** 2)))
    x, y, z = centre.tolist()
    return Sphere((x, y, z), radius, error)


def fit_circle(xy: Array) -> Circle:
    centre, radius = _fit_round(xy)
    x, y = centre.tolist()
    return Circle(x, y, radius)


def _fit_round(points: Array) -> tuple[Array, float]:
    """Centre and radius, in the plane as in space: least squares on |p|² = 2 p·c + (r² - |c|²)."""
    origin = points.mean(axis=0)
    p = points - origin
    known = np.column_stack([2 * p, np.ones(len(p))])
    solution, *_ = np.linalg.lstsq(known, sum((p**2).T), rcond=None)
    centre = solution[:-1]
    return centre + origin, math.sqrt(max(float(solution[-1] + centre @ centre), 0.0))


def fit_box(points: Points) -> Box:
    """Its turn from the way its sides face, its sides from the points on them."""
    xyz, normals = points.xyz, points.normals
    is_side = np.abs(normals[:, 2]) < UPRIGHT
    yaw, squareness = side_turn(normals[is_side]) if is_side.sum() >= FACE_POINTS else (0.0, 0.0)
    cosine, sine = math.cos(yaw), math.sin(yaw)
    turn = np.array([[cosine, sine], [-sine, cosine]])
    flat, facing_ = xyz[:, :2] @ turn.T, normals[:, :2] @ turn.T
    enough = max(FACE_POINTS, FACE_SHARE * len(xyz))
    low, high, seen = np.zeros(2), np.zeros(2), np.zeros((2, 2), dtype=bool)
    for axis in range(2):
        along = flat[:, axis]
        # Seen or not, a side is where the outermost points are.
        edges = [quantile(along, 0.01) - INSET_M, quantile(along, 0.99) + INSET_M]
        for end, sign in enumerate((-1, 1)):
            on_side = along[(sign * facing_[:, axis] > FACING) & (np.abs(along - edges[end]) < SIDE_M)]
            seen[axis, end] = len(on_side) >= enough
            if seen[axis, end]:
                edges[end] = median(on_side)
        low[axis], high[axis] = edges
    half, middle = (high - low) / 2, (high + low) / 2
    _square_up(half, middle, low, high, seen)
    x, y = (middle @ turn).tolist()
    bottom, top = float(xyz[:, 2].min()), quantile(xyz[:, 2], 0.995)
    hx, hy = half.tolist()
    return Box((x, y, (bottom + top) / 2), (hx, hy, (top - bottom) / 2), yaw, squareness)


def side_turn(normals: Array) -> tuple[float, float]:
    """The turn, within an eighth of a turn, of what has four sides that face this way, and how sharply they do."""
    four_fold = np.exp(4j * np.arctan2(normals[:, 1], normals[:, 0]))
    mean = four_fold.mean()
    # A second time without the points along edges, which face anywhere.
    near = four_fold[(four_fold * np.conj(mean)).real > 0.9 * abs(mean)]
    if len(near) >= FACE_POINTS:
        return float(np.angle(near.mean()) / 4), float(abs(mean))
    return float(np.angle(mean) / 4), float(abs(mean))


def _square_up(half: Array, middle: Array, low: Array, high: Array, seen: Array) -> None:
    """Where one way a side is hidden and both are seen the other way, and it is about as wide, it is as wide."""
    for axis in range(2):
        other = 1 - axis
        if seen[axis].sum() == 1 and seen[other].all() and abs(half[axis] - half[other]) < SQUARE_M:
            half[axis] = half[other]
            middle[axis] = low[axis] + half[axis] if seen[axis, 0] else high[axis] - half[axis]
