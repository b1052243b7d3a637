"""The Franka Panda: seven joints from the published modified Denavit-Hartenberg table, and a parallel gripper."""

from __future__ import annotations

import math
from typing import NamedTuple

from robodx.robots import panda_look
from robodx.sim.engine import mujoco
from robodx.sim.geometry import Pose, Vector, about, multiply
from robodx.sim.robot import ROBOTS, Arm, Gripper, Robot
from robodx.sim.scene import STAND

PREFIX = "panda/"
LEAD_S = 0.05
FINGER_TRAVEL_M = 0.04
FLANGE_M = 0.107
FINGER_BASE_M = 0.0584
TOOL_M = 0.1034


class Joint(NamedTuple):
    a: float
    d: float
    alpha: float
    lower: float
    upper: float
    max_speed: float
    max_torque: float
    kp: float
    home: float


JOINTS = (
    Joint(0.0, 0.333, 0.0, -2.8973, 2.8973, 2.175, 87, 4500, 0.0),
    Joint(0.0, 0.0, -math.pi / 2, -1.7628, 1.7628, 2.175, 87, 4500, -math.pi / 4),
    Joint(0.0, 0.316, math.pi / 2, -2.8973, 2.8973, 2.175, 87, 3500, 0.0),
    Joint(0.0825, 0.0, math.pi / 2, -3.0718, -0.0698, 2.175, 87, 3500, -3 * math.pi / 4),
    Joint(-0.0825, 0.384, -math.pi / 2, -2.8973, 2.8973, 2.61, 12, 2000, 0.0),
    Joint(0.0, 0.0, math.pi / 2, -0.0175, 3.7525, 2.61, 12, 2000, math.pi / 2),
    Joint(0.088, 0.0, math.pi / 2, -2.8973, 2.8973, 2.61, 12, 2000, math.pi / 4),
)


class Mass(NamedTuple):
    """A solid box of this mass, centre and half extents: its inertia is near enough for a stiff position servo."""

    kg: float
    centre: Vector
    half: Vector

    @property
    def inertia(self) -> Vector:
        x, y, z = (side * side for side in self.half)
        return (self.kg / 3 * (y + z), self.kg / 3 * (x + z), self.kg / 3 * (x + y))


MASSES = {
    "link0": Mass(0.63, (-0.04, 0.0, 0.05), (0.09, 0.08, 0.06)),
    "link1": Mass(4.97, (0.0, -0.03, -0.07), (0.05, 0.07, 0.10)),
    "link2": Mass(0.65, (0.0, -0.07, 0.03), (0.05, 0.10, 0.07)),
    "link3": Mass(3.23, (0.03, 0.03, -0.06), (0.07, 0.06, 0.08)),
    "link4": Mass(3.59, (-0.04, 0.06, 0.03), (0.07, 0.08, 0.06)),
    "link5": Mass(1.23, (0.0, 0.04, -0.13), (0.05, 0.06, 0.13)),
    "link6": Mass(1.67, (0.06, 0.0, 0.01), (0.06, 0.05, 0.05)),
    "link7": Mass(0.74, (0.01, 0.0, 0.07), (0.04, 0.04, 0.03)),
    "hand": Mass(0.73, (0.0, 0.0, 0.03), (0.03, 0.10, 0.03)),
    "finger": Mass(0.015, (0.0, 0.01, 0.03), (0.01, 0.01, 0.027)),
}


class Capsule(NamedTuple):
    start: Vector
    end: Vector
    radius: float


class Box(NamedTuple):
    centre: Vector
    half: Vector


