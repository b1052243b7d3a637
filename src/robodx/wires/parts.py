"""Parts of a robot's state in the forms that policy servers ask for, each there and back."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from robodx.sim.geometry import Quaternion, Vector, from_rotation_vector, to_rotation_vector
from robodx.wires.rotations import ROTATIONS, Form

Array = NDArray[np.float32]
Angles = Literal["radians", "degrees"]


class Part(NamedTuple):
    """Numbers of one arm. `of` is the part of RoboDx's state that they are made from and give back."""

    of: str
    # None: as many as the arm has joints.
    width: int | None
    # From RoboDx's numbers of one arm to the server's, given the gripper's widest opening in metres.
    write: Callable[[Array, float], Sequence[float] | Array]
    # Back, as (where in RoboDx's numbers, the numbers).
    read: Callable[[Array, float], tuple[int, Sequence[float] | Array]]
    is_angles: bool = False
    # Of its numbers, for a person; angles may be sent in degrees instead.
    unit: str = ""


def _turn(form: Form) -> Part:
    def write(pose: Array, _: float) -> Sequence[float]:
        w, x, y, z = pose[3:7].tolist()
        return form.write((w, x, y, z))

    def read(numbers: Array, _: float) -> tuple[int, Quaternion]:
        return 3, form.read(numbers.tolist())

    return Part("ee_pose", form.width, write, read, form.is_angles, "rad" if form.is_angles else "no unit")


def _same(of: str, width: int | None, unit: str, *, is_angles: bool = False) -> Part:
    return Part(of, width, lambda numbers, _: numbers, lambda numbers, _: (0, numbers), is_angles, unit)


def _past_half_a_turn(q: Quaternion) -> Vector:
    """The rotation vector with a positive x, of up to a whole turn.

    A hand that looks down is half a turn about x from the base, where the shortest vector jumps to its opposite.
    """
    x, y, z = to_rotation_vector(q)
    if x >= 0:
        return x, y, z
    scale = 1 - 2 * math.pi / math.hypot(x, y, z)
    return x * scale, y * scale, z * scale


PARTS: dict[str, Part] = {
    "joint_positions": _same("joint_positions", None, "rad", is_angles=True),
    "joint_velocities": _same("joint_velocities", None, "rad/s", is_angles=True),
    "gripper_opening": _same("gripper_opening", 1, "0 closed … 1 open"),
    "gripper_closing": Part(
        "gripper_opening", 1, lambda o, _: 1.0 - o, lambda c, _: (0, 1.0 - c), unit="0 open … 1 closed"
    ),
    # Between the fingers, and of each finger from the middle, as simulators of the Panda have them.
    "gripper_width": Part(
        "gripper_opening", 1, lambda o, widest: o * widest, lambda w, widest: (0, w / widest), unit="m"
    ),
    "finger_positions": Part(
        "gripper_opening",
        2,
        lambda o, widest: [o[0] * widest / 2, -o[0] * widest / 2],
        lambda f, widest: (0, [(f[0] - f[1]) / widest]),
        unit="m",
    ),
    "ee_position": Part("ee_pose", 3, lambda pose, _: pose[:3], lambda xyz, _: (0, xyz), unit="m"),
    **{f"ee_{name}": _turn(form) for name, form in ROTATIONS.items()},
    # As robosuite, and so LIBERO, has it.
    "ee_rotation_vector_down": _turn(Form(3, from_rotation_vector, _past_half_a_turn, is_angles=True)),
    "ee_pose": _same("ee_pose", 7, "m and wxyz quaternion"),
    "base_pose": _same("base_pose", 7, "m and wxyz quaternion"),
}
# Those that say all of a pose's rotation.
TURNS = frozenset(name for name, part in PARTS.items() if part.of == "ee_pose" and name != "ee_position")
# How many numbers RoboDx's own state has for an arm, where that does not depend on the robot.
WIDTHS = {"gripper_opening": 1, "ee_pose": 7, "base_pose": 7}


def unit_of(name: str, angles: Angles) -> str:
    part = PARTS[name]
    return part.unit.replace("rad", "degrees") if part.is_angles and angles == "degrees" else part.unit


def lacking_of_pose(names: Collection[str]) -> list[str]:
    """What of the hand's pose these parts do not say."""
    lacks = {"ee_position": not {"ee_pose", "ee_position"} & set(names), "ee_rotation": not TURNS & set(names)}
    return [half for half, is_lacking in lacks.items() if is_lacking]


def write_state(
    names: Sequence[str], state: Mapping[str, Array], *, arms: int, angles: Angles, widest_m: float
) -> Array:
    """The server's vector: for each arm in turn, its parts one after the other."""
    numbers: list[NDArray[np.float32]] = []
    for arm in range(arms):
        for name in names:
            part = PARTS[name]
            # The base is one, whatever the arms.
            ours = state[part.of] if part.of == "base_pose" else np.split(state[part.of], arms)[arm]
            written = np.asarray(part.write(ours, widest_m), dtype=np.float32)
            numbers.append(np.degrees(written) if part.is_angles and angles == "degrees" else written)
    return np.concatenate(numbers)


def read_state(
    names: Sequence[str], vector: Array, into: dict[str, Array], *, arms: int, angles: Angles, widest_m: float
) -> None:
    """The reverse, into RoboDx's state, for a server of ours; what was not sent stays NaN."""
    fixed = sum(PARTS[name].width or 0 for name in names)
    flexible = sum(PARTS[name].width is None for name in names)
    joints, rest = divmod(len(vector) - arms * fixed, arms * flexible) if flexible else (0, len(vector) - arms * fixed)
    if rest or joints < 0:
        raise ValueError(f"a state of {len(vector)} numbers for {arms} × ({', '.join(names)})")
    at = 0
    for arm in range(arms):
        for name in names:
            part = PARTS[name]
            width = joints if part.width is None else part.width
            numbers = vector[at : at + width]
            at += width
            if part.is_angles and angles == "degrees":
                numbers = np.radians(numbers)
            start, values = part.read(numbers, widest_m)
            size = WIDTHS.get(part.of, joints)
            of_arms, index = (1, 0) if part.of == "base_pose" else (arms, arm)
            whole = into.setdefault(part.of, np.full(size * of_arms, math.nan, dtype=np.float32))
            whole[index * size + start : index * size + start + len(values)] = values
