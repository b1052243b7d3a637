"""Action spaces: how each turns a policy's numbers into joint targets, with what saturates and what is refused."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from robodx.robots.kinematics import Kinematics, places
from robodx.sim.geometry import Array, Pose, Quaternion, Vector, from_rotation_vector, multiply, normalise
from robodx.sim.robot import Arm, Group, PartKind, Posed, Robot
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


def action_width(space: ActionSpace, robot: Robot) -> int:
    """How many numbers an action has."""
    return robot.layout(space)[-1].stop


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
        for part in robot.layout(space):
            if part.kind != "pose":
                continue
            lengths = np.linalg.norm(actions[:, part.start + 3 : part.stop], axis=1)
            if (lengths < SHORTEST_QUATERNION).any():
                raise InvalidAction(f"a quaternion without direction: {_quote(actions[lengths.argmin()])}")
    # By index: an iteration over an array ends with an exception inside numpy, which costs more than all of this.
    return [actions[index] for index in range(len(actions))]


def _quote(action: NDArray[np.float32]) -> str:
    return np.array2string(np.asarray(action), precision=4, threshold=16, max_line_width=200)


def as_joint_action(command: Command, robot: Robot) -> NDArray[np.float32]:
    """The `joint` action that resolves to this command."""
    return as_joint_actions(np.concatenate([command.joints, command.openings, command.drive]), robot)


def as_joint_actions(commands: NDArray[np.float32], robot: Robot) -> NDArray[np.float32]:
    """The `joint` actions (…, width) of commands (…, width): all joints, then all openings, then the base's speed."""
    if len(robot.groups) == 1:
        return commands
    actions = np.empty_like(commands)
    actions[..., [*columns("position", robot), *columns("opening", robot), *columns("drive", robot)]] = commands
    return actions


def columns(kind: PartKind, robot: Robot) -> list[int]:
    """Which numbers of a `joint` action are positions of joints, openings of hands, or the speed of the base."""
    return [at for part in robot.layout("joint") if part.kind == kind for at in range(part.start, part.stop)]


@dataclass
class Controller:
    """Resolves the actions of one episode. Its state is the last command, which the next one starts from."""

    robot: Robot
    space: ActionSpace
    delta_frame: DeltaFrame = "base"
    delta_from: DeltaFrom = "commanded"

    def __post_init__(self) -> None:
        self._kinematics = {hand: Kinematics(self.robot.name, hand) for hand in self.robot.hands}
        # Arms last: what carries them is where it is told to be by then.
        self._layout = sorted(self.robot.layout(self.space), key=lambda part: isinstance(part.group, Arm))
        self._places = places(self.robot)
        self._is_plain_joint = self.space == "joint" and len(self.robot.groups) == 1
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
        values, joints = action.tolist(), last.joints.tolist()
        starts = list(joints) if achieved is None else achieved.tolist()
        openings: list[float] = []
        drive: list[float] = []
        limits: list[str] = []
        for group, kind, start, stop in self._layout:
            numbers = values[start:stop]
            if kind == "opening":
                openings += _clip("gripper", numbers, (0.0,), (1.0,), limits)
            elif kind == "drive":
                drive += _clip("base speed", numbers, [-speed for speed in group.max_speed], group.max_speed, limits)
            else:
                assert isinstance(group, Posed)
                place = self._places[group.name]
                before = joints[place]
                goal = self._goal(group, kind, numbers, joints, starts, period_s, limits)
                joints[place] = _saturate(group, goal, before, period_s, limits)
        command = Command(*(np.array(numbers, np.float32) for numbers in (joints, openings, drive)))
        return Resolved(command, tuple(limits))

    def _goal(
        self,
        group: Group,
        kind: PartKind,
        numbers: Sequence[float],
        joints: list[float],
        starts: list[float],
        period_s: float,
        limits: list[str],
    ) -> Sequence[float]:
        """Where a group's joints are to be; `joints` are those of all, as far as they are resolved."""
        if kind == "position":
            return numbers
        place = self._places[group.name]
        before = joints[place]
        if kind == "velocity":
            fastest = group.max_speed
            speeds = _clip("joint speed", numbers, [-speed for speed in fastest], fastest, limits)
            return [position + period_s * speed for position, speed in zip(before, speeds, strict=True)]
        kinematics = self._kinematics[group.name]
        if kind == "pose":
            goal = Pose.of(numbers[:3], normalise(numbers[3:7]))
        else:
            x, y, z = _clip("step length", numbers[:3], (-MAX_DELTA_M,) * 3, (MAX_DELTA_M,) * 3, limits)
            turn = _clip("step turn", numbers[3:6], (-MAX_DELTA_RAD,) * 3, (MAX_DELTA_RAD,) * 3, limits)
            tool = kinematics.tool_in_base(np.array(starts[place]), kinematics.beneath(starts))
            goal = moved(tool, (x, y, z), from_rotation_vector(turn), self.delta_frame)
        solution = kinematics.solve(goal, np.array(before), kinematics.beneath(joints))
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
    for goal, low, high, at, fastest in zip(action, arm.lower, arm.upper, before, arm.max_speed):  # noqa: B905
        if goal < low or goal > high or abs(goal - at) / fastest / period_s > 1.0 + SLACK:
            return False
    return 0.0 <= action[-1] <= 1.0


def _saturate(
    group: Posed, goal: Sequence[float], before: Sequence[float], period_s: float, limits: list[str]
) -> Sequence[float]:
    """Within the joint ranges and no faster than the joints turn; the direction of motion is kept."""
    goal = _clip("joint range", goal, group.lower, group.upper, limits)
    excess = 0.0
    for g, b, fastest in zip(goal, before, group.max_speed, strict=True):
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
