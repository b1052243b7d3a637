"""A robot with two arms on a base that slides over the table, a task for it, and a verb that needs both hands.

All of it from outside: robodx run two_hands --policy expert --robot twin --plugin tests/plugins/two_arms.py
"""

from __future__ import annotations

import math

from robodx import Situation, task
from robodx.experts import skills
from robodx.experts.base import PlanContext
from robodx.experts.grasps import CannotBeDone
from robodx.experts.skills import Hand, Steps
from robodx.language.meaning import Clause, do, pick, put, with_hand
from robodx.language.phrasing import say
from robodx.scoring.contact import Grasped
from robodx.scoring.from_meaning import Stages, stages_for
from robodx.sim.engine import mujoco
from robodx.sim.geometry import Pose, Quaternion, Vector, about, multiply
from robodx.sim.objects import cube
from robodx.sim.robot import ROBOTS, Arm, Base, Gripper, Robot
from robodx.sim.scene import Scene, Shape, Thing, tabletop
from robodx.streams import Streams
from robodx.verbs.base import Sense, verb

LEAD_S = 0.05
BASE_LEAD_S = 0.1
FINGER_TRAVEL_M = 0.04
# Where the arms stand on the base, to its left and to its right, and how long their two links are.
MOUNT: Vector = (0.05, 0.22, 0.34)
LINK_M = 0.30
WRIST_M = 0.06
TOOL_M = 0.12
# Axis, from the joint before, lower, upper, fastest, at home.
JOINTS: tuple[tuple[Vector, Vector, float, float, float, float], ...] = (
    ((0, 0, 1), (0, 0, 0), -2.6, 2.6, 2.5, 0.0),
    ((0, 1, 0), (0, 0, 0.06), -2.3, 1.5, 2.5, -0.9),
    ((0, 1, 0), (LINK_M, 0, 0), -0.3, 2.9, 2.5, 1.6),
    ((1, 0, 0), (0.1, 0, 0), -2.8, 2.8, 3.0, 0.0),
    ((0, 1, 0), (LINK_M - 0.1, 0, 0), -2.2, 2.2, 3.0, math.pi / 2 - 0.7),
    ((1, 0, 0), (WRIST_M, 0, 0), -3.1, 3.1, 3.0, 0.0),
)
# Out of the fingers along z, which close along y; pointing down its yaw is 0 at home.
TOOL = multiply(about("y", math.pi / 2), about("z", math.pi))
SIDES = {"left": 1.0, "right": -1.0}


def build(spec: mujoco.MjSpec, base_in_world: Pose) -> None:
    root = spec.worldbody.add_body(
        name="twin/base", pos=base_in_world.position, quat=base_in_world.quaternion, gravcomp=1
    )
    for name, kind, axis in (
        ("x", mujoco.mjtJoint.mjJNT_SLIDE, (1, 0, 0)),
        ("y", mujoco.mjtJoint.mjJNT_SLIDE, (0, 1, 0)),
        ("yaw", mujoco.mjtJoint.mjJNT_HINGE, (0, 0, 1)),
    ):
        root.add_joint(name=f"twin/{name}", type=kind, axis=axis)
        _add_servo(spec, f"twin/{name}", 40_000.0, BASE_LEAD_S, 4_000.0)
    _box(root, "body", (0, 0, 0.16), (0.09, 0.16, 0.155), 30.0, (0.25, 0.3, 0.38))
    _box(root, "shoulders", (MOUNT[0], 0, MOUNT[2] - 0.03), (0.03, MOUNT[1] + 0.03, 0.03), 2.0, (0.25, 0.3, 0.38))
    for side, sign in SIDES.items():
        _add_arm(spec, root, side, sign)


