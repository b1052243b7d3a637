"""The exact conventions of the action spaces, and that a command replays bit for bit."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from robodx.robots.control import Controller, Resolved, action_width, as_joint_action
from robodx.robots.kinematics import Kinematics
from robodx.robots.panda import PANDA
from robodx.sim.geometry import Pose, about, difference, from_rotation_vector, multiply
from robodx.sim.scene import tabletop
from robodx.sim.simulation import Command, Simulation
from robodx.spaces import ACTION_SPACES, ActionSpace

PERIOD_S = 0.05
ARM = PANDA.arm
HOME = Command(np.array(ARM.home, dtype=np.float32), np.ones(1, dtype=np.float32))
TOOL = Kinematics("panda")
SPEED = np.array(ARM.max_speed)


def action(*numbers: float) -> NDArray[np.float32]:
    return np.array(numbers, dtype=np.float32)


def resolve(space: ActionSpace, numbers: NDArray[np.float32], last: Command = HOME) -> Resolved:
    return Controller(PANDA, space).resolve(numbers, last, PERIOD_S)


def tool_of(command: Command) -> Pose:
    return TOOL.tool_in_base(command.joints.astype(np.float64))


def is_same_command(a: Command, b: Command) -> bool:
    return as_joint_action(a, PANDA).tobytes() == as_joint_action(b, PANDA).tobytes()


def random_start(rng: np.random.Generator) -> Command:
    """Anywhere inside the joint ranges, short of the stops."""
    lower, upper = np.array(ARM.lower), np.array(ARM.upper)
    joints = rng.uniform(lower + 0.1 * (upper - lower), upper - 0.1 * (upper - lower))
    return Command(joints.astype(np.float32), rng.random(1).astype(np.float32))


def test_widths() -> None:
    widths = {space: action_width(space, PANDA) for space in ACTION_SPACES}
    assert widths == {"ee_delta": 7, "ee_pose": 8, "joint": 8, "joint_velocity": 8}


def test_ee_delta_moves_the_commanded_pose_along_the_base_axes() -> None:
    before = tool_of(HOME)
    resolved = resolve("ee_delta", action(0.01, -0.02, 0.015, 0, 0, 0, 0.5))
    assert max(difference(tool_of(resolved.command), before.shifted(0.01, -0.02, 0.015))) < 2e-4
    assert resolved.limits == () and resolved.command.openings == [0.5]


def test_ee_delta_turns_about_the_base_axes() -> None:
    # Home points down: a tool-frame convention would turn the other way about y and z.
    for vector in ((0.05, 0.0, 0.0), (0.0, 0.05, 0.0), (0.0, 0.0, 0.05), (0.03, -0.04, 0.05)):
        before = tool_of(HOME)
        after = tool_of(resolve("ee_delta", action(0, 0, 0, *vector, 1)).command)
        expected = Pose(before.position, multiply(from_rotation_vector(vector), before.quaternion))
        assert max(difference(after, expected)) < 2e-4


def test_ee_delta_is_in_the_robots_base_frame_not_the_worlds() -> None:
    turned = replace(PANDA, base_in_world=Pose((-0.3, 0.2, 0.0), about("z", math.pi / 2)))
    simulation = Simulation(tabletop(), turned, np.array(ARM.home))
    before = simulation.tool_in_world()
    for _ in range(10):
        resolved = Controller(turned, "ee_delta").resolve(action(0.01, 0, 0, 0, 0, 0, 1), simulation.command, PERIOD_S)
        simulation.step(resolved.command, 25)
    for _ in range(5):
        simulation.step(simulation.command, 25)
    assert max(difference(simulation.tool_in_world(), before.shifted(dy=0.1))) < 2e-3


def test_deltas_add_up_on_the_command_however_the_arm_lags(simulate: Callable[..., Simulation]) -> None:
    simulation = simulate()
    # Held in place by a strong hand, the arm never gets there: the command does.
    simulation.data.body("panda/hand").xfrc_applied[2] = -200.0
    start = tool_of(simulation.command)
    for _ in range(10):
        resolved = resolve("ee_delta", action(0.01, 0, 0.005, 0, 0, 0.02, 1), simulation.command)
        simulation.step(resolved.command, 25)
    goal = Pose(start.shifted(0.1, 0.0, 0.05).position, multiply(about("z", 0.2), start.quaternion))
    assert max(difference(tool_of(simulation.command), goal)) < 1e-3
    achieved = PANDA.base_in_world.inverse() @ simulation.tool_in_world()
    assert difference(achieved, goal).distance_m > 3e-3


def test_zero_delta_is_standing_still_bit_for_bit() -> None:
    rng = np.random.default_rng(0)
    for start in [HOME, *(random_start(rng) for _ in range(100))]:
        resolved = resolve("ee_delta", action(0, 0, 0, 0, 0, 0, float(start.openings[0])), start)
        assert is_same_command(resolved.command, start) and resolved.limits == ()


def test_ee_pose_is_absolute_in_the_base_frame() -> None:
    goal = Pose(tool_of(HOME).shifted(0.01, 0.015, -0.02).position, multiply(about("z", 0.1), tool_of(HOME).quaternion))
    w, x, y, z = goal.quaternion
    for scale in (1.0, -1.0, 3.0):
        numbers = action(*goal.position, scale * w, scale * x, scale * y, scale * z, 0.25)
        resolved = resolve("ee_pose", numbers)
        assert max(difference(tool_of(resolved.command), goal)) < 2e-4
        assert resolved.limits == () and resolved.command.openings == [0.25]


def test_joint_is_absolute_and_joint_velocity_is_per_second() -> None:
    target = HOME.joints + action(0.05, -0.05, 0.02, 0.0, 0.1, -0.1, 0.03)
    resolved = resolve("joint", np.append(target, action(0.5)))
    assert resolved.command.joints.tobytes() == target.tobytes() and resolved.limits == ()
    velocity = action(1.0, -1.0, 0.5, 0.0, 2.0, -2.0, 0.1)
    resolved = resolve("joint_velocity", np.append(velocity, action(0.5)))
    assert resolved.command.joints == pytest.approx(HOME.joints + 0.05 * velocity, abs=1e-6)
    assert resolved.limits == () and resolved.command.openings == [0.5]


@pytest.mark.parametrize("opening", [0.0, 0.25, 1.0])
def test_gripper_opens_to_its_share(opening: float, simulate: Callable[..., Simulation]) -> None:
    simulation = simulate()
    for _ in range(20):
        resolved = resolve("ee_delta", action(0, 0, 0, 0, 0, 0, opening), simulation.command)
        assert resolved.limits == ()
        simulation.step(resolved.command, 25)
    assert simulation.gripper_openings() == pytest.approx([opening], abs=0.01)


@pytest.mark.parametrize("hz", [5, 20, 60])
@pytest.mark.parametrize("space", ACTION_SPACES)
def test_command_replayed_in_joint_space_is_the_same_bits(space: ActionSpace, hz: float) -> None:
    rng, scale = np.random.default_rng(1), {"ee_delta": 0.08, "ee_pose": 1.0, "joint": 2.0, "joint_velocity": 4.0}
    controller, replay, last = Controller(PANDA, space), Controller(PANDA, "joint"), HOME
    limited = 0
    for _ in range(100):
        numbers = rng.normal(0.0, scale[space], action_width(space, PANDA)).astype(np.float32)
        command, limits = controller.resolve(numbers, last, 1 / hz)
        limited += bool(limits)
        assert command.joints.dtype == command.openings.dtype == np.float32
        replayed = replay.resolve(as_joint_action(command, PANDA), last, 1 / hz)
        assert is_same_command(replayed.command, command) and replayed.limits == ()
        last = command
    assert limited > 10, "saturated commands are replayed too"


def test_a_joint_action_has_each_arms_opening_after_its_joints() -> None:
    command = Command(np.arange(14, dtype=np.float32), np.array([0.25, 0.75], dtype=np.float32))
    two = replace(PANDA, groups=(ARM, replace(ARM, name="other")))
    assert as_joint_action(command, two).tolist() == [*range(7), 0.25, *range(7, 14), 0.75]
