"""Forward and inverse kinematics of one arm, on a model that holds the robot alone, in the robot's base frame."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from robodx.sim.build import empty_spec
from robodx.sim.engine import mujoco
from robodx.sim.geometry import Array, Pose, conjugate, multiply, to_rotation_vector
from robodx.sim.robot import ROBOTS, Robot

MAX_ITERATIONS = 12
POSITION_TOLERANCE_M = 2e-5
ROTATION_TOLERANCE_RAD = 1e-4
# Damping keeps steps finite near singular configurations; at 1e-3 it costs no accuracy elsewhere.
DAMPING = 1e-3
# A step of the solver never asks for more than this, so that a far goal is approached and not jumped at.
MAX_POSITION_STEP_M = 0.10
MAX_ROTATION_STEP_RAD = 0.5
# How strongly the redundant joint is drawn home, as a share a step; only while the tool moves, so that a held pose
# is a held configuration.
POSTURE_GAIN = 0.05
POSTURE_FULL_AT_M = 0.02


class Solution(NamedTuple):
    joints: Array
    is_reached: bool


@functools.lru_cache(maxsize=8)
def _robot_model(name: str) -> mujoco.MjModel:
    spec = empty_spec()
    ROBOTS[name].build(spec, Pose())
    return spec.compile()


def places(robot: Robot) -> dict[str, slice]:
    """Where in the robot's joints those of each group stand."""
    found: dict[str, slice] = {}
    at = 0
    for group in robot.posed:
        found[group.name] = slice(at, at + len(group.joints))
        at += len(group.joints)
    return found


class Kinematics:
    """One arm of a robot; keeps no state between calls, so equal questions get equal answers."""

    def __init__(self, robot: str, hand: str | None = None) -> None:
        """`hand` may be left out where there is only one."""
        body = ROBOTS[robot]
        self.arm = body.arm if hand is None else body.arm_of(hand)
        self._model = _robot_model(robot)
        self._data = mujoco.MjData(self._model)
        self._qpos = np.array([self._model.joint(name).qposadr[0] for name in self.arm.joints])
        self._dofs = np.array([self._model.joint(name).dofadr[0] for name in self.arm.joints])
        self._site = self._model.site(self.arm.tool_site).id
        self._lower, self._upper = np.array(self.arm.lower), np.array(self.arm.upper)
        self._home = np.array(self.arm.home)
        self._jacobian = np.zeros((6, self._model.nv))
        carriers = self._carriers()
        self._beneath = [at for at, name in enumerate(body.joints) if name in carriers]
        self._beneath_qpos = np.array([self._model.joint(body.joints[at]).qposadr[0] for at in self._beneath], int)
        self._carried = np.array(body.home)[self._beneath]

    def _carriers(self) -> set[str]:
        """The joints that the tool hangs on and that are not the arm's own."""
        model, names = self._model, set[str]()
        body = int(model.site_bodyid[self._site])
        while body:
            first, count = int(model.body_jntadr[body]), int(model.body_jntnum[body])
            names |= {model.joint(joint).name for joint in range(first, first + count)}
            body = int(model.body_parentid[body])
        return names - set(self.arm.joints)

    def beneath(self, joints: Sequence[float]) -> Array:
        """Of the robot's joints, the positions of those that carry this arm, such as a lift's."""
        return np.array([joints[at] for at in self._beneath])

    def tool_in_base(self, joints: Array, beneath: Array | None = None) -> Pose:
        """`beneath` is what carries the arm: at home, where it is left out."""
        self._data.qpos[self._beneath_qpos] = self._carried if beneath is None else beneath
        return self._tool(joints)

    def _tool(self, joints: Array) -> Pose:
        self._data.qpos[self._qpos] = joints
        mujoco.mj_kinematics(self._model, self._data)
        return Pose.from_matrix(self._data.site_xpos[self._site], self._data.site_xmat[self._site].reshape(3, 3))

    def solve(self, goal: Pose, start: Array, beneath: Array | None = None) -> Solution:
        """Damped least squares from `start`, within the joint limits: the nearest configuration, not any."""
        self._data.qpos[self._beneath_qpos] = self._carried if beneath is None else beneath
        joints = np.clip(start, self._lower, self._upper)
        for iteration in range(MAX_ITERATIONS):
            error = self._error(goal, joints)
            distance, angle = float(np.linalg.norm(error[:3])), float(np.linalg.norm(error[3:]))
            if distance < POSITION_TOLERANCE_M and angle < ROTATION_TOLERANCE_RAD:
                return Solution(joints, True)
            error[:3] *= min(1.0, MAX_POSITION_STEP_M / max(distance, 1e-12))
            error[3:] *= min(1.0, MAX_ROTATION_STEP_RAD / max(angle, 1e-12))
            gain = POSTURE_GAIN * min(1.0, distance / POSTURE_FULL_AT_M) if iteration == 0 else 0.0
            joints = self._step(joints, error, gain)
        error = self._error(goal, joints)
        is_near = np.linalg.norm(error[:3]) < 1e-3 and np.linalg.norm(error[3:]) < 1e-2
        return Solution(joints, bool(is_near))

    def dexterity(self, joints: Array) -> float:
        """How far the tool moves or turns with a radian of all joints, where it does so least; 0 if it is singular."""
        self.tool_in_base(joints)
        return float(np.linalg.svd(self._jacobian_here(), compute_uv=False)[-1])

    def _error(self, goal: Pose, joints: Array) -> Array:
        tool = self._tool(joints)
        turn = to_rotation_vector(multiply(goal.quaternion, conjugate(tool.quaternion)))
        return np.array([*np.subtract(goal.position, tool.position), *turn])

    def _step(self, joints: Array, error: Array, posture_gain: float) -> Array:
        jacobian = self._jacobian_here()
        change = self._solve_step(jacobian, error, posture_gain * (self._home - joints))
        moved = joints + change
        blocked = (moved < self._lower) | (moved > self._upper)
        if blocked.any():
            # A joint at its stop cannot help: let the others do its share.
            free = np.where(blocked, 0.0, 1.0)
            moved = joints + np.where(blocked, 0.0, self._solve_step(jacobian * free, error, np.zeros_like(joints)))
        return np.clip(moved, self._lower, self._upper)

    def _jacobian_here(self) -> Array:
        """(6, joints), of the joints that the model was last set to."""
        mujoco.mj_comPos(self._model, self._data)
        mujoco.mj_jacSite(self._model, self._data, self._jacobian[:3], self._jacobian[3:], self._site)
        return self._jacobian[:, self._dofs]

    @staticmethod
    def _solve_step(jacobian: Array, error: Array, posture: Array) -> Array:
        gram = jacobian @ jacobian.T
        gram[np.diag_indices(6)] += DAMPING**2
        # J+ (e - J p) + p: reach the goal, and use what freedom is left for the posture.
        return np.asarray(jacobian.T @ np.linalg.solve(gram, error - jacobian @ posture) + posture)
