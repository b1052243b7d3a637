"""Action spaces: how each turns a policy's numbers into joint targets, with what saturates and what is refused."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from robodx.robots.kinematics import Kinematics
from robodx.sim.geometry import Array, Pose, Quaternion, Vector, from_rotation_vector, multiply, normalise
from robodx.sim.robot import Arm, Robot
from robodx.sim.simulation import Command
from robodx.spaces import ActionSpace, DeltaFrame, DeltaFrom, InvalidAction

MAX_DELTA_M = 0.05
MAX_DELTA_RAD = 0.25
# Sums of float32 steps: a command this close to a bound has not crossed it.
SLACK = 1e-5
SHORTEST_QUATERNION = 1e-6


class Resolved(NamedTuple):
    command: Command
    limits: tuple[str, ...]


def width(space: ActionSpace, arm: Arm) -> int:
    """How many numbers one arm's action has."""
    joints = len(arm.joints) + 1
    return {"ee_delta": 7, "ee_pose": 8, "joint": joints, "joint_velocity": joints}[space]


def action_width(space: ActionSpace, robot: Robot) -> int:
    return sum(width(space, arm) for arm in robot.arms)


def read_chunk(
    chunk: NDArray[np.float32], space: ActionSpace, robot: Robot, expected: int
) -> list[NDArray[np.float32]]:
    """The actions, each (expected width,), of a policy's reply, refused if any number of it could not be executed."""
    array = np.asarray(chunk)
    if array.dtype.kind not in "fiu":
        raise InvalidAction(f"actions of type {array.dtype}, not numbers")
    if array.ndim != 2 or len(array) == 0:
        raise InvalidAction(f"a chunk of shape {array.shape}, not (actions, {expected}) with at least one action")
    # A copy: a policy may write its next reply into the same memory.
    actions = array.astype(np.float32)
    if actions.shape[1] != expected:
        raise InvalidAction(
            f"an action of shape {actions.shape[1:]}, but {space} on {robot.name} takes ({expected},): "
            f"{_quote(actions[0])}"
        )
    # As plain floats: the usual chunk is one short action, for which this is several times cheaper than numpy.
    if not math.isfinite(sum(map(sum, actions.tolist()))):
        row = int(np.flatnonzero(~np.isfinite(actions).all(axis=1))[0])
        bad = np.flatnonzero(~np.isfinite(actions[row])).tolist()
        raise InvalidAction(f"an action that is not finite at index {bad}: {_quote(actions[row])}")
    if space == "ee_pose":
        for start in range(3, expected, 8):
            lengths = np.linalg.norm(actions[:, start : start + 4], axis=1)
            if (lengths < SHORTEST_QUATERNION).any():
                raise InvalidAction(f"a quaternion without direction: {_quote(actions[lengths.argmin()])}")
    # By index: an iteration over an array ends with an exception inside numpy, which costs more than all of this.
    return [actions[index] for index in range(len(actions))]


def _quote(action: NDArray[np.float32]) -> str:
    return np.array2string(np.asarray(action), precision=4, threshold=16, max_line_width=200)


def as_joint_action(command: Command, robot: Robot) -> NDArray[np.float32]:
    """The `joint` action that resolves to this command."""
    return as_joint_actions(np.concatenate([command.joints, command.openings]), robot)


def as_joint_actions(commands: NDArray[np.float32], robot: Robot) -> NDArray[np.float32]:
    """The `joint` actions (…, width) of commands (…, width) that have all joints first and then all openings."""
    if len(robot.arms) == 1:
        return commands
    joints = joint_columns(robot)
    actions = np.empty_like(commands)
    actions[..., joints] = commands[..., : len(joints)]
    actions[..., [column for column in range(actions.shape[-1]) if column not in joints]] = commands[..., len(joints) :]
    return actions


def joint_columns(robot: Robot) -> list[int]:
    """Which numbers of a `joint` action are joints and not grippers."""
    columns: list[int] = []
    at = 0
    for arm in robot.arms:
        columns += range(at, at + len(arm.joints))
        at += len(arm.joints) + 1
    return columns


