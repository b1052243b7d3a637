"""Stress on environments that are not ours: Gymnasium's own arm, and small ones that show what they are given."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.utils.env_checker import check_env
from gymnasium.wrappers import AddRenderObservation
from numpy.typing import NDArray

import robodx
from robodx.errors import UserError
from robodx.perturbations.base import PERTURBATIONS
from robodx.wrapping import wrappable

PICTURES = [name for name in wrappable() if PERTURBATIONS[name].kind == "sensor"]


@pytest.fixture(scope="module")
def reacher() -> Iterator[gymnasium.Env[Any, Any]]:
    arm = gymnasium.make("Reacher-v5", render_mode="rgb_array", width=48, height=32)
    arm.reset(seed=0)
    env = AddRenderObservation(arm, render_only=False)
    yield env
    env.close()


class Nested(gymnasium.Env[Any, Any]):
    """Pictures among other things, and what was last executed."""

    metadata = {"render_fps": 10}  # noqa: RUF012

    def __init__(self) -> None:
        picture = spaces.Box(0, 255, (9, 7, 3), np.uint8)
        self.observation_space = spaces.Dict(
            {
                "views": spaces.Tuple((picture, spaces.Box(0, 255, (5, 5, 3), np.uint8))),
                "mask": spaces.Box(0, 255, (9, 7, 1), np.uint8),
                "joints": spaces.Box(-1, 1, (2,), np.float32),
            }
        )
        self.action_space = spaces.Box(-1, 1, (2,), np.float32)
        self.executed: list[NDArray[np.float32]] = []
        self.given: dict[str, Any] = {}

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self.executed = []
        return self._observed(), {"mine": 1}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self.executed.append(np.array(action))
        return self._observed(), float(self.np_random.random()), False, False, {"mine": 1}

    def _observed(self) -> dict[str, Any]:
        grey = np.full((9, 7, 3), 100, dtype=np.uint8)
        self.given = {
            "views": (grey, grey[:5, :5].copy()),
            "mask": np.full((9, 7, 1), 100, dtype=np.uint8),
            "joints": np.zeros(2, dtype=np.float32),
        }
        return self.given


def episode(env: gymnasium.Env[Any, Any], seed: int | None, steps: int = 6) -> list[NDArray[Any]]:
    """The pictures, the robot's state and the rewards."""
    observed, _ = env.reset(seed=seed)
    seen = [observed["pixels"], observed["state"]]
    for step in range(steps):
        observed, reward, *_ = env.step(np.full(2, 0.1 * step, dtype=np.float32))
        seen += [observed["pixels"], observed["state"], np.array(reward)]
    return seen


def equal(first: list[NDArray[Any]], second: list[NDArray[Any]]) -> bool:
    return all(np.array_equal(one, other) for one, other in zip(first, second, strict=True))


# Of a wrapper, and of the arm's own unbounded state.
@pytest.mark.filterwarnings("ignore:.*is different from the unwrapped version")
@pytest.mark.filterwarnings("ignore:.*Box observation space m....um value is")
@pytest.mark.parametrize("name", ["noise", "stale_frames", "packet_loss"])
def test_gymnasium_accepts_its_own_arm_under_stress(reacher: gymnasium.Env[Any, Any], name: str) -> None:
    if name == "packet_loss":
        env = robodx.wrap(reacher, name, level="v3", actions="relative", still=[0, 0])
    else:
        env = robodx.wrap(reacher, name, level="v3")
    assert (env.observation_space, env.action_space) == (reacher.observation_space, reacher.action_space)
    check_env(env, skip_render_check=True)


@pytest.mark.parametrize("name", PICTURES)
def test_each_kind_of_picture_stress_reaches_the_arm_s_view_and_nothing_else(
    reacher: gymnasium.Env[Any, Any], name: str
) -> None:
    clean, _ = reacher.reset(seed=3)
    # Severe enough that it is there from the first seconds on.
    env = robodx.wrap(reacher, name, level=list(PERTURBATIONS[name].levels)[-1], hz=5.0)
    observed, info = env.reset(seed=3)
    assert np.array_equal(observed["state"], clean["state"])
    is_touched = []
    for _ in range(40):
        assert observed["pixels"].shape == (32, 48, 3) and observed["pixels"].dtype == np.uint8
        is_touched.append(info["perturbed"])
        observed, *_, info = env.step(np.array([0.2, -0.1], dtype=np.float32))
    assert any(is_touched)


