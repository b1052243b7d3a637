"""The Panda against its published parameters, and its gripper against a cube."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import mujoco
import numpy as np
import pytest

from robodx.robots.panda import PANDA
from robodx.sim.geometry import Array, Pose, about
from robodx.sim.robot import ROBOTS

ARM = PANDA.arm
GRIPPER = ARM.gripper
# a, d, alpha, lower, upper as published; the code under test has its own table.
PUBLISHED = (
    (0.0, 0.333, 0.0, -2.8973, 2.8973),
    (0.0, 0.0, -math.pi / 2, -1.7628, 1.7628),
    (0.0, 0.316, math.pi / 2, -2.8973, 2.8973),
    (0.0825, 0.0, math.pi / 2, -3.0718, -0.0698),
    (-0.0825, 0.384, -math.pi / 2, -2.8973, 2.8973),
    (0.0, 0.0, math.pi / 2, -0.0175, 3.7525),
    (0.088, 0.0, math.pi / 2, -2.8973, 2.8973),
)
CUBE_HALF_M = 0.02


def panda_spec(base_in_world: Pose) -> mujoco.MjSpec:
    spec = mujoco.MjSpec()
    spec.compiler.degree = False
    spec.option.timestep = 0.002
    spec.option.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    spec.option.cone = mujoco.mjtCone.mjCONE_ELLIPTIC
    spec.option.impratio = 20
    PANDA.build(spec, base_in_world)
    return spec


@pytest.fixture(scope="module")
def model() -> mujoco.MjModel:
    return panda_spec(Pose()).compile()


def posed(model: mujoco.MjModel, joints: Sequence[float] | Array, finger_m: float = 0.02) -> mujoco.MjData:
    """At rest in this configuration, with every servo's target there."""
    data = mujoco.MjData(model)
    for name, angle in zip(ARM.joints, joints, strict=True):
        data.joint(name).qpos = angle
        data.act[model.actuator(name).actadr[0]] = angle
    for name in GRIPPER.finger_joints:
        data.joint(name).qpos = finger_m
    data.actuator(GRIPPER.actuator).ctrl = finger_m
    mujoco.mj_forward(model, data)
    return data


def screw(a: float, alpha: float, d: float, theta: float) -> Array:
    """Craig's modified Denavit-Hartenberg transform, element by element."""
    ca, sa, ct, st = math.cos(alpha), math.sin(alpha), math.cos(theta), math.sin(theta)
    return np.array(
        [
            [ct, -st, 0.0, a],
            [st * ca, ct * ca, -sa, -d * sa],
            [st * sa, ct * sa, ca, d * ca],
            [0.0, 0.0, 0.0, 1.0],
        ]
    )


def published_tool(joints: Array) -> Array:
    tool = np.eye(4)
    for (a, d, alpha, *_), angle in zip(PUBLISHED, joints, strict=True):
        tool = tool @ screw(a, alpha, d, angle)
    return tool @ screw(0.0, 0.0, 0.107, 0.0) @ screw(0.0, 0.0, 0.1034, -math.pi / 4)


def random_joints(rng: np.random.Generator) -> Array:
    return rng.uniform([row[3] for row in PUBLISHED], [row[4] for row in PUBLISHED])


def gap_m(model: mujoco.MjModel, data: mujoco.MjData) -> float:
    left, right = (model.geom(name).id for name in GRIPPER.pad_geoms)
    return float(mujoco.mj_geomDistance(model, data, left, right, 1.0, None))


def touching(model: mujoco.MjModel, data: mujoco.MjData) -> list[tuple[str, ...]]:
    return [tuple(model.body(model.geom_bodyid[geom]).name for geom in contact.geom) for contact in data.contact]


def test_forward_kinematics_match_the_published_table(model: mujoco.MjModel) -> None:
    rng = np.random.default_rng(7)
    for _ in range(100):
        joints = random_joints(rng)
        site = posed(model, joints).site(ARM.tool_site)
        expected = published_tool(joints)
        assert np.linalg.norm(site.xpos - expected[:3, 3]) < 1e-3
        assert np.abs(site.xmat.reshape(3, 3) - expected[:3, :3]).max() < 1e-6


def test_base_pose_moves_the_whole_robot() -> None:
    base = Pose((-0.615, 0.2, 0.1), about("z", 0.5))
    data = posed(panda_spec(base).compile(), ARM.home)
    expected = base.apply(tuple(published_tool(np.array(ARM.home))[:3, 3]))
    assert np.allclose(data.site(ARM.tool_site).xpos, expected, atol=1e-6)


def test_joint_limits_and_home(model: mujoco.MjModel) -> None:
    assert ROBOTS["panda"] is PANDA
    for name, lower, upper, home, row in zip(ARM.joints, ARM.lower, ARM.upper, ARM.home, PUBLISHED, strict=True):
        assert (lower, upper) == row[3:]
        assert np.allclose(model.joint(name).range, row[3:])
        assert lower < home < upper


