"""The ways in which rotations are written down, each there and back to a wxyz quaternion."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from robodx.sim.geometry import (
    Quaternion,
    about,
    from_rotation_vector,
    matrix_to_quaternion,
    multiply,
    normalise,
    quaternion_to_matrix,
    to_rotation_vector,
)


class Form(NamedTuple):
    width: int
    read: Callable[[Sequence[float]], Quaternion]
    write: Callable[[Quaternion], Sequence[float]]
    # Whether its numbers are angles, which a scale or degrees apply to.
    is_angles: bool


def _from_euler(angles: Sequence[float]) -> Quaternion:
    roll, pitch, yaw = angles
    return multiply(about("z", yaw), multiply(about("y", pitch), about("x", roll)))


def _to_euler(q: Quaternion) -> Sequence[float]:
    matrix = quaternion_to_matrix(q)
    pitch = math.asin(max(-1.0, min(1.0, -float(matrix[2, 0]))))
    if abs(matrix[2, 0]) > 1 - 1e-12:
        # Looking straight up or down only roll + yaw is defined: all of it is yaw.
        return (0.0, pitch, math.atan2(-matrix[0, 1], matrix[1, 1]))
    return (math.atan2(matrix[2, 1], matrix[2, 2]), pitch, math.atan2(matrix[1, 0], matrix[0, 0]))


def _from_two(first: Sequence[float], second: Sequence[float]) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    """A rotation's first two axes, made orthogonal, and the third, as rows."""
    a, b = np.array(first, dtype=float), np.array(second, dtype=float)
    length = np.linalg.norm(a)
    if length < 1e-6:
        raise ValueError(f"a rotation whose first axis has no direction: {list(first)}")
    a = a / length
    b = b - a * (a @ b)
    length = np.linalg.norm(b)
    if length < 1e-6:
        raise ValueError(f"a rotation whose two axes are parallel: {list(first)}, {list(second)}")
    b = b / length
    return np.stack([a, b, np.cross(a, b)])


ROTATIONS: dict[str, Form] = {
    "rotation_vector": Form(3, from_rotation_vector, to_rotation_vector, is_angles=True),
    # Roll, pitch, yaw about the fixed axes x, y, z.
    "euler_xyz": Form(3, _from_euler, _to_euler, is_angles=True),
    "quaternion_wxyz": Form(4, normalise, lambda q: q, is_angles=False),
    "quaternion_xyzw": Form(
        4, lambda v: normalise([v[3], v[0], v[1], v[2]]), lambda q: (q[1], q[2], q[3], q[0]), is_angles=False
    ),
    # The matrix's first two rows, or its first two columns, one after the other.
    "rotation_6d_rows": Form(
        6,
        lambda v: matrix_to_quaternion(_from_two(v[:3], v[3:])),
        lambda q: quaternion_to_matrix(q)[:2].ravel().tolist(),
        is_angles=False,
    ),
    "rotation_6d_columns": Form(
        6,
        lambda v: matrix_to_quaternion(_from_two(v[:3], v[3:]).T),
        lambda q: quaternion_to_matrix(q)[:, :2].T.ravel().tolist(),
        is_angles=False,
    ),
}
