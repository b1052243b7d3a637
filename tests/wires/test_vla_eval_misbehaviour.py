"""Model servers of vla-eval's own that misbehave or contradict a preset: each error names both sides."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import vla_eval
from vla_eval.model_servers.base import ModelServer, SessionContext
from vla_eval.specs import (
    GRIPPER_01,
    GRIPPER_CLOSE_01,
    GRIPPER_CLOSE_NEG,
    GRIPPER_CLOSE_POS,
    IMAGE_RGB,
    LANGUAGE,
    POSITION_ABSOLUTE,
    POSITION_DELTA,
    RAW,
    ROTATION_AA,
    ROTATION_EULER,
    ROTATION_QUAT,
    ROTATION_ROT6D_INTERLEAVED,
    STATE_EEF_POS_AA_GRIP,
    STATE_EEF_POS_EULER_GRIP,
    STATE_EEF_POS_QUAT_GRIP,
    STATE_JOINT,
    STATE_ROT6D_PROPRIO_20D,
    DimSpec,
)

from robodx.errors import UserError
from robodx.policy_contract import EpisodeStart, make_policy
from robodx.wires.actions import Actions
from robodx.wires.agreement import fitting, mismatches
from robodx.wires.base import ServerInfo, WireError
from robodx.wires.pictures import Picture
from robodx.wires.preset import Preset
from robodx.wires.preset_files import as_toml, read_preset, shipped
from robodx.wires.vla_eval_specs import contradictions, draft
from tests.commands import call
from tests.wires.fuzzing import observation

PRESET = Preset(
    name="mine",
    prompt="task_description",
    images={"images.front": Picture("front", 16, 16)},
    state={"states": ("ee_position", "ee_rotation_vector_down", "finger_positions")},
    actions=Actions(keys={"actions": 7}, gripper_open=-1.0, gripper_closed=1.0, gripper_is_binary=True),
)
ACTIONS = {"position": POSITION_DELTA, "rotation": ROTATION_AA, "gripper": GRIPPER_CLOSE_POS}
NEEDS = {"image": IMAGE_RGB, "state": STATE_EEF_POS_AA_GRIP, "language": LANGUAGE}
CHUNK = np.zeros((2, 7), dtype=np.float32)
Behaviour = Callable[[dict[str, Any], SessionContext], Any]


class Model(ModelServer):  # type: ignore[misc]  # vla-eval has no types
    """Declares what it is told to, and does what it is told to."""

    def __init__(
        self, behave: Behaviour, actions: Mapping[str, DimSpec] = ACTIONS, needs: Mapping[str, DimSpec] = NEEDS
    ) -> None:
        self._behave, self._actions, self._needs = behave, actions, needs

    async def on_observation(self, obs: dict[str, Any], ctx: SessionContext) -> None:
        reply = self._behave(obs, ctx)
        reply = await reply if asyncio.iscoroutine(reply) else reply
        if reply is not None:
            await ctx.send_action(reply)

    async def on_episode_start(self, config: dict[str, Any], ctx: SessionContext) -> None:
        if config["task"]["name"] == "impossible":
            raise KeyError("suite")

    def get_action_spec(self) -> Mapping[str, DimSpec]:
        return self._actions

    def get_observation_spec(self) -> Mapping[str, DimSpec]:
        return self._needs


async def twice(obs: dict[str, Any], ctx: SessionContext) -> dict[str, Any]:
    """Out of step: the second of them is what the next observation is answered with."""
    await ctx.send_action({"actions": CHUNK})
    return {"actions": CHUNK}


SENT = r"RoboDx sent images.front \(uint8 \(16, 16, 3\)\), states \(float32 \(8,\)\), task_description \(str\)$"
EXPECTS = r"The preset mine expects ee_delta with rotation_vector: for each action 7 numbers in actions$"
MISBEHAVIOURS: dict[str, tuple[Behaviour, str, str]] = {
    "reads a key that is not sent": (
        lambda obs, _: obs["observation/image"],
        r"the policy server at \S+ failed: observation_failed: KeyError: 'observation/image'",
        SENT,
    ),
    "reads a camera that is not sent": (
        lambda obs, _: obs["images"]["wrist"],
        r"the policy server at \S+ failed: observation_failed: KeyError: 'wrist'",
        SENT,
    ),
    "multiplies a state of another width": (
        lambda obs, _: np.zeros((7, 9)) @ obs["states"],
        r"the policy server at \S+ failed: observation_failed: ValueError: matmul",
        SENT,
    ),
    "answers nothing": (lambda obs, _: None, r"did not answer in time \(0\.4 s; \?timeout=SECONDS", SENT),
    "answers what cannot be packed": (
        lambda obs, _: {"actions": object()},
        "failed: observation_failed: TypeError: can.*serialize",
        SENT,
    ),
    "answers under another key": (lambda obs, _: {"action": CHUNK}, "it has: ..action", "has no actions"),
    "answers too wide": (
        lambda obs, _: {"actions": CHUNK[:, :6]},
        r"actions of shape \(2, 6\), not \(actions, 7\)",
        EXPECTS,
    ),
    "answers NaN": (lambda obs, _: {"actions": CHUNK * np.nan}, r"an action that is not finite: \[nan", EXPECTS),
    "answers words": (lambda obs, _: {"actions": ["left"]}, "actions of type str, not numbers", EXPECTS),
    "answers a batch of chunks": (
        lambda obs, _: {"actions": CHUNK[None]},
        r"actions of shape \(1, 2, 7\), not",
        EXPECTS,
    ),
    "answers an empty chunk": (lambda obs, _: {"actions": CHUNK[:0]}, r"actions of shape \(0, 7\), not", EXPECTS),
    "answers 20 MB": (
        lambda obs, _: {"actions": np.zeros((10**6, 7))},
        r"frame with \d+ bytes exceeds limit of 16777216",
        SENT,
    ),
}


@contextmanager
def checked(
    model: Model, preset: Preset, folder: Path, *options: str, timeout_s: float = 20
) -> Iterator[tuple[str, str]]:
    """An address of the model, and a preset's file."""
    (folder / "mine.toml").write_text(as_toml({**preset.as_dict(), "name": "mine"}))
    with vla_eval.serve_background(model) as server:
        yield "&".join([f"vla-eval://127.0.0.1:{server.port}?timeout={timeout_s}", *options]), str(folder / "mine.toml")


