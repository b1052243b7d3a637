"""The inside of our servers: which presets a policy can be served with, and what requests it reads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from robodx.errors import UserError
from robodx.policy_contract import ActionChunk, EpisodeStart, Observation, PolicySpec
from robodx.wires.actions import Actions
from robodx.wires.base import Names
from robodx.wires.pictures import Picture
from robodx.wires.preset import Preset, native
from robodx.wires.serving import Endpoint


class Seeing:
    """Stands still, and remembers what it saw."""

    def __init__(self, spec: PolicySpec) -> None:
        self.spec = spec
        self.seen: list[Observation] = []
        self.begun: list[EpisodeStart] = []

    def reset(self, starts: Sequence[EpisodeStart]) -> None:
        self.begun += starts

    def act(self, observations: Sequence[Observation]) -> Sequence[ActionChunk]:
        self.seen += observations
        return [np.zeros((1, 7), np.float32) for _ in observations]

    def finish(self, ids: Sequence[str]) -> None: ...


SPEC = PolicySpec(state=("ee_pose",))
PRESET = Preset("mine", state={"hand": ("ee_position", "ee_rotation_vector")})


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"hz": 10.0}, "the rate in Hz is 20 for the policy, 10 in the preset"),
        ({"prompt": ""}, "the policy needs the instruction"),
        ({"state": {"hand": ("ee_position",)}}, "the policy needs the state's ee_rotation"),
        ({"state": {"hand": ("ee_rotation_vector",)}}, "the policy needs the state's ee_position"),
        ({"state": {}}, "the policy needs the state's ee_pose"),
        ({"actions": Actions(delta_from="achieved")}, "steps start from the pose commanded for the policy, achieved"),
        ({"actions": Actions("joint")}, "the action space is ee_delta for the policy, joint in the preset"),
    ],
)
def test_a_preset_that_does_not_carry_what_the_policy_needs_is_refused(change: Mapping[str, Any], words: str) -> None:
    with pytest.raises(UserError, match="cannot be served with the preset mine") as raised:
        Endpoint(Seeing(SPEC), replace(PRESET, **change))
    assert words in str(raised.value)


@pytest.mark.parametrize(
    ("spec", "state"),
    [
        (SPEC, {"a": ("ee_position",), "b": ("ee_quaternion_xyzw",)}),
        (SPEC, {"a": ("ee_pose",)}),
        (replace(SPEC, state=()), {"a": ("ee_position",)}),
        (replace(SPEC, uses_language=False), {"a": ("ee_position", "ee_euler_xyz")}),
    ],
)
def test_a_preset_that_carries_all_of_it_is_taken(spec: PolicySpec, state: Mapping[str, tuple[str, ...]]) -> None:
    Endpoint(Seeing(spec), replace(PRESET, state=state))


def test_a_policy_of_joints_is_served_whatever_it_says_of_steps() -> None:
    spec = PolicySpec(action_space="joint", delta_frame="tool", delta_from="achieved", state=())
    Endpoint(Seeing(spec), native(spec, Names()))


@pytest.mark.parametrize("prompt", [b"pick", 3, None, ["pick"], np.zeros(2)])
def test_an_instruction_that_is_no_text_is_refused(prompt: object) -> None:
    policy = Seeing(SPEC)
    endpoint = Endpoint(policy, PRESET)
    with pytest.raises(ValueError, match="prompt must be text, not"):
        endpoint.answer("client", {"hand": np.zeros(6, np.float32), "prompt": prompt})
    assert not policy.begun and not policy.seen
    endpoint.answer("client", {"hand": np.zeros(6, np.float32), "prompt": "pick"})
    assert [start.instruction for start in policy.begun] == [one.instruction for one in policy.seen] == ["pick"]


@pytest.mark.parametrize(
    ("picture", "came", "problem"),
    [
        (Picture("front", 4, 6), np.zeros((4, 6, 3)), "uint8 of shape (4, 6, 3), but is float64 of shape (4, 6, 3)"),
        (Picture("front", 4, 6), np.zeros((8, 6, 3), np.uint8), "(4, 6, 3), but is uint8 of shape (8, 6, 3)"),
        (Picture("front", 4, 6, layout="CHW"), np.zeros((4, 6, 3), np.uint8), "(3, 4, 6), but is uint8 of shape (4, 6"),
        (Picture("front", 4, 6, is_depth=True), np.zeros((4, 6), np.uint8), "float32 of shape (4, 6), but is uint8 of"),
        (Picture("front", 4, 6), "no picture", "but is of type str"),
        (Picture("front", 4, 6), None, "but is of type NoneType"),
        (Picture("front", 4, 6), [[1], [1, 2]], "but is of uneven lengths"),
    ],
)  # fmt: skip
def test_a_picture_that_is_none_is_refused_by_its_key_with_both_sides(
    picture: Picture, came: object, problem: str
) -> None:
    preset = replace(PRESET, images={"view": picture}, state={}, prompt="")
    with pytest.raises(ValueError, match=r"^view must be a picture, ") as caught:
        preset.observation({"view": came}, episode_id="one", step=0, time_s=0.0)
    assert problem in str(caught.value)


def test_a_state_that_is_no_numbers_is_refused_by_its_key() -> None:
    with pytest.raises(ValueError, match=r"^hand must be numbers, not 'left'"):
        PRESET.observation({"hand": "left", "prompt": "pick"}, episode_id="one", step=0, time_s=0.0)