def test_the_same_seed_gives_the_same_bits_and_the_next_episode_others(reacher: gymnasium.Env[Any, Any]) -> None:
    env = robodx.wrap(reacher, "noise", level="v2")
    first, second = episode(env, 7), episode(env, None)
    again, after = episode(env, 7), episode(env, None)
    assert equal(first, again) and equal(second, after) and not equal(first, second)
    assert not equal(first, episode(env, 8))
    still = robodx.wrap(Nested(), "noise", level="v2")
    shown = [still.reset(seed=seed)[0]["views"][0] for seed in (7, None, 7)]
    assert np.array_equal(shown[0], shown[2]) and not np.array_equal(shown[0], shown[1])


@pytest.mark.parametrize("level", [0, "0", 0.0])
def test_level_zero_is_the_environment_itself(reacher: gymnasium.Env[Any, Any], level: str | float) -> None:
    clean = episode(reacher, 5)
    assert equal(clean, episode(robodx.wrap(reacher, "noise", level=level), 5))
    held = robodx.wrap(reacher, "actuator_latency", level=level, actions="relative", still=[0, 0])
    assert equal(clean, episode(held, 5)) and held.reset(seed=1)[1]["perturbed"] is False


def test_the_world_s_own_draws_are_left_alone() -> None:
    clean, env = Nested(), robodx.wrap(Nested(), "noise", level="v3")
    for one in (clean, env):
        one.reset(seed=4)
    action = np.zeros(2, dtype=np.float32)
    assert [clean.step(action)[1] for _ in range(5)] == [env.step(action)[1] for _ in range(5)]


def test_every_picture_is_found_and_what_is_none_is_passed_on() -> None:
    env = robodx.wrap(Nested(), "colour_shift", level=30)
    observed, info = env.reset(seed=0)
    given = env.unwrapped.given  # type: ignore[attr-defined]
    assert info == {"mine": 1, "perturbed": True} and env.observation_space.contains(observed)
    for shown, clean in zip(observed["views"], given["views"], strict=True):
        assert np.abs(shown.astype(int) - 100).max() == 30 and (clean == 100).all()
    assert observed["mask"] is given["mask"] and observed["joints"] is given["joints"]


def test_one_picture_of_several_is_blank_and_the_others_are_not() -> None:
    observed, _ = robodx.wrap(Nested(), "camera_blank", level="views/1").reset(seed=0)
    assert [view.any() for view in observed["views"]] == [True, False]
    with pytest.raises(UserError, match=r"camera_blank=front: .* it is shown: views/0, views/1"):
        robodx.wrap(Nested(), "camera_blank", level="front").reset(seed=0)


def test_info_says_whether_this_observation_was_touched() -> None:
    env = robodx.wrap(Nested(), "frame_drop", level=0.3)
    observed, info = env.reset(seed=0)
    kinds = set()
    for _ in range(60):
        is_dropped = any(not view.any() for view in observed["views"])
        assert info["perturbed"] == is_dropped
        kinds.add(is_dropped)
        observed, *_, info = env.step(np.zeros(2, dtype=np.float32))
    assert kinds == {True, False}


def test_a_picture_alone_may_be_the_observation() -> None:
    env = robodx.wrap(AddRenderObservation(Drawn()), "resolution", level="v2")
    assert env.reset(seed=0)[0].shape == (8, 8, 3)


class Drawn(Nested):
    metadata = {"render_fps": 10, "render_modes": ["rgb_array"]}  # noqa: RUF012
    render_mode = "rgb_array"

    def render(self) -> NDArray[np.uint8]:
        return np.zeros((8, 8, 3), dtype=np.uint8)


def sent(env: gymnasium.Env[Any, Any], steps: int) -> tuple[list[NDArray[np.float32]], list[bool]]:
    """Actions 0.01, 0.02, …, written into one array, as some agents do."""
    env.reset(seed=1)
    action, flags = np.zeros(2, dtype=np.float32), []
    for step in range(steps):
        action[:] = 0.01 * (step + 1)
        flags.append(env.step(action)[-1]["perturbed"])
    return env.unwrapped.executed, flags  # type: ignore[attr-defined]


@pytest.mark.parametrize("kind", ["relative", "absolute"])
def test_late_actions_arrive_in_order_after_standing_still(kind: Any) -> None:
    env = robodx.wrap(Nested(), "actuator_latency", level=0.3, actions=kind, still=[0.5, 0.5])
    executed, flags = sent(env, 8)
    expected = [0.5, 0.5, 0.5, 0.01, 0.02, 0.03, 0.04, 0.05]
    assert np.allclose([each[0] for each in executed], expected) and all(flags)


def test_a_lost_motion_is_no_motion_and_a_lost_target_is_the_last_one() -> None:
    relative = robodx.wrap(Nested(), "packet_loss", level=0.4, actions="relative", still=[0, 0])
    absolute = robodx.wrap(Nested(), "packet_loss", level=0.4, actions="absolute", still=lambda seen: seen["joints"])
    (moved, lost), (aimed, also_lost) = sent(relative, 60), sent(absolute, 60)
    assert lost == also_lost and 10 < sum(lost) < 40
    last = 0.0
    for step, is_lost in enumerate(lost):
        last = last if is_lost else 0.01 * (step + 1)
        assert moved[step][0] == pytest.approx(0.0 if is_lost else last)
        assert aimed[step][0] == pytest.approx(last)