@pytest.mark.parametrize("name", list(MISBEHAVIOURS))
def test_what_a_server_does_wrong_is_told_with_both_sides(name: str, tmp_path: Path) -> None:
    behave, theirs, ours = MISBEHAVIOURS[name]
    with checked(Model(behave), PRESET, tmp_path, timeout_s=0.4 if name == "answers nothing" else 20) as (
        address,
        preset,
    ):
        policy = make_policy(address, preset)
        seen = replace(observation(policy), episode_id="one")
        policy.reset([EpisodeStart("one", 0, "", "", 0, 0, "stack")])
        (answer,) = policy.act([seen])
        policy.close()  # type: ignore[attr-defined]
    assert isinstance(answer, Exception), answer
    with pytest.raises(type(answer), match=theirs):
        raise answer
    with pytest.raises(type(answer), match=ours):
        raise answer


def test_a_server_that_fails_at_the_start_or_answers_twice_is_told(tmp_path: Path) -> None:
    with checked(Model(twice), PRESET, tmp_path) as (address, preset):
        policy = make_policy(address, preset)
        seen = replace(observation(policy), episode_id="one")
        policy.reset([EpisodeStart("one", 0, "", "", 0, 0, "impossible")])
        (answer,) = policy.act([seen])
        assert isinstance(answer, WireError)
        assert "failed: episode_start_failed: KeyError: 'suite'. RoboDx sent images.front" in str(answer)
        policy.reset([EpisodeStart("one", 0, "", "", 0, 0, "stack")])
        answers = [policy.act([seen])[0] for _ in range(2)]
        policy.close()  # type: ignore[attr-defined]
    assert not isinstance(answers[0], Exception)
    assert isinstance(answers[1], WireError) and "answered 4 with" in str(answers[1]), "and not taken for the next"


# What a greeting declares.