def _add_arm(spec: mujoco.MjSpec, root: mujoco.MjsBody, side: str, sign: float) -> None:
    body = root
    place: Vector = (MOUNT[0], sign * MOUNT[1], MOUNT[2])
    for number, (axis, offset, lower, upper, *_) in enumerate(JOINTS, start=1):
        body = body.add_body(name=f"twin/{side}{number}", pos=place if number == 1 else offset, gravcomp=1)
        name = f"twin/{side}_joint{number}"
        body.add_joint(
            name=name, type=mujoco.mjtJoint.mjJNT_HINGE, axis=axis, limited=True, range=(lower, upper),
            armature=0.1, damping=1.0,
        )  # fmt: skip
        _add_servo(spec, name, 1500.0 if number <= 3 else 600.0, LEAD_S, 60.0)
        length = JOINTS[number][1] if number < len(JOINTS) else (0.03, 0, 0)
        end = tuple(0.9 * part for part in length)
        body.add_geom(
            name=f"twin/{side}{number}_link", type=mujoco.mjtGeom.mjGEOM_CAPSULE, size=(0.024, 0, 0), mass=0.6,
            fromto=(0, 0, 0, *(end if any(end) else (0, 0, 0.04))), rgba=(0.85, 0.85, 0.82, 1),
        )  # fmt: skip
    _box(body, f"{side}_palm", (TOOL_M - 0.075, 0, 0), (0.015, 0.05, 0.015), 0.3, (0.2, 0.2, 0.22))
    body.add_site(name=f"twin/{side}_tool", pos=(TOOL_M, 0, 0), quat=TOOL, size=(0.004,), group=4)
    for finger, way in (("a", 1.0), ("b", -1.0)):
        part = body.add_body(name=f"twin/{side}_finger_{finger}", pos=(TOOL_M, 0, 0), gravcomp=1)
        part.add_joint(
            name=f"twin/{side}_slide_{finger}", type=mujoco.mjtJoint.mjJNT_SLIDE, axis=(0, way, 0), limited=True,
            range=(0, FINGER_TRAVEL_M), armature=0.1, damping=100.0,
        )  # fmt: skip
        _box(part, f"{side}_rod_{finger}", (-0.03, way * 0.007, 0), (0.03, 0.003, 0.008), 0.01, (0.2, 0.2, 0.22))
        pad = _box(part, f"{side}_pad_{finger}", (0, way * 0.004, 0), (0.010, 0.004, 0.008), 0.01, (0.1, 0.1, 0.1))
        pad.priority, pad.condim, pad.friction = 1, 4, (1.0, 0.02, 0.0001)
        pad.solref, pad.solimp = (0.004, 1.0), (0.95, 0.99, 0.001, 0.5, 2.0)
    tendon = spec.add_tendon(name=f"twin/{side}_fingers")
    for finger in ("a", "b"):
        tendon.wrap_joint(f"twin/{side}_slide_{finger}", 0.5)
    gripper = spec.add_actuator(
        name=f"twin/{side}_gripper", target=tendon.name, trntype=mujoco.mjtTrn.mjTRN_TENDON, ctrllimited=True,
        ctrlrange=(0, FINGER_TRAVEL_M), forcelimited=True, forcerange=(-40, 40),
    )  # fmt: skip
    gripper.set_to_position(kp=3000, kv=20)
    coupling = spec.add_equality(
        name=f"twin/{side}_fingers", type=mujoco.mjtEq.mjEQ_JOINT, name1=f"twin/{side}_slide_a",
        name2=f"twin/{side}_slide_b", solref=(0.005, 1.0),
    )  # fmt: skip
    coupling.data[:5] = (0, 1, 0, 0, 0)
    spec.add_exclude(bodyname1=f"twin/{side}_finger_a", bodyname2=f"twin/{side}_finger_b")


def _box(body: mujoco.MjsBody, name: str, centre: Vector, half: Vector, mass: float, rgb: Vector) -> mujoco.MjsGeom:
    return body.add_geom(
        name=f"twin/{name}", type=mujoco.mjtGeom.mjGEOM_BOX, pos=centre, size=half, mass=mass, rgba=(*rgb, 1)
    )


def _add_servo(spec: mujoco.MjSpec, name: str, kp: float, lead_s: float, most: float) -> None:
    servo = spec.add_actuator(
        name=name, target=name, trntype=mujoco.mjtTrn.mjTRN_JOINT, dyntype=mujoco.mjtDyn.mjDYN_INTEGRATOR,
        gaintype=mujoco.mjtGain.mjGAIN_FIXED, biastype=mujoco.mjtBias.mjBIAS_AFFINE, forcelimited=True,
        forcerange=(-most, most),
    )  # fmt: skip
    servo.gainprm[0] = kp
    servo.biasprm[1:3] = (-kp, -kp * lead_s)


def _arm(side: str) -> Arm:
    _, _, lower, upper, fastest, home = zip(*JOINTS, strict=True)
    return Arm(
        name=side,
        joints=tuple(f"twin/{side}_joint{number}" for number in range(1, 7)),
        lower=lower,
        upper=upper,
        max_speed=fastest,
        home=home,
        lead_s=LEAD_S,
        tool_site=f"twin/{side}_tool",
        gripper=Gripper(
            actuator=f"twin/{side}_gripper",
            finger_joints=(f"twin/{side}_slide_a", f"twin/{side}_slide_b"),
            finger_bodies=(f"twin/{side}_finger_a", f"twin/{side}_finger_b"),
            pad_geoms=(f"twin/{side}_pad_a", f"twin/{side}_pad_b"),
            finger_travel_m=FINGER_TRAVEL_M,
        ),
    )


