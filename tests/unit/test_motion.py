"""Motion quality on paths whose answers are known."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from robodx.analysis import motion
from robodx.sim.geometry import Array

PERIOD_S = 0.05


def path(x: NDArray[np.floating[Any]]) -> Array:
    """A single arm's tool that moves along x only (n + 1, 1, 3)."""
    tools = np.zeros((len(x), 1, 3))
    tools[:, 0, 0] = x
    return tools


def reach(steps: int, length_m: float = 0.3) -> Array:
    """The smoothest way from rest to rest."""
    t = np.linspace(0.0, 1.0, steps + 1)
    return path(length_m * (10 * t**3 - 15 * t**4 + 6 * t**5))


def test_the_path_counts_every_way_there_and_back() -> None:
    assert motion.path_length_m(path(np.array([0.0, 0.1, 0.0, 0.2]))) == pytest.approx(0.4)
    both = np.concatenate([path(np.array([0.0, 0.1])), path(np.array([0.0, 0.3]))], axis=1)
    assert motion.path_length_m(both) == pytest.approx(0.4)


def test_the_jerk_of_a_cubic_is_constant() -> None:
    t: Array = PERIOD_S * np.arange(20, dtype=np.float64)
    assert motion.mean_squared_jerk(path(2.0 * t**3), t) == pytest.approx((2.0 * 6.0) ** 2)
    assert motion.mean_squared_jerk(path(t[:3]), t[:3]) is None
    # At 60 Hz steps are of 8 or 9 physics steps: that is no jerk.
    uneven: Array = np.asarray(np.round(np.arange(100) / 60 / 0.002) * 0.002, dtype=np.float64)
    assert motion.mean_squared_jerk(path(2.0 * uneven), uneven) == pytest.approx(0.0, abs=1e-9)


def test_sparc_does_not_depend_on_how_far_or_how_fast() -> None:
    smooth = motion.sparc(reach(40), PERIOD_S)
    assert smooth is not None
    # The published value of the smoothest reach is about −1.4.
    assert smooth == pytest.approx(-1.4, abs=0.1)
    assert motion.sparc(reach(40, length_m=0.9), PERIOD_S) == pytest.approx(smooth)
    assert motion.sparc(reach(80), PERIOD_S) == pytest.approx(smooth, abs=0.05)


def test_sparc_falls_with_every_stop_on_the_way() -> None:
    once = reach(40)
    values = [motion.sparc(np.concatenate([once + stop * 0.3 for stop in range(n)]), PERIOD_S) for n in (1, 2, 4)]
    assert all(value is not None for value in values)
    assert values[0] > values[1] > values[2]  # type: ignore[operator]


def test_sparc_is_nothing_for_one_who_stands_still() -> None:
    assert motion.sparc(path(np.zeros(10)), PERIOD_S) is None


def test_stability_is_the_mean_of_the_changes() -> None:
    joints = np.array([[0.0, 0.0], [0.3, 0.4], [0.3, 0.4]])
    assert motion.stability(joints, PERIOD_S) == pytest.approx(np.exp(-0.25))
    assert motion.stability(np.zeros((5, 7)), PERIOD_S) == 1.0
    assert motion.stability(np.zeros((1, 7)), PERIOD_S) is None


@pytest.mark.parametrize("hz", [10.0, 20.0, 40.0])
def test_the_stability_of_a_motion_does_not_depend_on_the_rate_of_its_record(hz: float) -> None:
    t = np.arange(0.0, 8.0 + 1e-9, 1.0 / hz)
    joints = np.stack([np.sin(t), 0.3 * np.cos(2 * t), 0.1 * t], axis=1)
    fine = np.linspace(0.0, 8.0, 20_001)
    speed = np.linalg.norm([np.cos(fine), -0.6 * np.sin(2 * fine), np.full(len(fine), 0.1)], axis=0).mean()
    assert motion.stability(joints, 1.0 / hz) == pytest.approx(np.exp(-speed / 20), abs=2e-4)


def test_shaking_is_turning_back_again_and_again() -> None:
    steady = np.outer(np.arange(40), np.full(7, 0.01))
    for every in (1, 2, 3):
        shaking = np.outer(np.arange(60) // every % 2, np.full(7, 0.01))
        assert motion.is_shaking(shaking, PERIOD_S) and not motion.is_shaking(0.1 * shaking, PERIOD_S)
    assert not motion.is_shaking(steady, PERIOD_S)
    # One who turned round once did not shake, nor did one who turns round now and then.
    there_and_back = np.concatenate([steady, steady[::-1]])
    assert motion.reversals(there_and_back).tolist() == [41]
    assert not motion.is_shaking(np.concatenate([there_and_back] * 10), PERIOD_S)


def test_time_at_the_limit_counts_steps_near_either_end() -> None:
    joints = np.array([[0.0], [0.999], [-1.0], [0.9]])
    assert motion.joint_limit_s(joints, [-1.0], [1.0], PERIOD_S) == pytest.approx(2 * PERIOD_S)
