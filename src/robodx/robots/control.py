"""Action spaces: how each turns a policy's numbers into joint targets, with what saturates and what is refused."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from robodx.robots.kinematics import Kinematics
from robodx.sim.geometry import Array, Pose, from_rotation_vector, multiply, normalise
from robodx.sim.robot import Arm, Robot
from robodx.sim.simulation import Command

ActionSpace = Literal["ee_delta", "ee_pose", "joint", "joint_velocity"]
ACTION_SPACES: tuple[ActionSpace, ...] = get_args(ActionSpace)

MAX_DELTA_M = 0.05
MAX_DELTA_RAD = 0.25
# Sums of float32 steps: a command this close to a bound has not crossed it.
SLACK = 1e-5


class InvalidAction(ValueError):
    """Numbers that no action space can execute: the wrong width, or not finite. The policy's own doing."""


class Resolved(NamedTuple):
    command: Command
    limits: tuple[str, ...]


def width(space: ActionSpace, arm: Arm) -> int:
    """How many numbers one arm's action has."""
    return {"ee_delta": 7, "ee_pose": 8}.get(space, len(arm.joints) + 1)


def action_width(space: ActionSpace, robot: Robot) -> int:
    return sum(width(space, arm) for arm in robot.arms)


def validate(action: NDArray[np.float32], space: ActionSpace, robot: Robot) -> None:
    expected = action_width(space, robot)
    if action.shape != (expected,):
        raise InvalidAction(
            f"an action of shape {action.shape}, but {space} on {robot.name} takes ({expected},): {_quote(action)}"
        )
    if not np.isfinite(action).all():
        bad = np.flatnonzero(~np.isfinite(action)).tolist()
        raise InvalidAction(f"an action that is not finite at index {bad}: {_quote(action)}")


def _quote(action: NDArray[np.float32]) -> str:
    return np.array2string(np.asarray(action), precision=4, threshold=16, max_line_width=200)


def as_joint_action(command: Command, robot: Robot) -> NDArray[np.float32]:
    """The `joint` action that resolves to this command."""
    if len(robot.arms) == 1:
        return np.concatenate([command.joints, command.openings])
    parts, at = [], 0
    for index, arm in enumerate(robot.arms):
        parts += [command.joints[at : at + len(arm.joints)], command.openings[index : index + 1]]
        at += len(arm.joints)
    return np.concatenate(parts)


@dataclass
class Controller:
    """Resolves the actions of one episode. Its state is the last command, which the next one starts from."""

    robot: Robot
    space: ActionSpace

    def __post_init__(self) -> None:
        self._kinematics = [Kinematics(self.robot.name, index) for index in range(len(self.robot.arms))]

    def resolve(self, action: NDArray[np.float32], last: Command, period_s: float) -> Resolved:
        """The command for one control step of `period_s`: beyond a limit it saturates, and says which."""
        validate(action, self.space, self.robot)
        joints, openings, limits = [], [], []
        at, joint_at = 0, 0
        for index, arm in enumerate(self.robot.arms):
            part = action[at : at + width(self.space, arm)].astype(np.float64)
            before = last.joints[joint_at : joint_at + len(arm.joints)].astype(np.float64)
            goal = self._goal(index, part, before, period_s, limits)
            joints.append(_saturate(arm, goal, before, period_s, limits))
            openings.append(_clip("gripper", part[-1:], 0.0, 1.0, limits))
            at += len(part)
            joint_at += len(arm.joints)
        command = Command(np.concatenate(joints).astype(np.float32), np.concatenate(openings).astype(np.float32))
        return Resolved(command, tuple(limits))

    def _goal(self, index: int, part: Array, before: Array, period_s: float, limits: list[str]) -> Array:
        if self.space == "joint":
            return part[:-1]
        if self.space == "joint_velocity":
            fastest = np.array(self.robot.arms[index].max_speed_rad_s)
            return before + period_s * _clip("joint speed", part[:-1], -fastest, fastest, limits)
        kinematics = self._kinematics[index]
        if self.space == "ee_pose":
            goal = Pose.of(part[:3], _unit(part[3:7]))
        else:
            delta = _clip("step length", part[:3], -MAX_DELTA_M, MAX_DELTA_M, limits)
            turn = _clip("step turn", part[3:6], -MAX_DELTA_RAD, MAX_DELTA_RAD, limits)
            tool = kinematics.tool_in_base(before)
            rotation = normalise(multiply(from_rotation_vector(turn), tool.quaternion))
            goal = Pose.of(np.add(tool.position, delta), rotation)
        solution = kinematics.solve(goal, before)
        if not solution.is_reached:
            limits.append("reach")
        return solution.joints


def _unit(quaternion: Array) -> tuple[float, float, float, float]:
    try:
        return normalise(quaternion)
    except ValueError as error:
        raise InvalidAction(str(error)) from error


def _saturate(arm: Arm, goal: Array, before: Array, period_s: float, limits: list[str]) -> Array:
    """Within the joint ranges and no faster than the joints turn; the direction of motion is kept."""
    goal = _clip("joint range", goal, np.array(arm.lower_rad), np.array(arm.upper_rad), limits)
    change = goal - before
    excess = float(np.max(np.abs(change) / (np.array(arm.max_speed_rad_s) * period_s)))
    if excess > 1.0 + SLACK:
        limits.append("joint speed")
        return before + change / excess
    return goal


def _clip(name: str, values: Array, lower: Array | float, upper: Array | float, limits: list[str]) -> Array:
    clipped = np.clip(values, lower, upper)
    if np.max(np.abs(clipped - values)) > SLACK and name not in limits:
        limits.append(name)
    return clipped