BASE = Base("base", ("twin/x", "twin/y", "twin/yaw"), max_speed=(0.8, 0.8, 1.5), lead_s=BASE_LEAD_S)
ROBOTS.add(
    "twin",
    Robot(
        name="twin",
        groups=(_arm("left"), _arm("right"), BASE),
        cameras=(),
        build=build,
        base_in_world=Pose((-0.62, 0.0, 0.004)),
        root_body="twin/base",
        description="Two six-jointed arms of plain links on a sliding base",
    ),
)


# Hands that meet point at each other: the giver's fingers close from above and below, the taker's from the sides.
MEET_AT: Vector = (0.40, 0.0, 0.28)
BACK_M = 0.10


def facing(hand: str, closing: str) -> Quaternion:
    """Pointing to the middle, with the fingers closing along the vertical or along x."""
    inwards = about("x", math.pi / 2 if hand == "left" else -math.pi / 2)
    return multiply(inwards, about("z", math.pi / 2)) if closing == "x" else inwards


def _come(hand: Hand, goal: Pose, back_m: float, speed_m_s: float) -> Steps:
    return skills.reach(hand, lambda: skills.back_off(goal, back_m), speed_m_s=speed_m_s)


def plan_give(context: PlanContext, clause: Clause) -> Steps:
    """Both hands to the middle, the other one closes, and this one lets go."""
    name = context.target(clause)
    holders = context.view.holders(name)
    if not holders:
        raise CannotBeDone(f"{name} is in no hand")
    giver = context.hands[holders[0]]
    (taker,) = (hand for hand in context.hands.values() if hand is not giver)
    assert context.wheels is not None
    middle = Pose(context.wheels.pose.apply(MEET_AT))
    give = Pose(middle.position, facing(giver.name, "z"))
    take = Pose(middle.position, facing(taker.name, "x"))
    taker.grip = 1.0
    for back_m, speed_m_s in ((BACK_M, 0.3), (0.0, 0.1)):
        yield from skills.together(
            context.hand, *(_come(hand, goal, back_m, speed_m_s) for hand, goal in ((giver, give), (taker, take)))
        )
    yield from skills.grip(taker)
    yield from skills.release(giver)
    yield from skills.together(context.hand, *(skills.retreat(hand, BACK_M) for hand in (giver, taker)))


def stages_given(target: str, others: tuple[str, ...], scene: Scene) -> Stages:
    return (Grasped(target, "right") & ~Grasped(target, "left"),)


def plan_drive(context: PlanContext, clause: Clause) -> Steps:
    """Straight ahead, until it stands before the thing."""
    assert context.wheels is not None
    x, _, _ = context.view.position(context.target(clause))
    here = context.wheels.pose
    yield from skills.drive(context.hand, context.wheels, lambda: Pose((x - 0.45, *here.position[1:]), here.quaternion))


verb(
    "give",
    Sense(
        train=("hand {target} over", "pass {target} to your other hand", "give {target} to your other hand"),
        test=("move {target} to your other hand", "switch the hand that holds {target}", "change hands on {target}"),
        stages=stages_given,
        plan=plan_give,
    ),
    gerund="handing over",
)
verb(
    "approach",
    Sense(
        train=("drive up to {target}", "go to {target}", "come near {target}"),
        test=("roll towards {target}", "get close to {target}", "move over to {target}"),
        stages=lambda target, others, scene: (),
        plan=plan_drive,
    ),
    gerund="approaching",
)


def shelf(name: str, x: float, y: float, height_m: float) -> Thing:
    half = (0.06, 0.06, height_m / 2)
    board = Thing(f"{name} shelf", "board", "grey", (Shape("box", half),), half, Pose(), is_fixed=True)
    return board.at(x, y)


def at_both_shelves(streams: Streams) -> Scene:
    rng = streams.rng("layout")
    (left, right), away = rng.uniform(-0.02, 0.02, (2, 2)), 0.02
    return tabletop(
        shelf("low", -0.10, 0.22, 0.03),
        shelf("high", -0.10, -0.22, 0.08),
        cube("red").at(-0.10 + left[0], 0.22 + left[1], z=0.03 + away),
        cube("blue").at(-0.10 + right[0], -0.22 + right[1], z=0.08 + away),
        cube("green").at(-0.10, -0.05),
    )


@task(family="two_hands", varies=("layout",), chance=1.0, time_limit_s=30.0)
def take_both_and_hand_over(streams: Streams) -> Situation:
    """Drive up, take one cube with each hand, put the blue one down, and hand the red one over."""
    scene = at_both_shelves(streams)
    instruction = say(
        do("approach", "red cube"),
        with_hand("left", pick("red cube")),
        with_hand("right", pick("blue cube")),
        with_hand("right", put("blue cube", "on", "green cube")),
        do("give", "red cube"),
    )
    return Situation(scene, instruction, stages_for(instruction.meaning, scene))