def test_a_lost_action_may_be_the_one_before_again_whatever_it_means() -> None:
    executed, lost = sent(robodx.wrap(Nested(), "action_repeat", level=0.4), 60)
    assert 10 < sum(lost) < 40 and not lost[0]
    for step, is_lost in enumerate(lost):
        expected = executed[step - 1][0] if is_lost else 0.01 * (step + 1)
        assert executed[step][0] == pytest.approx(expected)


def test_what_needs_more_than_pictures_and_commands_is_refused_with_what_can_be_had() -> None:
    assert {"noise", "actuator_latency", "packet_loss", "camera_disconnect"} <= set(wrappable())
    for name in ("payload", "friction", "encoder_bias", "gripper_backlash", "inference_pauses", "calibration_offset"):
        assert name not in wrappable()
        with pytest.raises(UserError, match=rf"^{name} changes more than pictures .* actuator_latency, .*packet_loss"):
            robodx.wrap(Nested(), name, level="v1")


def test_what_is_missing_or_wrong_is_said() -> None:
    with pytest.raises(UserError, match="give actions="):
        robodx.wrap(Nested(), "packet_loss", level="v1")
    with pytest.raises(UserError, match="and still="):
        robodx.wrap(Nested(), "actuator_latency", level="v1", actions="relative")
    with pytest.raises(UserError, match=r"still=\[0. 0. 0.\] is not an action of Box"):
        robodx.wrap(Nested(), "packet_loss", level="v1", actions="relative", still=[0, 0, 0]).reset()
    with pytest.raises(UserError, match=r"has none: its observations are Box\(-inf"):
        robodx.wrap(gymnasium.make("Reacher-v5"), "noise", level="v1")
    with pytest.raises(UserError, match="a severity of noise must be 0 to 255"):
        robodx.wrap(Nested(), "noise", level=-1)
    with pytest.raises(UserError, match='No level of noise "v4"'):
        robodx.wrap(Nested(), "noise", level="v4")
    with pytest.raises(UserError, match='No perturbation "nose"'):
        robodx.wrap(Nested(), "nose", level="v1")
    with pytest.raises(UserError, match="a positive number of steps a second, not 0"):
        robodx.wrap(Nested(), "noise", level="v1", hz=0)
    mute = Nested()
    mute.metadata = {}
    with pytest.raises(UserError, match="give hz="):
        robodx.wrap(mute, "noise", level="v1")


def test_a_wrapped_environment_can_be_made_again_from_its_spec(reacher: gymnasium.Env[Any, Any]) -> None:
    spec = robodx.wrap(reacher, "frame_drop", level="v3").spec
    assert spec is not None
    made = spec.additional_wrappers[-1]
    assert made.name == "Stressed" and made.kwargs == {
        "name": "frame_drop", "level": "v3", "actions": None, "still": None, "hz": None
    }  # fmt: skip


WITHOUT_A_SIMULATOR = """
import os, sys
import gymnasium, numpy as np
from gymnasium import spaces
import robodx

class Plain(gymnasium.Env):
    metadata = {"render_fps": 10}
    observation_space = spaces.Dict({"front": spaces.Box(0, 255, (9, 7, 3), np.uint8)})
    action_space = spaces.Box(-1, 1, (2,), np.float32)

    def reset(self, *, seed=None, options=None):
        return self.observation_space.sample(), {}

    def step(self, action):
        return self.observation_space.sample(), 0.0, False, False, {}

from robodx.perturbations.base import PERTURBATIONS
from robodx.wrapping import wrappable
for name in wrappable():
    level = list(PERTURBATIONS[name].levels)[-1]
    env = robodx.wrap(Plain(), name, level=level, actions="relative", still=[0, 0])
    env.reset(seed=0)
    for _ in range(3):
        env.step(env.action_space.sample())
print(len(wrappable()))
heavy = {"mujoco", "cv2", "av", "torch", "polars"}
print(*sorted(heavy & set(sys.modules)), os.environ.get("MUJOCO_GL"))
"""


def test_stress_on_other_environments_needs_no_simulator_and_leaves_its_settings_alone() -> None:
    clean = {name: value for name, value in os.environ.items() if name != "MUJOCO_GL"}
    command = [sys.executable, "-W", "error", "-c", WITHOUT_A_SIMULATOR]
    done = subprocess.run(command, env=clean, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [str(len(wrappable())), "None"]
