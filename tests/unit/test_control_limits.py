"""What saturates is reported and stays stable; what cannot be executed is refused with its numbers."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from robodx.policy_contract import PolicySpec
from robodx.records.trial import Trial
from robodx.robots.control import Controller, Resolved, action_width, as_joint_action, read_chunk
from robodx.robots.panda import PANDA
from robodx.running.environment import Environment, FirstReplyInvalid
from robodx.sim.simulation import Command, Simulation
from robodx.spaces import ACTION_SPACES, ActionSpace, InvalidAction

PERIOD_S = 0.05
ARM = PANDA.arm
HOME = Command(np.array(ARM.home, dtype=np.float32), np.ones(1, dtype=np.float32))
SPEED = np.array(ARM.max_speed)


def action(*numbers: float) -> NDArray[np.float32]:
    return np.array(numbers, dtype=np.float32)


def resolve(space: ActionSpace, numbers: NDArray[np.float32], last: Command = HOME) -> Resolved:
    return Controller(PANDA, space).resolve(numbers, last, PERIOD_S)


def environment(space: ActionSpace) -> Environment:
    return Environment(Trial("primitive/press_switch", 2, "still", 0), PolicySpec(space))


def is_same_command(a: Command, b: Command) -> bool:
    return as_joint_action(a, PANDA).tobytes() == as_joint_action(b, PANDA).tobytes()


@pytest.mark.parametrize(
    ("beyond", "bound", "limit"),
    [
        ((0.051, 0, 0, 0, 0, 0, 1), (0.05, 0, 0, 0, 0, 0, 1), "step length"),
        ((0, -9.0, 0.01, 0, 0, 0, 1), (0, -0.05, 0.01, 0, 0, 0, 1), "step length"),
        ((0, 0, 0, 0.26, 0, 0, 1), (0, 0, 0, 0.25, 0, 0, 1), "step turn"),
        ((0, 0, 0, 0, 0, -3e38, 1), (0, 0, 0, 0, 0, -0.25, 1), "step turn"),
        ((0, 0, 0, 0, 0, 0, 1.5), (0, 0, 0, 0, 0, 0, 1), "gripper"),
        ((0, 0, 0, 0, 0, 0, -0.1), (0, 0, 0, 0, 0, 0, 0), "gripper"),
    ],
)
def test_ee_delta_beyond_its_bounds_saturates_and_says_so(
    beyond: tuple[float, ...], bound: tuple[float, ...], limit: str
) -> None:
    saturated, at_bound = resolve("ee_delta", action(*beyond)), resolve("ee_delta", action(*bound))
    assert is_same_command(saturated.command, at_bound.command)
    assert limit in saturated.limits and limit not in at_bound.limits


def test_joints_move_no_faster_than_they_turn_and_keep_their_direction() -> None:
    resolved = resolve("joint", np.append(HOME.joints + action(1.0, 0.5, 0, 0, 0, 0, 0), action(1)))
    change = resolved.command.joints - HOME.joints
    assert resolved.limits == ("joint speed",)
    assert np.max(np.abs(change) / SPEED / PERIOD_S) == pytest.approx(1.0, rel=1e-4)
    assert change == pytest.approx(change[0] * action(1.0, 0.5, 0, 0, 0, 0, 0), abs=1e-6)
    too_fast = resolve("joint_velocity", action(100, 0, 0, 0, 0, 0, 0, 1))
    assert too_fast.limits == ("joint speed",)
    assert too_fast.command.joints[0] == pytest.approx(SPEED[0] * PERIOD_S, rel=1e-5)


WILD: list[tuple[ActionSpace, NDArray[np.float32], str]] = [
    ("ee_delta", action(0.05, 0.05, 0.05, 0.25, 0.25, 0.25, 1), "reach"),
    ("ee_delta", action(3e38, -3e38, 3e38, 3e38, -3e38, 3e38, 3e38), "step length"),
    ("ee_pose", action(3.0, 0.0, 0.5, 0, 1, 0, 0, 1), "reach"),
    ("ee_pose", action(0.0, 0.0, 0.0, 1, 0, 0, 0, 0), "reach"),
    ("ee_pose", action(3e38, -3e38, 3e38, 3e38, 3e38, 3e38, -3e38, 1), "reach"),
    ("joint", action(1e6, -1e6, 1e6, -1e6, 1e6, -1e6, 1e6, 1), "joint range"),
    ("joint", np.full(8, -3e38, dtype=np.float32), "joint range"),
    ("joint_velocity", np.full(8, 3e38, dtype=np.float32), "joint speed"),
]


@pytest.mark.parametrize(("space", "numbers", "limit"), WILD)
def test_what_cannot_be_reached_saturates_and_stays_finite(
    space: ActionSpace, numbers: NDArray[np.float32], limit: str, simulate: Callable[..., Simulation]
) -> None:
    simulation, controller = simulate(), Controller(PANDA, space)
    lower, upper = np.array(ARM.lower) - 1e-5, np.array(ARM.upper) + 1e-5
    limits: set[str] = set()
    for _ in range(200):
        before = simulation.command.joints
        resolved = controller.resolve(numbers, simulation.command, PERIOD_S)
        limits |= set(resolved.limits)
        joints = resolved.command.joints
        assert np.isfinite(joints).all() and (lower <= joints).all() and (joints <= upper).all()
        assert (np.abs(joints - before) <= SPEED * PERIOD_S * 1.001).all()
        simulation.step(resolved.command, 25)
        assert np.isfinite(simulation.data.qpos).all()
    assert limit in limits
    assert np.abs(simulation.joint_velocities()).max() < 3.0
    assert not simulation.data.warning.number.any()


def test_limits_are_logged_once_while_they_last() -> None:
    running = environment("ee_pose")
    running.accept(np.tile(action(3.0, 0.0, 0.5, 0, 1, 0, 0, 1), (5, 1)), 0.0)
    for _ in range(5):
        running.step()
    assert running.world.log.objects("limit").count("reach") == 1 and running.limit_steps == 5


def assert_refused(space: ActionSpace, chunk: NDArray[np.float32], message: str) -> None:
    with pytest.raises(FirstReplyInvalid, match=message) as caught:
        environment(space).accept(chunk, 0.0)
    assert isinstance(caught.value.__cause__, InvalidAction)


@pytest.mark.parametrize("space", ACTION_SPACES)
@pytest.mark.parametrize(("bad", "word"), [(math.nan, "nan"), (math.inf, "inf"), (-math.inf, "-inf")])
def test_numbers_that_are_not_finite_are_refused_with_their_place(space: ActionSpace, bad: float, word: str) -> None:
    chunk = np.full((3, action_width(space, PANDA)), 0.125, dtype=np.float32)
    environment(space).accept(chunk, 0.0)
    chunk[1, 2] = bad
    assert_refused(space, chunk, rf"not finite at index \[2\]: \[0\.125 +0\.125 +{word} ")


@pytest.mark.parametrize("space", ACTION_SPACES)
@pytest.mark.parametrize("off", [-1, 1])
def test_wrong_width_is_refused_with_both_widths_and_the_numbers(space: ActionSpace, off: int) -> None:
    right = action_width(space, PANDA)
    message = rf"\({right + off},\), but {space} on panda takes \({right},\): \[0\.375 "
    assert_refused(space, np.full((2, right + off), 0.375, dtype=np.float32), message)
    assert_refused(space, np.zeros(right, dtype=np.float32), rf"shape \({right},\)")
    assert_refused(space, np.zeros((0, right), dtype=np.float32), rf"shape \(0, {right}\)")


@pytest.mark.parametrize("bad", [action(0.3, 0, 0.5, 0, 1, 0, 0), action(math.nan, 0, 0.5, 0, 1, 0, 0, 1)])
def test_bad_reply_after_a_good_one_ends_the_episode_with_its_numbers(bad: NDArray[np.float32]) -> None:
    running = environment("ee_pose")
    running.accept(action(0.3, 0, 0.5, 0, 1, 0, 0, 1)[None], 0.0)
    running.step()
    running.accept(bad[None], 0.0)
    assert running.is_done and running.invalid_action is not None
    assert "0.5" in running.invalid_action and running.invalid_action.startswith("at step 1 ")


def test_zero_quaternion_is_refused_with_its_numbers() -> None:
    chunk = np.stack([action(0.3, 0, 0.5, 1, 0, 0, 0, 1), action(0.3, 0, 0.5, 0, 0, 0, 0, 1)])
    with pytest.raises(InvalidAction, match=r"without direction: \[0\.3 0\.  0\.5 0\.  0\.  0\.  0\.  1\. \]"):
        read_chunk(chunk, "ee_pose", PANDA, 8)