def hello(actions: Mapping[str, DimSpec], needs: Mapping[str, DimSpec], **params: object) -> dict[str, Any]:
    return {
        "action_spec": {name: one.to_dict() for name, one in actions.items()},
        "observation_spec": {name: one.to_dict() for name, one in needs.items()},
        "observation_params": params,
    }


JOINTS = DimSpec("joints", 7, "joint_positions")
WIDER = DimSpec("state", 8, "eef_pos3_euler3_gripper2", accepts=frozenset(["eef_pos3_axisangle3_gripper2"]))


@pytest.mark.parametrize(
    ("actions", "needs", "params", "words"),
    [
        (
            {"position": POSITION_ABSOLUTE},
            {},
            {},
            ["position: absolute_xyz, 3 numbers, which is ee_pose", "space ee_delta"],
        ),
        ({"joints": JOINTS}, {}, {}, ["joint positions, which is joint", "the space ee_delta"]),
        ({"position": DimSpec("position", 2, "delta_xy")}, {}, {}, ["position: delta_xy, 2 numbers", "preset has 3"]),
        ({"rotation": ROTATION_EULER}, {}, {}, ["rotation: euler_xyz, 3 numbers", "preset reads rotation_vector, 3 "]),
        ({"rotation": ROTATION_QUAT}, {}, {}, ["rotation: quaternion_xyzw, 4 numbers", "rotation_vector"]),
        ({"rotation": ROTATION_ROT6D_INTERLEAVED}, {}, {}, ["rot6d_interleaved", "rotation_vector"]),
        ({"rotation": DimSpec("rotation", 4, "made_up")}, {}, {}, ["rotation: made_up, 4 numbers", "3 numbers"]),
        (
            {"gripper": GRIPPER_CLOSE_NEG},
            {},
            {},
            ["binary_close_negative, which is 1 open, -1 closed", "has -1 open, 1 cl"],
        ),
        (
            {"gripper": GRIPPER_CLOSE_01},
            {},
            {},
            ["binary_close_01, which is 0 open, 1 closed", "has -1 open, 1 closed"],
        ),
        ({"gripper": GRIPPER_01}, {}, {}, ["gripper: continuous_01, 0 to 1", "has -1 open, 1 closed"]),
        (
            {},
            {"image": IMAGE_RGB, "wrist_image": IMAGE_RGB},
            {},
            ["pictures image, wrist_image: it reads 2 under images.N"],
        ),
        ({}, {"image": IMAGE_RGB}, {"send_wrist_image": True}, ["image, send_wrist_image", "sends images.front"]),
        ({}, {"head": IMAGE_RGB}, {}, ["pictures head: it reads images.head", "sends images.front"]),
        (
            {},
            {"state": STATE_EEF_POS_EULER_GRIP},
            {},
            ["state: eef_pos3_euler3_gripper2, 8", "ee_rotation_vector_down"],
        ),
        (
            {},
            {"state": STATE_EEF_POS_QUAT_GRIP},
            {},
            ["state: eef_pos3_quat4_gripper1, 8", "finger_positions, 8 numbers"],
        ),
        ({}, {"state": STATE_JOINT}, {}, ["state: joint_positions", "sends ee_position"]),
        ({}, {"state": STATE_ROT6D_PROPRIO_20D}, {}, ["20 numbers", "finger_positions, 8 numbers"]),
        ({}, {}, {"send_video_history": True}, ["asks for send_video_history, which RoboDx does not have"]),
    ],
)
def test_every_declared_field_that_a_preset_contradicts_is_named(
    actions: Mapping[str, DimSpec], needs: Mapping[str, DimSpec], params: Mapping[str, object], words: list[str]
) -> None:
    (found,) = contradictions(hello(actions, needs, **params), PRESET)
    for each in words:
        assert each in found


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"prompt": "prompt"}, ["declares language: it reads task_description", "the instruction as prompt"]),
        ({"prompt": ""}, ["declares language: it reads task_description", "no instruction"]),
        ({"state": {}}, ["state: eef_pos3_axisangle3_gripper2, 8 numbers: it reads states or state", "no state"]),
        (
            {"state": {"observation/state": PRESET.state["states"]}},
            ["states or state", "the state as observation/state"],
        ),
        ({"images": {"observation/image": Picture("front")}}, ["1 under images.NAME", "sends observation/image"]),
        ({"images": {"images.front": Picture("front", layout="CHW")}}, ["rgb_hwc_uint8", "images.front as CHW"]),
        ({"images": {"images.front": Picture("front", is_depth=True)}}, ["rgb_hwc_uint8", "images.front as depth"]),
    ],
)
def test_every_key_under_which_a_server_does_not_look_is_named(changed: dict[str, Any], words: list[str]) -> None:
    (found,) = contradictions(hello(ACTIONS, NEEDS), replace(PRESET, **changed))
    for each in words:
        assert each in found