@dataclass
class Controller:
    """Resolves the actions of one episode. Its state is the last command, which the next one starts from."""

    robot: Robot
    space: ActionSpace
    delta_frame: DeltaFrame = "base"
    delta_from: DeltaFrom = "commanded"

    def __post_init__(self) -> None:
        self._kinematics = [Kinematics(self.robot.name, index) for index in range(len(self.robot.arms))]
        self._widths = [width(self.space, arm) for arm in self.robot.arms]
        self._is_plain_joint = self.space == "joint" and len(self.robot.arms) == 1
        self.starts_from_achieved = self.space == "ee_delta" and self.delta_from == "achieved"

    def resolve(
        self, action: NDArray[np.float32], last: Command, period_s: float, achieved: Array | None = None
    ) -> Resolved:
        """The command for one control step of `period_s`: beyond a limit it saturates, and says which.

        `achieved` are the measured joints, for steps that start from them and not from the last command.
        The action is one that `read_chunk` let through. Joints are handled as plain floats: for seven numbers numpy's
        calls cost more than the work.
        """
        if self._is_plain_joint and _is_within(self.robot.arms[0], action.tolist(), last.joints.tolist(), period_s):
            return Resolved(Command(action[:-1], action[-1:]), ())
        values, held = action.tolist(), last.joints.tolist()
        starts = held if achieved is None else achieved.tolist()
        joints: list[float] = []
        openings: list[float] = []
        limits: list[str] = []
        for index, arm in enumerate(self.robot.arms):
            count = self._widths[index]
            part, values = values[:count], values[count:]
            before, held = held[: len(arm.joints)], held[len(arm.joints) :]
            start, starts = starts[: len(arm.joints)], starts[len(arm.joints) :]
            goal = self._goal(index, part[:-1], before, start, period_s, limits)
            joints += _saturate(arm, goal, before, period_s, limits)
            openings += _clip("gripper", part[-1:], (0.0,), (1.0,), limits)
        return Resolved(Command(np.array(joints, np.float32), np.array(openings, np.float32)), tuple(limits))

    def _goal(
        self,
        index: int,
        part: Sequence[float],
        before: list[float],
        start: list[float],
        period_s: float,
        limits: list[str],
    ) -> Sequence[float]:
        if self.space == "joint":
            return part
        if self.space == "joint_velocity":
            fastest = self.robot.arms[index].max_speed_rad_s
            speeds = _clip("joint speed", part, [-speed for speed in fastest], fastest, limits)
            return [position + period_s * speed for position, speed in zip(before, speeds, strict=True)]
        kinematics = self._kinematics[index]
        if self.space == "ee_pose":
            goal = Pose.of(part[:3], normalise(part[3:7]))
        else:
            x, y, z = _clip("step length", part[:3], (-MAX_DELTA_M,) * 3, (MAX_DELTA_M,) * 3, limits)
            turn = _clip("step turn", part[3:6], (-MAX_DELTA_RAD,) * 3, (MAX_DELTA_RAD,) * 3, limits)
            goal = moved(
                kinematics.tool_in_base(np.array(start)), (x, y, z), from_rotation_vector(turn), self.delta_frame
            )
        solution = kinematics.solve(goal, np.array(before))
        if not solution.is_reached:
            limits.append("reach")
        return [float(joint) for joint in solution.joints]


def moved(tool: Pose, delta: Vector, turn: Quaternion, frame: DeltaFrame) -> Pose:
    """The pose a step away, its shift and its turn given in the base's axes or in the tool's own."""
    if frame == "tool":
        return Pose(tool.apply(delta), normalise(multiply(tool.quaternion, turn)))
    return Pose(tool.position, normalise(multiply(turn, tool.quaternion))).shifted(*delta)


def _is_within(arm: Arm, action: list[float], before: list[float], period_s: float) -> bool:
    """Whether a `joint` action of one arm is beyond no limit, which most are not: it is then the command itself."""
    for goal, low, high, at, fastest in zip(action, arm.lower_rad, arm.upper_rad, before, arm.max_speed_rad_s):  # noqa: B905
        if goal < low or goal > high or abs(goal - at) / fastest / period_s > 1.0 + SLACK:
            return False
    return 0.0 <= action[-1] <= 1.0


def _saturate(
    arm: Arm, goal: Sequence[float], before: Sequence[float], period_s: float, limits: list[str]
) -> Sequence[float]:
    """Within the joint ranges and no faster than the joints turn; the direction of motion is kept."""
    goal = _clip("joint range", goal, arm.lower_rad, arm.upper_rad, limits)
    excess = 0.0
    for g, b, fastest in zip(goal, before, arm.max_speed_rad_s, strict=True):
        share = abs(g - b) / fastest
        if share > excess:
            excess = share
    excess /= period_s
    if excess <= 1.0 + SLACK:
        return goal
    limits.append("joint speed")
    return [b + (g - b) / excess for g, b in zip(goal, before, strict=True)]


def _clip(
    name: str, values: Sequence[float], lower: Sequence[float], upper: Sequence[float], limits: list[str]
) -> Sequence[float]:
    excess = 0.0
    for value, low, high in zip(values, lower, upper, strict=True):
        if value < low:
            excess = max(excess, low - value)
        elif value > high:
            excess = max(excess, value - high)
    if excess == 0.0:
        return values
    if excess > SLACK and name not in limits:
        limits.append(name)
    return [min(max(value, low), high) for value, low, high in zip(values, lower, upper, strict=True)]