def test_every_element_carries_the_robots_name(model: mujoco.MjModel) -> None:
    kinds = {"BODY": "nbody", "JOINT": "njnt", "GEOM": "ngeom", "SITE": "nsite", "MESH": "nmesh", "MATERIAL": "nmat"}
    kinds |= {"ACTUATOR": "nu", "TENDON": "ntendon", "EQUALITY": "neq", "EXCLUDE": "nexclude"}
    names = [
        mujoco.mj_id2name(model, getattr(mujoco.mjtObj, f"mjOBJ_{kind}"), index) or f"unnamed {kind}"
        for kind, count in kinds.items()
        for index in range(getattr(model, count))
    ]
    assert [name for name in names if not name.startswith("panda/")] == ["world"]
    assert [model.camera(index).name for index in range(model.ncam)] == ["wrist"] == list(PANDA.cameras)


def test_tool_point_is_between_the_pads_and_below_the_hand(model: mujoco.MjModel) -> None:
    data = posed(model, ARM.home)
    tool = data.site(ARM.tool_site)
    axes = tool.xmat.reshape(3, 3)
    pads = [data.geom(name).xpos for name in GRIPPER.pad_geoms]
    hand = data.body("panda/hand").xpos
    assert np.allclose(tool.xpos - hand, 0.1034 * axes[:, 2], atol=1e-9)
    assert np.allclose(np.mean(pads, axis=0), tool.xpos, atol=1e-9)
    assert np.allclose(np.cross(pads[0] - pads[1], axes[:, 1]), 0, atol=1e-9)
    # Home points the tool straight down.
    assert np.allclose(axes[:, 2], (0, 0, -1), atol=1e-9)
    collider = model.geom("panda/hand_collider1")
    underside = collider.pos[2] + collider.size[2]
    assert 0.1034 - underside == pytest.approx(0.043, abs=1e-6)


@pytest.mark.parametrize(("finger_m", "expected_m"), [(0.0, 0.0), (0.04, 0.08)])
def test_pads_touch_when_closed_and_are_80_mm_apart_when_open(
    model: mujoco.MjModel, finger_m: float, expected_m: float
) -> None:
    assert gap_m(model, posed(model, ARM.home, finger_m)) == pytest.approx(expected_m, abs=1e-6)
    data = posed(model, ARM.home, 0.02)
    data.actuator(GRIPPER.actuator).ctrl = finger_m
    mujoco.mj_step(model, data, nstep=1000)
    mujoco.mj_forward(model, data)
    assert gap_m(model, data) == pytest.approx(expected_m, abs=5e-4)


def test_no_contact_with_itself_at_home_and_neighbours_never_touch(model: mujoco.MjModel) -> None:
    for finger_m in (0.0, 0.04):
        assert touching(model, posed(model, ARM.home, finger_m)) == []
    chain = [f"panda/link{number}" for number in range(8)]
    neighbours = {frozenset(pair) for pair in itertools.pairwise([*chain, "panda/hand"])}
    # The wrist folds the hand next to the forearm, never link7 into it.
    neighbours |= {frozenset(pair) for pair in zip(chain, chain[2:], strict=False)}
    rng = np.random.default_rng(3)
    for _ in range(200):
        pairs = {frozenset(pair) for pair in touching(model, posed(model, random_joints(rng), 0.04))}
        assert not pairs & neighbours


def test_arm_stands_still_without_gravity_sag(model: mujoco.MjModel) -> None:
    data = posed(model, ARM.home)
    start = data.site(ARM.tool_site).xpos.copy()
    mujoco.mj_step(model, data, nstep=1000)
    mujoco.mj_forward(model, data)
    assert np.linalg.norm(data.site(ARM.tool_site).xpos - start) < 1e-5


def test_moving_target_is_followed_within_a_millimetre(model: mujoco.MjModel) -> None:
    """One joint swings the tool at 0.3 m/s: target velocity as control, activation led by `lead_s`."""
    data = posed(model, ARM.home)
    servo = data.actuator(ARM.joints[0])
    activation = model.actuator(ARM.joints[0]).actadr[0]
    reach = float(np.linalg.norm(data.site(ARM.tool_site).xpos[:2]))
    command = 0.0
    for step in range(20):
        velocity = min(1.0, (step + 1) / 4) * 0.3 / reach
        data.act[activation] = command + ARM.lead_s * velocity
        servo.ctrl = velocity
        mujoco.mj_step(model, data, nstep=25)
        command += velocity * 0.05
        assert abs(data.joint(ARM.joints[0]).qpos[0] - command) * reach < 1e-3


def test_held_cube_creeps_less_than_a_millimetre_in_five_seconds() -> None:
    spec = panda_spec(Pose())
    tool = published_tool(np.array(ARM.home))
    cube = spec.worldbody.add_body(name="cube", pos=tool[:3, 3])
    cube.add_freejoint(name="cube")
    cube.add_geom(name="cube", type=mujoco.mjtGeom.mjGEOM_BOX, size=[CUBE_HALF_M] * 3, mass=0.064)
    model = spec.compile()
    data = posed(model, ARM.home, CUBE_HALF_M)
    data.actuator(GRIPPER.actuator).ctrl = 0.0
    mujoco.mj_step(model, data, nstep=250)
    start = data.joint("cube").qpos[:3].copy()
    mujoco.mj_step(model, data, nstep=2500)
    assert np.linalg.norm(data.joint("cube").qpos[:3] - start) < 1e-3
    assert gap_m(model, data) == pytest.approx(2 * CUBE_HALF_M, abs=1e-3)
