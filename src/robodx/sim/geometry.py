"""Poses and rotations as plain numpy: wxyz quaternions, right-handed frames, metres and radians."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Vector = tuple[float, float, float]
Quaternion = tuple[float, float, float, float]


@dataclass(frozen=True, slots=True)
class Pose:
    """A position and a wxyz unit quaternion; what frame it is in is said by the variable's name."""

    position: Vector = (0.0, 0.0, 0.0)
    quaternion: Quaternion = (1.0, 0.0, 0.0, 0.0)

    @classmethod
    def of(cls, position: Sequence[float] | Array, quaternion: Sequence[float] | Array = (1, 0, 0, 0)) -> Pose:
        x, y, z = position
        qw, qx, qy, qz = quaternion
        return cls((float(x), float(y), float(z)), (float(qw), float(qx), float(qy), float(qz)))

    @classmethod
    def from_matrix(cls, position: Sequence[float] | Array, rotation: Array) -> Pose:
        return cls.of(position, matrix_to_quaternion(rotation))

    def __matmul__(self, other: Pose) -> Pose:
        """`a_in_world @ b_in_a` is `b_in_world`."""
        return Pose(self.apply(other.position), multiply(self.quaternion, other.quaternion))

    def apply(self, point: Vector) -> Vector:
        rx, ry, rz = rotate(self.quaternion, point)
        x, y, z = self.position
        return (x + rx, y + ry, z + rz)

    def inverse(self) -> Pose:
        back = conjugate(self.quaternion)
        x, y, z = rotate(back, self.position)
        return Pose((-x, -y, -z), back)

    def shifted(self, dx: float = 0.0, dy: float = 0.0, dz: float = 0.0) -> Pose:
        """The same orientation, moved along the axes of the frame this pose is expressed in."""
        x, y, z = self.position
        return Pose((x + dx, y + dy, z + dz), self.quaternion)

    def axis(self, name: str) -> Vector:
        """The direction of this frame's own x, y or z axis."""
        return rotate(self.quaternion, AXES[name])

    @property
    def matrix(self) -> Array:
        return quaternion_to_matrix(self.quaternion)


class PoseError(NamedTuple):
    distance_m: float
    angle_rad: float


AXES: dict[str, Vector] = {"x": (1.0, 0.0, 0.0), "y": (0.0, 1.0, 0.0), "z": (0.0, 0.0, 1.0)}


def multiply(a: Quaternion, b: Quaternion) -> Quaternion:
    aw, ax, ay, az = a
    bw, bx, by, bz = b
    return (
        aw * bw - ax * bx - ay * by - az * bz,
        aw * bx + ax * bw + ay * bz - az * by,
        aw * by - ax * bz + ay * bw + az * bx,
        aw * bz + ax * by - ay * bx + az * bw,
    )


def conjugate(q: Quaternion) -> Quaternion:
    return (q[0], -q[1], -q[2], -q[3])


def normalise(q: Sequence[float] | Array) -> Quaternion:
    w, x, y, z = (float(value) for value in q)
    norm = math.sqrt(w * w + x * x + y * y + z * z)
    if norm < 1e-9:
        raise ValueError(f"a quaternion of length {norm:.3g} has no direction: {[w, x, y, z]}")
    return (w / norm, x / norm, y / norm, z / norm)


def rotate(q: Quaternion, v: Vector) -> Vector:
    w, x, y, z = q
    vx, vy, vz = v
    tx, ty, tz = 2 * (y * vz - z * vy), 2 * (z * vx - x * vz), 2 * (x * vy - y * vx)
    return (
        vx + w * tx + y * tz - z * ty,
        vy + w * ty + z * tx - x * tz,
        vz + w * tz + x * ty - y * tx,
    )


def turned(vector: Vector, yaw_rad: float) -> Vector:
    """About the vertical; to the last bit as it was where there is no turn."""
    if yaw_rad == 0.0:
        return vector
    (x, y, z), cos, sin = vector, math.cos(yaw_rad), math.sin(yaw_rad)
    return (cos * x - sin * y, sin * x + cos * y, z)


