"""One compiled scene with its state: stepped by joint commands, changed by effects, read through its world."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from robodx.registry import UnknownName, unknown
from robodx.sim.build import PARKING, PHYSICS_STEP_S, build
from robodx.sim.colours import rgb
from robodx.sim.contacts import Contacts
from robodx.sim.engine import mujoco
from robodx.sim.geometry import Array, Pose, Vector
from robodx.sim.log import Log
from robodx.sim.robot import Group, Robot
from robodx.sim.scene import Scene, Thing

# Soft contacts settle by micrometres; this long they do so before the episode's clock starts.
SETTLE_S = 0.1
# m/s and rad/s: what soft contacts leave of a motion when things have come to rest.
AT_REST = 1e-2


NO_BASE = np.zeros(0, dtype=np.float32)


@dataclass(frozen=True)
class Command:
    """What every action space resolves to: where the joints are to be, each hand's opening 0 … 1, the base's velocity.

    All are float32 values: recorded and replayed in `joint` space they are the same command, bit for bit.
    """

    # Of the groups that are commanded by positions, in order.
    joints: NDArray[np.float32]
    openings: NDArray[np.float32]
    # Along the base's own axes: forwards, to the left, turning left. Empty of a robot without one.
    drive: NDArray[np.float32] = field(default_factory=lambda: NO_BASE)


Columns = slice | NDArray[np.int64]


class PosedCamera(NamedTuple):
    fovy_deg: float
    in_world: Pose


class Simulation:
    """A model belongs to one episode: effects may change it."""

    def __init__(self, scene: Scene, robot: Robot, start_joints: Array, *, substeps: int = 25) -> None:
        self.scene, self.robot, self._substeps = scene, robot, substeps
        self.model = build(scene, robot, substeps)
        self.data = mujoco.MjData(self.model)
        self.log = Log()
        # MuJoCo's own arrays, which stay where they are.
        self.qpos, self._ctrl, self._act = self.data.qpos, self.data.ctrl, self.data.act
        self._joints = _Servos.of(self.model, robot.posed)
        self._base = None if robot.base is None else _Drive(_Servos.of(self.model, [robot.base]))
        self._root = self.data.body(robot.root_body)
        self._gripper_ctrl = _index([self.model.actuator(arm.gripper.actuator).id for arm in robot.arms])
        self._travel_m = np.array([arm.gripper.finger_travel_m for arm in robot.arms])
        self._finger_qpos = [
            [int(self.model.joint(name).qposadr[0]) for name in arm.gripper.finger_joints] for arm in robot.arms
        ]
        self._opening_per_m = (0.5 / self._travel_m).tolist()
        sites = [self.data.site(arm.tool_site) for arm in robot.arms]
        # Every arm's tool in the world: position (3,) and rotation matrix (9,).
        self.tool_frames = [(site.xpos, site.xmat) for site in sites]
        self._tools = dict(zip(robot.hands, self.tool_frames, strict=True))
        self._quaternion = np.zeros(4)
        # Asked for several times a step: by the record, the observation and conditions.
        self._tool_poses: dict[str, Pose] = {}
        self.parked: set[str] = set()
        for thing in scene:
            if thing.is_parked:
                self._set_parked(thing.name, True)
        self.colours = {thing.name: thing.colour for thing in scene}
        self.lamps = {
            f"{thing.name}/{shape.name}": False for thing in scene for shape in thing.shapes if shape.name is not None
        }
        # Compiled as running, for MuJoCo leaves surface velocities out for good where there are none.
        self.model.geom_surfacevel[:] = 0.0
        self._start(start_joints)
        # Contacts of the settling time are nobody's doing.
        self.contacts = Contacts(self.model, self.data, scene, robot, self.log)

    def _start(self, start_joints: Array) -> None:
        self.command = Command(
            np.asarray(start_joints, dtype=np.float32),
            np.ones(len(self.robot.arms), dtype=np.float32),
            NO_BASE if self.robot.base is None else np.zeros(len(self.robot.base.joints), dtype=np.float32),
        )
        self.data.qpos[self._joints.qpos] = self.command.joints
        for fingers, travel_m in zip(self._finger_qpos, self._travel_m, strict=True):
            self.data.qpos[fingers] = travel_m
        self.data.act[self._joints.act] = self.command.joints
        self.data.ctrl[self._gripper_ctrl] = self._travel_m
        mujoco.mj_step(self.model, self.data, nstep=round(SETTLE_S / PHYSICS_STEP_S))
        self._start_s = self.data.time
        self.step_count = 0
        # Since the episode began, settling not counted.
        self.time_s = 0.0
        self.refresh()

    def step(self, command: Command, substeps: int) -> None:
        """Move the joint targets linearly to the command over this many physics steps."""
        before, seconds = self.command.joints, substeps * PHYSICS_STEP_S
        velocity = (command.joints - before) / seconds
        self._ctrl[self._joints.ctrl] = velocity
        self._act[self._joints.act] = before + self._joints.lead_s * velocity
        if self._base is not None:
            self._base.step(self._ctrl, self._act, command.drive, seconds)
        self._ctrl[self._gripper_ctrl] = command.openings * self._travel_m
        self.command = command
        self.contacts.step(substeps)
        self.step_count += 1
        self.time_s = self.data.time - self._start_s
        self.refresh()
        self.contacts.end_step(self.step_count, self.time_s, command.openings, self.gripper_openings)

    def imagined(self) -> Simulation:
        """Another simulation, of things as they are now but at rest: nothing rolls, runs or happens in it.

        For the start of an episode: what touches what, and what is held, is known from its first step on.
        """
        other = Simulation(self.scene, self.robot, self.command.joints.astype(float), substeps=self._substeps)
        for name in self.parked ^ other.parked:
            other._set_parked(name, name in self.parked)
        other.model.geom_rgba[:] = self.model.geom_rgba
        other.colours, other.lamps, other.command = dict(self.colours), dict(self.lamps), self.command
        if self._base is not None and other._base is not None:
            other._base.target = self._base.target.copy()
        # With the solver's warm start: what follows is then the same to the last bit.
        state = np.empty(mujoco.mj_stateSize(self.model, mujoco.mjtState.mjSTATE_INTEGRATION))
        mujoco.mj_getState(self.model, self.data, state, mujoco.mjtState.mjSTATE_INTEGRATION)
        mujoco.mj_setState(other.model, other.data, state, mujoco.mjtState.mjSTATE_INTEGRATION)
        for thing in self.scene:
            if not thing.is_fixed and np.abs(other.data.joint(thing.name).qvel).max() > AT_REST:
                other.data.joint(thing.name).qvel[:] = 0.0
        other._start_s, other.step_count, other.time_s = self._start_s, self.step_count, self.time_s
        other.refresh()
        return other

    def refresh(self) -> None:
        """Bring body and site poses up to the state: mj_step leaves them one substep behind."""
        mujoco.mj_kinematics(self.model, self.data)
        self._tool_poses.clear()

    # What the robot feels.

    def state_columns(self) -> tuple[dict[str, int], dict[str, int], list[list[int]]]:
        """Where in a state `qpos` are the robot's joints, the things that move freely, and each gripper's fingers."""
        base = () if self.robot.base is None else self.robot.base.joints
        joints = [*self.robot.joints, *base]
        free = [thing.name for thing in self.scene if not thing.is_fixed]
        of_joints, of_things = (
            {name: int(self.model.joint(name).qposadr[0]) for name in names} for names in (joints, free)
        )
        return of_joints, of_things, self._finger_qpos

    def joint_positions(self) -> Array:
        """Of all groups but the base, in order; may be a view into the state."""
        positions: Array = self.data.qpos[self._joints.qpos]
        return positions

    def joint_paths(self, qpos: Array) -> Array:
        """As `joint_positions` (n, joints), from recorded states (n, nq)."""
        paths: Array = qpos[:, self._joints.qpos]
        return paths

    def joint_velocities(self) -> Array:
        velocities: Array = self.data.qvel[self._joints.dofs]
        return velocities

    def gripper_openings(self) -> list[float]:
        """Measured, 0 (closed) … 1 (open), one per arm."""
        qpos = self.qpos
        return [
            (qpos.item(left) + qpos.item(right)) * scale
            for (left, right), scale in zip(self._finger_qpos, self._opening_per_m, strict=True)
        ]

    def tool_in_world(self, hand: str | None = None) -> Pose:
        """`hand` may be left out where there is only one."""
        name = self.robot.arm.name if hand is None else hand
        pose = self._tool_poses.get(name)
        if pose is None:
            if name not in self._tools:
                raise UnknownName(unknown("hand", name, self._tools))
            pose = self._tool_poses[name] = self._pose(*self._tools[name])
        return pose

    def base_in_world(self) -> Pose:
        """Where the robot stands now."""
        return self.robot.base_in_world if self._base is None else self._pose(self._root.xpos, self._root.xmat)

    def _pose(self, position: Array, matrix: Array) -> Pose:
        mujoco.mju_mat2Quat(self._quaternion, matrix)
        x, y, z = position.tolist()
        qw, qx, qy, qz = self._quaternion.tolist()
        return Pose((x, y, z), (qw, qx, qy, qz))

    def camera(self, name: str) -> PosedCamera:
        mujoco.mj_camlight(self.model, self.data)
        data = self.data.camera(name)
        return PosedCamera(
            float(self.model.camera(name).fovy[0]), Pose.from_matrix(tuple(data.xpos), data.xmat.reshape(3, 3))
        )

    def carrier(self, camera: str) -> str | None:
        """The hand that carries a camera of the robot; None where it is fixed to the rest of it."""
        body = int(self.model.cam_bodyid[self.model.camera(camera).id])
        for arm in self.robot.arms:
            if body == int(self.model.site_bodyid[self.model.site(arm.tool_site).id]):
                return arm.name
        return None

    # What an effect may do. Each leaves the poses fresh.

    def set_pose(self, name: str, pose: Pose) -> None:
        """Put a free thing somewhere, at rest."""
        joint = self._free_joint(name)
        joint.qpos[:] = [*pose.position, *pose.quaternion]
        joint.qvel[:] = 0.0
        self.refresh()

    def set_velocity(self, name: str, linear: Vector, angular: Vector = (0.0, 0.0, 0.0)) -> None:
        """Give a free thing a velocity in the world frame."""
        joint = self._free_joint(name)
        back = np.zeros(4)
        mujoco.mju_negQuat(back, joint.qpos[3:7])
        local = np.zeros(3)
        mujoco.mju_rotVecQuat(local, np.array(angular), back)
        joint.qvel[:3], joint.qvel[3:] = linear, local

    def set_colour(self, name: str, colour: str) -> None:
        """Repaint the shapes of a thing that wear its own colour."""
        thing = self.scene.thing(name)
        for index, shape in enumerate(thing.shapes):
            if shape.colour is None:
                self.model.geom(f"{name}/{shape.name or index}").rgba[:3] = rgb(colour)
        self.colours[name] = colour

    def set_lamp(self, lamp: str, is_on: bool, colour: str = "green") -> None:
        if lamp not in self.lamps:
            raise UnknownName(unknown("lamp", lamp, self.lamps))
        self.model.geom(lamp).rgba[:3] = rgb(colour if is_on else "dark grey")
        self.lamps[lamp] = is_on

    def run_belt(self, name: str, speed_m_s: float) -> None:
        """Let a thing's belt run at a speed, in the direction it was declared with."""
        belts = {
            f"{name}/{shape.name or index}": np.array(shape.surface_velocity)
            for index, shape in enumerate(self.scene.thing(name).shapes)
            if shape.surface_velocity is not None
        }
        if not belts:
            raise ValueError(f'"{name}" has no belt that could run')
        for geom, velocity in belts.items():
            self.model.geom_surfacevel[self.model.geom(geom).id, :3] = speed_m_s * velocity / np.linalg.norm(velocity)

    def set_brightness(self, light: str, brightness: float) -> None:
        declared = next((entry for entry in self.scene.lights if entry.name == light), None)
        if declared is None:
            raise UnknownName(unknown("light", light, [entry.name for entry in self.scene.lights]))
        compiled = self.model.light(light)
        compiled.diffuse[:] = brightness * np.array(declared.colour)
        compiled.specular[:] = 0.3 * brightness * np.array(declared.colour)

    def unpark(self, name: str, pose: Pose) -> None:
        """Let a parked thing into the world: it touches and weighs from now on."""
        self._set_parked(name, False)
        self.set_pose(name, pose)

    def park(self, name: str) -> None:
        self._set_parked(name, True)
        self.set_pose(name, PARKING)

    def _set_parked(self, name: str, is_parked: bool) -> None:
        thing, model = self.scene.thing(name), self.model
        bodies = {name: thing.shapes} | {f"{name}/{part.name}": part.shapes for part in thing.parts}
        for body, shapes in bodies.items():
            for index, shape in enumerate(shapes):
                geom = model.geom(f"{body}/{shape.name or index}")
                geom.contype[:] = geom.conaffinity[:] = int(shape.collides and not is_parked)
            # MuJoCo asks the body before its geoms.
            touches = int(not is_parked and any(shape.collides for shape in shapes))
            model.body_contype[model.body(body).id] = model.body_conaffinity[model.body(body).id] = touches
        model.body_gravcomp[model.body(name).id] = float(is_parked)
        (self.parked.add if is_parked else self.parked.discard)(name)

    def _free_joint(self, name: str) -> mujoco._structs._MjDataJointViews:
        thing: Thing = self.scene.thing(name)
        if thing.is_fixed:
            raise ValueError(f'"{name}" is fixed to the table: an effect cannot move it')
        return self.data.joint(name)