@pytest.mark.parametrize(
    ("actions", "needs", "params"),
    [
        ({}, {}, {}),
        (ACTIONS, NEEDS, {"send_state": True, "seed": 0}),
        ({"actions": RAW}, {"images": IMAGE_RGB, "language": LANGUAGE}, {}),
        (ACTIONS, {**NEEDS, "wrist_image": IMAGE_RGB}, {"send_wrist_image": True}),
        ({**ACTIONS, "rotation": ROTATION_EULER}, {"head": IMAGE_RGB, "left_wrist": IMAGE_RGB}, {}),
        ({"position": POSITION_ABSOLUTE, "rotation": ROTATION_QUAT, "gripper": GRIPPER_CLOSE_01}, {}, {}),
        ({"joints": JOINTS, "gripper": GRIPPER_CLOSE_NEG}, {"state": STATE_JOINT, "language": LANGUAGE}, {}),
    ],
)
def test_a_draft_contradicts_nothing_of_the_greeting_that_it_is_made_from(
    actions: Mapping[str, DimSpec], needs: Mapping[str, DimSpec], params: Mapping[str, object]
) -> None:
    said = hello(actions, needs, **params)
    assert contradictions(said, read_preset(draft(said))) == []


def test_a_format_that_a_server_can_convert_from_is_no_contradiction() -> None:
    assert contradictions(hello({}, {"state": WIDER}), PRESET) == []


def test_the_numbers_of_both_arms_are_no_contradiction() -> None:
    two = replace(PRESET, arms=2, actions=replace(PRESET.actions, keys={"actions": 14}))
    both = {"position": replace(POSITION_DELTA, dims=6), "rotation": replace(ROTATION_AA, dims=6)}
    assert contradictions(hello(both, {}), two) == []
    assert len(contradictions(hello(both, {}), PRESET)) == 2


def test_presets_that_contradict_a_greeting_are_not_offered() -> None:
    def contradict(preset: Preset) -> list[str]:
        return contradictions(hello({"gripper": GRIPPER_CLOSE_POS}, {}), preset)

    offered = fitting(ServerInfo(contradictions=contradict))
    assert "libero" in offered and "openvla" not in offered and "droid" not in offered
    assert fitting(ServerInfo()) == shipped()


def test_the_check_names_all_contradictions_and_offers_no_preset_that_has_one(tmp_path: Path) -> None:
    model = Model(
        lambda obs, _: {"actions": CHUNK}, {**ACTIONS, "gripper": GRIPPER_CLOSE_NEG, "rotation": ROTATION_EULER}
    )
    wrong = replace(PRESET, prompt="prompt")
    with checked(model, wrong, tmp_path, "declared=ignore") as (ignored, preset):
        address = ignored.removesuffix("&declared=ignore")
        said = call("check", address, "--preset", preset, cwd=tmp_path, expect=2)
        for both in (
            "1 open, -1 closed, but the preset has -1 open, 1 closed",
            "euler_xyz",
            "it reads task_description",
        ):
            assert both in said
        assert "?declared=ignore" in said and "It can be run" not in said
        offered = call("check", address, cwd=tmp_path, expect=2)
        assert "no shipped preset fits it" in offered and not any(name in offered for name in shipped())
        assert "It can be run." in call("check", ignored, "--preset", preset, cwd=tmp_path)
    with pytest.raises(UserError, match='takes "ignore"'):
        make_policy("vla-eval://127.0.0.1:1?declared=no")
    assert mismatches(PRESET, ServerInfo()) == []