def from_rotation_vector(vector: Sequence[float] | Array) -> Quaternion:
    x, y, z = (float(value) for value in vector)
    angle = math.sqrt(x * x + y * y + z * z)
    if angle < 1e-12:
        return (1.0, 0.5 * x, 0.5 * y, 0.5 * z)
    scale = math.sin(angle / 2) / angle
    return (math.cos(angle / 2), x * scale, y * scale, z * scale)


def to_rotation_vector(q: Quaternion) -> Vector:
    """The shortest rotation: its angle is in [0, pi]."""
    w, x, y, z = q if q[0] >= 0 else (-q[0], -q[1], -q[2], -q[3])
    sine = math.sqrt(x * x + y * y + z * z)
    if sine < 1e-12:
        return (2 * x, 2 * y, 2 * z)
    scale = 2 * math.atan2(sine, w) / sine
    return (x * scale, y * scale, z * scale)


def about(axis: str, angle_rad: float) -> Quaternion:
    """A turn about the x, y or z axis."""
    x, y, z = AXES[axis]
    sine = math.sin(angle_rad / 2)
    return (math.cos(angle_rad / 2), x * sine, y * sine, z * sine)


def quaternion_to_matrix(q: Quaternion) -> Array:
    w, x, y, z = q
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )


def box_reach(q: Quaternion, half_extents: Vector) -> Vector:
    """Half extents, along the frame's axes, of a box turned by q."""
    w, x, y, z = q
    a, b, c = half_extents
    return (
        abs(1 - 2 * (y * y + z * z)) * a + abs(2 * (x * y - w * z)) * b + abs(2 * (x * z + w * y)) * c,
        abs(2 * (x * y + w * z)) * a + abs(1 - 2 * (x * x + z * z)) * b + abs(2 * (y * z - w * x)) * c,
        abs(2 * (x * z - w * y)) * a + abs(2 * (y * z + w * x)) * b + abs(1 - 2 * (x * x + y * y)) * c,
    )


def cylinder_reach(q: Quaternion, radius: float, half_length: float) -> Vector:
    """Half extents, along the frame's axes, of a cylinder along z that is turned by q."""
    x, y, z = (radius * math.sqrt(max(0.0, 1 - a * a)) + half_length * abs(a) for a in rotate(q, AXES["z"]))
    return (x, y, z)


def matrix_to_quaternion(matrix: Array) -> Quaternion:
    """Shepperd's method: divides by the largest component, so it is stable for every rotation."""
    (a, b, c), (d, e, f), (g, h, i) = matrix.tolist()
    if a + e + i > 0:
        s = 2 * math.sqrt(a + e + i + 1)
        q = (s / 4, (h - f) / s, (c - g) / s, (d - b) / s)
    elif a > e and a > i:
        s = 2 * math.sqrt(1 + a - e - i)
        q = ((h - f) / s, s / 4, (b + d) / s, (c + g) / s)
    elif e > i:
        s = 2 * math.sqrt(1 + e - a - i)
        q = ((c - g) / s, (b + d) / s, s / 4, (f + h) / s)
    else:
        s = 2 * math.sqrt(1 + i - a - e)
        q = ((d - b) / s, (c + g) / s, (f + h) / s, s / 4)
    return normalise(q)


def difference(a: Pose, b: Pose) -> PoseError:
    """How far apart two poses in the same frame are."""
    turn = to_rotation_vector(multiply(b.quaternion, conjugate(a.quaternion)))
    return PoseError(math.dist(a.position, b.position), math.hypot(*turn))


def interpolate(a: Pose, b: Pose, share: float) -> Pose:
    """The pose a `share` of the way from a to b: straight in position, shortest in rotation."""
    turn = to_rotation_vector(multiply(b.quaternion, conjugate(a.quaternion)))
    step = from_rotation_vector([share * value for value in turn])
    x, y, z = (p + share * (q - p) for p, q in zip(a.position, b.position, strict=True))
    return Pose((x, y, z), normalise(multiply(step, a.quaternion)))
