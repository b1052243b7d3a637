"""Steps of the hand: in whose axes they are written, and which pose they start from."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation  # type: ignore[import-untyped]  # has no types

from robodx.robots.control import Controller, moved
from robodx.robots.kinematics import Kinematics
from robodx.robots.panda import PANDA
from robodx.sim.geometry import Array, Pose, from_rotation_vector
from robodx.sim.simulation import Command

PERIOD_S = 0.05
SEEDS = st.integers(0, 2**32 - 1)
HOME = np.array(PANDA.arm.home)
TOOL = Kinematics("panda")


def turn_of(pose: Pose) -> Rotation:
    return Rotation.from_quat(pose.quaternion, scalar_first=True)


def step(rng: np.random.Generator) -> Array:
    """Small enough that no joint has to hurry."""
    return np.concatenate([rng.uniform(-0.01, 0.01, 3), rng.uniform(-0.03, 0.03, 3), [0.7]])


def tool_after(controller: Controller, action: Array, last: Array, achieved: Array | None = None) -> Pose:
    command = Command(last.astype(np.float32), np.array([1.0], np.float32))
    resolved = controller.resolve(action.astype(np.float32), command, PERIOD_S, achieved)
    assert resolved.limits == ()
    return TOOL.tool_in_base(resolved.command.joints.astype(float))


def assert_same(one: Pose, other: Pose) -> None:
    assert np.allclose(one.position, other.position, atol=2e-4)
    assert (turn_of(one) * turn_of(other).inv()).magnitude() < 2e-3


@given(seed=SEEDS)
def test_a_step_in_the_tools_axes_is_the_turned_step_in_the_bases(seed: int) -> None:
    rng = np.random.default_rng(seed)
    x, y, z, w = Rotation.random(rng=rng).as_quat()
    tool = Pose.of(rng.uniform(-1, 1, 3).tolist(), (w, x, y, z))
    delta, turn = rng.uniform(-1, 1, 3), rng.uniform(-1, 1, 3)
    in_base = turn_of(tool).apply([delta, turn])
    own = moved(tool, tuple(delta.tolist()), from_rotation_vector(turn.tolist()), "tool")
    base = moved(tool, tuple(in_base[0].tolist()), from_rotation_vector(in_base[1].tolist()), "base")
    assert np.allclose(own.position, base.position)
    assert (turn_of(own) * turn_of(base).inv()).magnitude() < 1e-6


@given(seed=SEEDS)
@settings(max_examples=20)
def test_the_controller_steps_in_the_axes_that_it_was_told(seed: int) -> None:
    action = step(np.random.default_rng(seed))
    turned = turn_of(TOOL.tool_in_base(HOME)).apply(action[:6].reshape(2, 3)).ravel()
    in_tool = tool_after(Controller(PANDA, "ee_delta", delta_frame="tool"), action, HOME)
    in_base = tool_after(Controller(PANDA, "ee_delta"), np.concatenate([turned, action[6:]]), HOME)
    assert_same(in_tool, in_base)


def test_the_tools_axes_are_not_the_bases() -> None:
    """At home the hand looks down: its own z is the base's −z."""
    up = np.array([0, 0, 0.01, 0, 0, 0, 1.0])
    start = TOOL.tool_in_base(HOME).position[2]
    assert tool_after(Controller(PANDA, "ee_delta"), up, HOME).position[2] == pytest.approx(start + 0.01, abs=1e-3)
    in_tool = tool_after(Controller(PANDA, "ee_delta", delta_frame="tool"), up, HOME)
    assert in_tool.position[2] == pytest.approx(start - 0.01, abs=1e-3)


@given(seed=SEEDS)
@settings(max_examples=20)
def test_a_step_from_the_achieved_pose_starts_where_the_arm_was_measured(seed: int) -> None:
    rng = np.random.default_rng(seed)
    action, achieved = step(rng), HOME + rng.uniform(-0.02, 0.02, 7)
    controller = Controller(PANDA, "ee_delta", delta_from="achieved")
    assert controller.starts_from_achieved
    expected = moved(
        TOOL.tool_in_base(achieved), tuple(action[:3].tolist()), from_rotation_vector(action[3:6].tolist()), "base"
    )
    assert_same(tool_after(controller, action, HOME, achieved), expected)


def test_standing_still_from_the_achieved_pose_gives_up_what_was_not_reached() -> None:
    """From the commanded pose it is still aimed at."""
    achieved, still = HOME + 0.02, np.array([0, 0, 0, 0, 0, 0, 1.0])
    from_achieved = tool_after(Controller(PANDA, "ee_delta", delta_from="achieved"), still, HOME, achieved)
    from_commanded = tool_after(Controller(PANDA, "ee_delta"), still, HOME)
    assert_same(from_achieved, TOOL.tool_in_base(achieved))
    assert_same(from_commanded, TOOL.tool_in_base(HOME))


@pytest.mark.parametrize("space", ["ee_pose", "joint", "joint_velocity"])
def test_only_steps_of_the_hand_start_from_the_achieved_pose(space: str) -> None:
    assert not Controller(PANDA, space, delta_from="achieved").starts_from_achieved  # type: ignore[arg-type]