# What may touch; group 3 keeps it out of pictures. The finger's box stands back behind the pad's face.
COLLIDERS: dict[str, tuple[Capsule | Box, ...]] = {
    "link0": (Box((-0.037, 0.0, 0.035), (0.1, 0.088, 0.035)), Capsule((0.0, 0.0, 0.07), (0.0, 0.0, 0.08), 0.06)),
    "link1": (
        Capsule((0.0, 0.0, -0.14), (0.0, -0.02, -0.06), 0.058),
        Capsule((0.0, -0.06, 0.0), (0.0, -0.01, 0.0), 0.06),
    ),
    "link2": (Capsule((0.0, -0.14, 0.0), (0.0, -0.06, 0.02), 0.058), Capsule((0.0, 0.0, 0.01), (0.0, 0.0, 0.06), 0.06)),
    "link3": (
        Capsule((0.0, 0.0, -0.08), (0.06, 0.03, -0.02), 0.058),
        Capsule((0.0825, 0.01, 0.0), (0.0825, 0.06, 0.0), 0.06),
    ),
    "link4": (
        Capsule((-0.0825, 0.08, 0.0), (-0.02, 0.02, 0.03), 0.058),
        Capsule((0.0, 0.0, 0.01), (0.0, 0.0, 0.06), 0.06),
    ),
    "link5": (
        Capsule((0.0, 0.0, -0.21), (0.0, 0.01, -0.18), 0.056),
        Capsule((0.0, 0.035, -0.12), (0.0, 0.058, -0.05), 0.042),
        Capsule((0.0, 0.04, 0.0), (0.0, 0.06, 0.0), 0.046),
    ),
    "link6": (Capsule((0.0, 0.0, 0.0), (0.0, 0.0, 0.02), 0.048), Capsule((0.088, 0.0, 0.0), (0.088, -0.01, 0.0), 0.05)),
    "link7": (Capsule((0.0, 0.0, 0.055), (0.0, 0.0, 0.07), 0.042),),
    "hand": (Box((0.0, 0.0, 0.0302), (0.0315, 0.102, 0.0302)),),
    "finger": (Box((0.0, 0.0145, 0.027), (0.0095, 0.0085, 0.0265)),),
}
# Its inner face is the finger frame's y = 0: the pads meet when the fingers have travelled to 0.
PAD = Box((0.0, 0.004, TOOL_M - FINGER_BASE_M), (0.010, 0.004, 0.0095))
# link0 is fixed to the world, so MuJoCo does not take link1 for its child; closed fingers rest on their joint limits.
EXCLUDED = (("link0", "link1"), ("left_finger", "right_finger"))

# Turned so that the picture's up is the hand's x, then leaned back by 6 degrees.
WRIST_QUATERNION = multiply((0.0, math.sqrt(0.5), math.sqrt(0.5), 0.0), about("x", -math.radians(6)))

_names = tuple(f"{PREFIX}joint{number}" for number in range(1, 8))
_fingers = (f"{PREFIX}left_finger", f"{PREFIX}right_finger")
_finger_joints = (f"{PREFIX}finger_joint1", f"{PREFIX}finger_joint2")
_pads = (f"{PREFIX}left_pad", f"{PREFIX}right_pad")


def build(spec: mujoco.MjSpec, base_in_world: Pose) -> None:
    panda_look.add_assets(spec, PREFIX)
    body = _add_body(spec.worldbody, "link0", base_in_world)
    for number, joint in enumerate(JOINTS, start=1):
        along = Pose(
            (joint.a, -joint.d * math.sin(joint.alpha), joint.d * math.cos(joint.alpha)), about("x", joint.alpha)
        )
        body = _add_body(body, f"link{number}", along)
        body.add_joint(
            name=_names[number - 1],
            type=mujoco.mjtJoint.mjJNT_HINGE,
            axis=(0, 0, 1),
            limited=True,
            range=(joint.lower, joint.upper),
            armature=0.1,
            damping=1.0,
        )
    hand = _add_body(body, "hand", Pose((0.0, 0.0, FLANGE_M), about("z", -math.pi / 4)))
    hand.add_site(name=f"{PREFIX}tool", pos=(0, 0, TOOL_M), size=(0.004,), group=4)
    # Looks along the fingers from the hand's front, leaning back until their tips enter the lower edge of the picture.
    hand.add_camera(name="wrist", pos=(0.066, 0, 0.018), quat=WRIST_QUATERNION, fovy=75)
    for name, joint_name, pad_name, turn in zip(_fingers, _finger_joints, _pads, (0.0, math.pi), strict=True):
        _add_finger(hand, name.removeprefix(PREFIX), joint_name, pad_name, turn)
    _add_actuators(spec)
    for first, second in EXCLUDED:
        spec.add_exclude(name=f"{PREFIX}{first}-{second}", bodyname1=f"{PREFIX}{first}", bodyname2=f"{PREFIX}{second}")


def _add_body(parent: mujoco.MjsBody, name: str, in_parent: Pose) -> mujoco.MjsBody:
    """A body with its mass, its colliders and its look."""
    part = "finger" if name.endswith("finger") else name
    mass = MASSES[part]
    body = parent.add_body(
        name=f"{PREFIX}{name}",
        pos=in_parent.position,
        quat=in_parent.quaternion,
        gravcomp=1,
        explicitinertial=True,
        mass=mass.kg,
        ipos=mass.centre,
        inertia=mass.inertia,
    )
    for number, shape in enumerate(COLLIDERS[part], start=1):
        _add_shape(body, f"{PREFIX}{name}_collider{number}", shape).group = 3
    panda_look.dress(body, part, PREFIX)
    return body


