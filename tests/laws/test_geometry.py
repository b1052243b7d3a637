"""Algebraic laws of poses and rotations."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from robodx.sim.geometry import (
    Pose,
    Quaternion,
    Vector,
    about,
    conjugate,
    difference,
    from_rotation_vector,
    interpolate,
    matrix_to_quaternion,
    multiply,
    normalise,
    quaternion_to_matrix,
    rotate,
    to_rotation_vector,
)

NEAR = 1e-9
coordinate = st.floats(-2.0, 2.0)
vectors = st.tuples(coordinate, coordinate, coordinate)
part = st.floats(-1.0, 1.0)
quaternions = st.tuples(part, part, part, part).filter(lambda q: math.hypot(*q) > 1e-3).map(lambda q: normalise(q))
poses = st.builds(Pose, vectors, quaternions)


def is_same(a: Pose, b: Pose, tolerance: float = 1e-7) -> bool:
    return max(difference(a, b)) < tolerance


@given(poses, poses, poses)
def test_composition_is_associative(a: Pose, b: Pose, c: Pose) -> None:
    assert is_same((a @ b) @ c, a @ (b @ c))


@given(poses)
def test_identity_changes_nothing_and_inverse_undoes(pose: Pose) -> None:
    assert is_same(pose @ Pose(), pose) and is_same(Pose() @ pose, pose)
    assert is_same(pose @ pose.inverse(), Pose()) and is_same(pose.inverse() @ pose, Pose())
    assert is_same(pose.inverse().inverse(), pose)


@given(poses, poses)
def test_inverse_of_a_product_is_the_product_of_inverses_reversed(a: Pose, b: Pose) -> None:
    assert is_same((a @ b).inverse(), b.inverse() @ a.inverse())


@given(poses, poses, vectors)
def test_composed_pose_applies_the_inner_one_first(a: Pose, b: Pose, point: Vector) -> None:
    assert (a @ b).apply(point) == pytest.approx(a.apply(b.apply(point)), abs=NEAR)


@given(poses, vectors)
def test_apply_agrees_with_the_matrix(pose: Pose, point: Vector) -> None:
    assert pose.apply(point) == pytest.approx((pose.matrix @ point + pose.position).tolist(), abs=NEAR)


@given(quaternions, vectors, vectors)
def test_rotation_keeps_lengths_and_handedness(q: Quaternion, u: Vector, v: Vector) -> None:
    assert math.hypot(*rotate(q, u)) == pytest.approx(math.hypot(*u), abs=NEAR)
    turned = np.cross(rotate(q, u), rotate(q, v))
    assert turned == pytest.approx(np.array(rotate(q, tuple(np.cross(u, v)))), abs=1e-8)


@given(quaternions)
@example((0.0, 1.0, 0.0, 0.0))
@example((0.0, 0.0, 1.0, 0.0))
@example((0.0, 0.0, 0.0, 1.0))
def test_matrix_round_trip_is_the_same_rotation(q: Quaternion) -> None:
    matrix = quaternion_to_matrix(q)
    assert matrix @ matrix.T == pytest.approx(np.eye(3), abs=NEAR)
    assert np.linalg.det(matrix) == pytest.approx(1.0)
    assert quaternion_to_matrix(matrix_to_quaternion(matrix)) == pytest.approx(matrix, abs=1e-8)


@given(quaternions)
@example((0.0, 1.0, 0.0, 0.0))
@example((-1.0, 0.0, 0.0, 0.0))
def test_rotation_vector_of_a_quaternion_is_the_shortest_and_gives_it_back(q: Quaternion) -> None:
    vector = to_rotation_vector(q)
    assert math.hypot(*vector) <= math.pi + NEAR
    assert quaternion_to_matrix(from_rotation_vector(vector)) == pytest.approx(quaternion_to_matrix(q), abs=1e-8)


@given(vectors.filter(lambda v: math.hypot(*v) < math.pi - 1e-6))
@example((0.0, 0.0, 0.0))
@example((1e-13, 0.0, -1e-13))
@example((1e-9, 0.0, 0.0))
def test_rotation_vector_below_half_a_turn_survives_the_round_trip(vector: Vector) -> None:
    assert to_rotation_vector(from_rotation_vector(vector)) == pytest.approx(vector, rel=1e-6, abs=1e-12)


def test_quarter_turn_about_z_takes_x_to_y() -> None:
    assert Pose((0, 0, 0), about("z", math.pi / 2)).axis("x") == pytest.approx((0.0, 1.0, 0.0))
    assert from_rotation_vector((0.0, 0.0, math.pi / 2)) == pytest.approx(about("z", math.pi / 2))


@given(poses, poses)
def test_interpolation_starts_at_a_and_ends_at_b(a: Pose, b: Pose) -> None:
    assert is_same(interpolate(a, b, 0.0), a)
    assert is_same(interpolate(a, b, 1.0), b)


@given(poses, poses, st.floats(0.0, 1.0))
def test_interpolation_covers_its_share_of_the_way(a: Pose, b: Pose, share: float) -> None:
    whole, done = difference(a, b), difference(a, interpolate(a, b, share))
    assert done.distance_m == pytest.approx(share * whole.distance_m, abs=NEAR)
    assert done.angle_rad == pytest.approx(share * whole.angle_rad, abs=1e-6)


@given(poses, poses, poses)
def test_difference_is_a_metric(a: Pose, b: Pose, c: Pose) -> None:
    assert max(difference(a, a)) < 1e-7
    assert difference(a, b) == pytest.approx(difference(b, a), abs=1e-7)
    for through, direct in zip(np.add(difference(a, b), difference(b, c)), difference(a, c), strict=True):
        assert 0.0 <= direct <= through + 1e-6


@given(poses, poses, poses)
def test_difference_is_the_same_seen_from_another_frame(a: Pose, b: Pose, frame: Pose) -> None:
    assert difference(frame @ a, frame @ b) == pytest.approx(difference(a, b), abs=1e-6)


@given(quaternions)
def test_a_quaternion_and_its_negative_are_one_rotation(q: Quaternion) -> None:
    w, x, y, z = q
    assert difference(Pose((0, 0, 0), q), Pose((0, 0, 0), (-w, -x, -y, -z))).angle_rad < 1e-7
    assert multiply(q, conjugate(q)) == pytest.approx((1.0, 0.0, 0.0, 0.0), abs=NEAR)


def test_zero_quaternion_is_refused_with_its_numbers() -> None:
    with pytest.raises(ValueError, match=r"length 0 .*\[0\.0, 0\.0, 0\.0, 0\.0\]"):
        normalise((0.0, 0.0, 0.0, 0.0))