@dataclass(frozen=True)
class _Servos:
    """Where in the state and the controls the joints of some groups stand."""

    qpos: Columns
    dofs: Columns
    ctrl: Columns
    act: Columns
    lead_s: Array

    @classmethod
    def of(cls, model: mujoco.MjModel, groups: Sequence[Group]) -> _Servos:
        names = [joint for group in groups for joint in group.joints]
        joints, actuators = [model.joint(name) for name in names], [model.actuator(name) for name in names]
        return cls(
            _index([joint.qposadr[0] for joint in joints]),
            _index([joint.dofadr[0] for joint in joints]),
            _index([actuator.id for actuator in actuators]),
            _index([actuator.actadr[0] for actuator in actuators]),
            np.concatenate([np.full(len(group.joints), group.lead_s) for group in groups]),
        )


class _Drive:
    """A base on its way: where it was told to be by now follows from all that it was told."""

    def __init__(self, servos: _Servos) -> None:
        self._servos = servos
        # x, y and yaw, from where it stood at first.
        self.target = np.zeros(3)

    def step(self, ctrl: Array, act: Array, drive: NDArray[np.float32], seconds: float) -> None:
        forwards, left, turn = drive.tolist()
        # Midway through its turn: what is driven on a circle comes out on the circle.
        heading = self.target[2] + 0.5 * seconds * turn
        cos, sin = math.cos(heading), math.sin(heading)
        velocity = np.array([cos * forwards - sin * left, sin * forwards + cos * left, turn])
        ctrl[self._servos.ctrl] = velocity
        act[self._servos.act] = self.target + self._servos.lead_s * velocity
        self.target = self.target + seconds * velocity


def tool_poses(positions: Array, matrices: Array) -> Array:
    """Positions and quaternions (n, arms, 7), of positions (n, arms, 3) and rotation matrices (n, arms, 9)."""
    quaternions = np.empty((*matrices.shape[:-1], 4))
    for quaternion, matrix in zip(quaternions.reshape(-1, 4), matrices.reshape(-1, 9), strict=True):
        mujoco.mju_mat2Quat(quaternion, matrix)
    return np.concatenate([positions, quaternions], axis=-1)


def _index(addresses: list[int]) -> Columns:
    """A slice where the addresses follow each other: views are several times cheaper than gathering."""
    first = int(addresses[0])
    if [int(address) - first for address in addresses] == list(range(len(addresses))):
        return slice(first, first + len(addresses))
    return np.array(addresses, dtype=np.int64)