def _add_shape(body: mujoco.MjsBody, name: str, shape: Capsule | Box) -> mujoco.MjsGeom:
    if isinstance(shape, Box):
        return body.add_geom(name=name, type=mujoco.mjtGeom.mjGEOM_BOX, pos=shape.centre, size=shape.half, mass=0)
    fromto = (*shape.start, *shape.end)
    size = (shape.radius, 0, 0)
    return body.add_geom(name=name, type=mujoco.mjtGeom.mjGEOM_CAPSULE, fromto=fromto, size=size, mass=0)


def _add_finger(hand: mujoco.MjsBody, name: str, joint: str, pad: str, turn_rad: float) -> None:
    """A finger slides along its own y axis, away from the other one."""
    finger = _add_body(hand, name, Pose((0.0, 0.0, FINGER_BASE_M), about("z", turn_rad)))
    finger.add_joint(
        name=joint,
        type=mujoco.mjtJoint.mjJNT_SLIDE,
        axis=(0, 1, 0),
        limited=True,
        range=(0, FINGER_TRAVEL_M),
        armature=0.1,
        damping=100.0,
    )
    geom = _add_shape(finger, pad, PAD)
    geom.material = f"{PREFIX}rubber"
    geom.group = 2
    # Stiff and first in priority: with MuJoCo's default contact the pads sink in and round objects creep out.
    geom.priority = 1
    geom.condim = 4
    geom.friction = (1.0, 0.02, 0.0001)
    geom.solref = (0.004, 1.0)
    geom.solimp = (0.95, 0.99, 0.001, 0.5, 2.0)


def _add_actuators(spec: mujoco.MjSpec) -> None:
    for name, joint in zip(_names, JOINTS, strict=True):
        # The control is the target's velocity, its integral (the activation) the target position.
        servo = spec.add_actuator(
            name=name,
            target=name,
            trntype=mujoco.mjtTrn.mjTRN_JOINT,
            dyntype=mujoco.mjtDyn.mjDYN_INTEGRATOR,
            gaintype=mujoco.mjtGain.mjGAIN_FIXED,
            biastype=mujoco.mjtBias.mjBIAS_AFFINE,
            forcelimited=True,
            forcerange=(-joint.max_torque, joint.max_torque),
        )
        servo.gainprm[0] = joint.kp
        servo.biasprm[1:3] = (-joint.kp, -joint.kp * LEAD_S)
    tendon = spec.add_tendon(name=f"{PREFIX}fingers")
    for finger_joint in _finger_joints:
        tendon.wrap_joint(finger_joint, 0.5)
    gripper = spec.add_actuator(
        name=f"{PREFIX}gripper",
        target=tendon.name,
        trntype=mujoco.mjtTrn.mjTRN_TENDON,
        ctrllimited=True,
        ctrlrange=(0, FINGER_TRAVEL_M),
        forcelimited=True,
        forcerange=(-40, 40),
    )
    gripper.set_to_position(kp=3000, kv=20)
    coupling = spec.add_equality(
        name=f"{PREFIX}fingers",
        type=mujoco.mjtEq.mjEQ_JOINT,
        name1=_finger_joints[0],
        name2=_finger_joints[1],
        solref=(0.005, 1.0),
    )
    coupling.data[:5] = (0, 1, 0, 0, 0)


PANDA = ROBOTS.add(
    "panda",
    Robot(
        name="panda",
        paint=f"{PREFIX}white",
        groups=(
            Arm(
                name="gripper",
                joints=_names,
                lower=tuple(joint.lower for joint in JOINTS),
                upper=tuple(joint.upper for joint in JOINTS),
                max_speed=tuple(joint.max_speed for joint in JOINTS),
                home=tuple(joint.home for joint in JOINTS),
                tool_site=f"{PREFIX}tool",
                gripper=Gripper(
                    actuator=f"{PREFIX}gripper",
                    finger_joints=_finger_joints,
                    finger_bodies=_fingers,
                    pad_geoms=_pads,
                    finger_travel_m=FINGER_TRAVEL_M,
                ),
                lead_s=LEAD_S,
            ),
        ),
        cameras=("wrist",),
        build=build,
        base_in_world=Pose((*STAND, 0.0)),
        root_body=f"{PREFIX}link0",
        description="Franka Panda, one seven-joint arm with a parallel gripper (0-80 mm)",
    ),
)
