"""What is noted of an episode at every step, and the trajectory that it becomes at its end."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from robodx.records.trajectory import Hand, Index, Query, Trajectory
from robodx.robots.control import action_width, as_joint_actions, columns
from robodx.sim.geometry import Array
from robodx.sim.robot import Robot
from robodx.sim.simulation import Command, Simulation, tool_poses


class Recorder:
    """Appends the bytes of what is there: between two steps of the physics no code is warm, and whatever else is done
    or kept alive costs several times what it does at the end.
    """

    def __init__(self, simulation: Simulation, width: int) -> None:
        """`width` is that of an action as the policy sends it."""
        self._robot, self._width = simulation.robot, width
        self._index = _index(simulation, simulation.robot)
        self._times: list[float] = []
        self._stages: list[int] = []
        self._is_perturbed: list[bool] = []
        # The joints that were asked for where others were executed, by step.
        self._issued_apart: dict[int, NDArray[np.float32]] = {}
        # Of float64 numbers.
        self._qpos, self._positions, self._matrices = bytearray(), bytearray(), bytearray()
        # Of float32 numbers.
        self._actions, self._commands = bytearray(), bytearray()

    def note_state(self, simulation: Simulation, stage: int) -> None:
        self._times.append(simulation.time_s)
        self._stages.append(stage)
        self._qpos += simulation.qpos.tobytes()
        for position, matrix in simulation.tool_frames:
            self._positions += position.tobytes()
            self._matrices += matrix.tobytes()

    def note_step(self, action: NDArray[np.float32], command: Command, issued: Command, is_perturbed: bool) -> None:
        """`command` was executed, `issued` is what the policy's action came to."""
        if command is not issued:
            self._issued_apart[len(self._is_perturbed)] = issued.joints
        self._actions += action.tobytes()
        self._commands += command.joints.tobytes()
        self._commands += command.openings.tobytes()
        self._commands += command.drive.tobytes()
        self._is_perturbed.append(is_perturbed)

    def issued_joints(self) -> Array:
        """(n, joints)."""
        width = action_width("joint", self._robot)
        joints = _floats(self._commands).reshape(-1, width)[:, : len(self._robot.joints)].astype(np.float64)
        for step, issued in self._issued_apart.items():
            joints[step] = issued
        return joints

    def trajectory(self, queries: Sequence[Query]) -> Trajectory:
        states, steps, arms = len(self._times), len(self._is_perturbed), len(self._robot.arms)
        query_steps, inference_s, are_perturbed = zip(*queries, strict=True) if queries else ((), (), ())
        commands = _floats(self._commands).reshape(steps, action_width("joint", self._robot))
        return Trajectory(
            np.array(self._times),
            _doubles(self._qpos).reshape(states, -1),
            tool_poses(
                _doubles(self._positions).reshape(states, arms, 3), _doubles(self._matrices).reshape(states, arms, 9)
            ),
            np.array(self._stages, dtype=np.int32),
            _floats(self._actions).reshape(steps, self._width),
            as_joint_actions(commands, self._robot),
            np.array(query_steps, dtype=np.int32),
            np.array(inference_s, dtype=np.float64),
            np.array(are_perturbed, dtype=np.bool_),
            np.array(self._is_perturbed, dtype=np.bool_),
            self._index,
        )


def _index(simulation: Simulation, robot: Robot) -> Index:
    """What a recorded state and a recorded command of this scene and robot hold."""
    joints, things, fingers = simulation.state_columns()
    openings = columns("opening", robot)
    hands = (
        Hand(hand, tool, opening, tuple(joints_of_fingers))
        for tool, (hand, opening, joints_of_fingers) in enumerate(zip(robot.hands, openings, fingers, strict=True))
    )
    return Index(joints, things, tuple(hands))


# Copies: an array over the bytes themselves would keep them from growing.


def _doubles(noted: bytearray) -> Array:
    return np.frombuffer(noted, dtype=np.float64).copy()


def _floats(noted: bytearray) -> NDArray[np.float32]:
    return np.frombuffer(noted, dtype=np.float32).copy()
