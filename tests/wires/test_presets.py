"""Presets: what is sent and what comes back is what was meant, for the shipped ones and for any other."""

from __future__ import annotations

import math
import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation  # type: ignore[import-untyped]  # has no types

from robodx.cli.completing import preset_names
from robodx.errors import UserError
from robodx.policy_contract import ActionChunk, EpisodeStart, Observation
from robodx.registry import UnknownName
from robodx.sim.robot import ROBOTS
from robodx.spaces import ACTION_SPACES, InvalidAction
from robodx.wires.actions import Actions
from robodx.wires.agreement import mismatches
from robodx.wires.base import ServerInfo, WireError
from robodx.wires.parts import PARTS
from robodx.wires.pictures import FLIPS, Picture
from robodx.wires.preset import EPISODE, BadPreset, Preset
from robodx.wires.preset_files import SHIPPED, as_toml, find_preset, read_preset, shipped
from robodx.wires.rotations import ROTATIONS
from tests.commands import call

JOINTS = {"aloha": 6}
SEEDS = st.integers(0, 2**32 - 1)
START = EpisodeStart("e", 1, "control/stack_cube", "panda", 2, 3, "stack the cubes")


# With those for which there is no robot yet.
FILES = sorted(path.stem for path in SHIPPED.glob("*.toml"))


def in_file(name: str) -> Preset:
    return find_preset(str(SHIPPED / f"{name}.toml"))


def close(one: object, other: object) -> bool:
    """Up to the rounding of float32."""
    return bool(np.allclose(np.asarray(one, float), np.asarray(other, float), rtol=1e-5, atol=1e-5))


def same_turns(poses: NDArray[np.float32]) -> NDArray[np.float32]:
    """Poses (…, 7) with the one of a quaternion's two signs that begins with a positive number."""
    signs = np.where(poses[..., 3:4] < 0, -1, 1)
    return np.concatenate([poses[..., :3], signs * poses[..., 3:]], axis=-1, dtype=np.float32)


def quaternion(rng: np.random.Generator) -> NDArray[np.float64]:
    """A random rotation as wxyz, with a positive w: its negative is the same rotation."""
    q = rng.normal(size=4)
    unit: NDArray[np.float64] = np.copysign(1.0, q[0]) * q / np.linalg.norm(q)
    return unit


def seen(preset: Preset, rng: np.random.Generator) -> Observation:
    """An observation with all that the preset's spec asks for."""
    joints = preset.arms * JOINTS.get(preset.name, 7)
    poses = [np.concatenate([rng.uniform(-1, 1, 3), quaternion(rng)]) for _ in range(preset.arms)]
    state = {
        "joint_positions": rng.uniform(-3, 3, joints),
        "joint_velocities": rng.uniform(-2, 2, joints),
        "gripper_opening": rng.random(preset.arms),
        "ee_pose": np.concatenate(poses),
        "base_pose": np.concatenate([rng.uniform(-1, 1, 3), quaternion(rng)]),
    }
    images, depth = {}, {}
    for camera in preset.spec.cameras:
        images[camera.name] = rng.integers(0, 256, (camera.height, camera.width, 3), dtype=np.uint8)
        if camera.depth:
            depth[camera.name] = rng.random((camera.height, camera.width), dtype=np.float32)
    return Observation(
        "e", 7, 0.35, "stack the cubes", {part: state[part].astype(np.float32) for part in preset.spec.state},
        images, depth,
    )  # fmt: skip


def commanded(preset: Preset, rng: np.random.Generator, length: int = 3) -> ActionChunk:
    """Actions that the preset's space takes, with grippers wholly open or closed where only that can be said."""
    rows = []
    for _ in range(length):
        row: list[float] = []
        for _ in range(preset.arms):
            if preset.actions.space == "ee_pose":
                row += [*rng.uniform(-1, 1, 3), *quaternion(rng)]
            elif preset.actions.space == "ee_delta":
                row += [*rng.uniform(-0.05, 0.05, 3), *rng.uniform(-0.2, 0.2, 3)]
            else:
                row += [*rng.uniform(-2, 2, JOINTS.get(preset.name, 7))]
            row.append(float(rng.integers(2)) if preset.actions.gripper_is_binary else rng.random())
        rows.append(row)
    return np.array(rows, dtype=np.float32)


def assert_round_trips(preset: Preset, seed: int) -> None:
    rng = np.random.default_rng(seed)
    observation = seen(preset, rng)
    request = preset.request(observation, None)
    back = preset.observation(request, episode_id="e", step=7, time_s=0.35)
    assert back.instruction == (observation.instruction if preset.prompt else "")
    for picture in preset.images.values():
        if not picture.is_depth:
            assert np.array_equal(back.images[picture.camera], observation.images[picture.camera])
    for camera in preset.spec.cameras:
        if camera.depth:
            assert np.array_equal(back.depth[camera.name], observation.depth[camera.name])
    for part, numbers in back.state.items():
        if part == "ee_pose":
            numbers = same_turns(numbers.reshape(-1, 7)).ravel()
        # A preset may send part of a pose: what was not sent is not made up.
        was_sent = ~np.isnan(numbers)
        assert close(numbers[was_sent], observation.state[part][was_sent])
    for parts in preset.state.values():
        for part in parts:
            assert not np.isnan(back.state[PARTS[part].of]).all()
    chunk = commanded(preset, rng)
    answered = preset.chunk(preset.reply(chunk))
    if preset.actions.space == "ee_pose":
        arms = answered.reshape(-1, 8)
        answered = np.column_stack([same_turns(arms[:, :7]), arms[:, 7]]).reshape(chunk.shape)
    assert close(answered, chunk)


def test_all_the_presets_of_the_specification_are_shipped() -> None:
    assert {"droid", "libero", "aloha", "openvla"} <= set(FILES)


def test_a_preset_for_more_arms_than_any_robot_has_is_hidden(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    known = {preset.name: preset for preset in map(in_file, FILES)}
    hidden = [name for name, preset in known.items() if preset.arms == 2]
    assert hidden == ["aloha"] and shipped() == sorted(known.keys() - set(hidden))
    assert "aloha" not in call("list", "presets", cwd=tmp_path) and preset_names("al") == []
    why = 'The preset "aloha" is for a robot with 2 arms, and there is none yet: panda has 1. There are: droid, '
    assert why in call("check", "openpi://nowhere:1", "--preset", "aloha", cwd=tmp_path, expect=2)
    panda = ROBOTS["panda"]
    monkeypatch.setitem(
        ROBOTS._entries, "twin", replace(panda, name="twin", groups=(*panda.arms, replace(panda.arm, name="other")))
    )
    assert "aloha" in shipped() and find_preset("aloha") == known["aloha"]


@pytest.mark.parametrize("name", FILES)
@given(seed=SEEDS)
def test_what_is_sent_comes_back(name: str, seed: int) -> None:
    assert_round_trips(in_file(name), seed)


@pytest.mark.parametrize("name", FILES)
def test_a_shipped_preset_says_what_it_is(name: str) -> None:
    preset = in_file(name)
    assert preset.name == name and len(preset.summary) > 20


def test_droid() -> None:
    preset = find_preset("droid")
    observation = seen(preset, np.random.default_rng(0))
    request = preset.request(observation, START)
    assert set(request) == {
        "observation/exterior_image_1_left", "observation/wrist_image_left",
        "observation/joint_position", "observation/gripper_position", "prompt",
    }  # fmt: skip
    for key, camera in {"exterior_image_1_left": "left", "wrist_image_left": "wrist"}.items():
        picture = request[f"observation/{key}"]
        assert picture.shape == (224, 224, 3) and picture.dtype == np.uint8
        assert not picture[:49].any() and not picture[-49:].any(), "resized with padding, not stretched"
        assert np.array_equal(picture[49:175], observation.images[camera])
    assert np.array_equal(request["observation/joint_position"], observation.state["joint_positions"])
    assert request["observation/gripper_position"] == pytest.approx(1 - observation.state["gripper_opening"])
    assert (preset.hz, preset.replan, preset.actions.space) == (15, 8, "joint_velocity")
    # 0 open, 1 closed, binarised at 0.5; a velocity of 1 is 0.2 rad in a step of 1/15 s.
    sent = np.tile(np.linspace(-1, 1, 7), (5, 1))
    actions = np.column_stack([sent, [0.0, 0.49, 0.5, 0.51, 1.0]])
    chunk = preset.chunk({"actions": actions})
    assert chunk[:, -1].tolist() == [1, 1, 1, 0, 0]
    assert close(chunk[:, :-1] / 15, sent * 0.2)


def test_libero() -> None:
    preset = find_preset("libero")
    observation = seen(preset, np.random.default_rng(0))
    request = preset.request(observation, START)
    assert set(request) == {"observation/image", "observation/wrist_image", "observation/state", "prompt"}
    for key, camera in {"image": "front", "wrist_image": "wrist"}.items():
        picture = request[f"observation/{key}"]
        assert picture.shape == (224, 224, 3) and picture.dtype == np.uint8
        # As LIBERO's simulator would have given it, upside down, and its client turned it.
        assert np.array_equal(picture, np.rot90(observation.images[camera][::-1], 2))
    state = request["observation/state"]
    pose, opening = observation.state["ee_pose"], observation.state["gripper_opening"][0]
    turn = Rotation.from_quat(pose[3:], scalar_first=True)
    assert state.shape == (8,) and state.dtype == np.float32
    assert close(state[:3], pose[:3])
    vector = turn.as_rotvec()
    past = vector * (1 - 2 * np.pi / np.linalg.norm(vector))
    assert close(state[3:6], vector if vector[0] > 0 else past)
    assert close(state[6:], [0.04 * opening, -0.04 * opening])
    assert (preset.hz, preset.replan, preset.settle_steps) == (20, 5, 10)
    assert (preset.actions.space, preset.actions.delta_from, preset.actions.delta_frame) == (
        "ee_delta", "achieved", "base",
    )  # fmt: skip
    chunk = preset.chunk({"actions": np.array([[1, -1, 0.5, 1, -1, 0.5, -1], [0, 0, 0, 0, 0, 0, 1]])})
    assert close(chunk[0], [0.05, -0.05, 0.025, 0.5, -0.5, 0.25, 1])
    assert chunk[1, -1] == 0, "+1 closes"
    assert preset.resting(4).tolist() == [[0, 0, 0, 0, 0, 0, 1]] * 4


def test_both_presets_of_libero_turn_their_pictures_alike() -> None:
    orientations = {p.orientation for name in ("libero", "gr00t_libero") for p in find_preset(name).images.values()}
    assert orientations == {"flipped_horizontal"}


def test_both_presets_of_libero_write_the_rotation_alike() -> None:
    """A hand that looks down is where the shortest rotation vector jumps."""
    openpi, gr00t = find_preset("libero"), find_preset("gr00t_libero")
    for tilt in (-0.05, 0.05):
        q = Rotation.from_euler("xyz", [np.pi + tilt, 0.02, 0.3]).as_quat(scalar_first=True)
        pose = np.concatenate([[0.5, 0.0, 0.3], q]).astype(np.float32)
        observation = replace(
            seen(gr00t, np.random.default_rng(0)),
            state={"ee_pose": pose, "gripper_opening": np.ones(1, np.float32)},
        )
        one = replace(openpi, images={}).request(observation, START)["observation/state"]
        other = replace(gr00t, images={}).request(observation, START)
        keys = ("x", "y", "z", "roll", "pitch", "yaw", "gripper")
        assert np.array_equal(one, np.concatenate([other[f"state.{key}"] for key in keys]))
        assert other["state.roll"][0] > 3


def test_aloha() -> None:
    preset = in_file("aloha")
    observation = seen(preset, np.random.default_rng(0))
    request = preset.request(observation, START)
    cameras = {"cam_high", "cam_low", "cam_left_wrist", "cam_right_wrist"}
    assert set(request) == {"state", "prompt", *(f"images.{camera}" for camera in cameras)}
    for camera in cameras:
        picture = request[f"images.{camera}"]
        assert picture.shape == (3, 224, 224) and picture.flags.c_contiguous
        assert not picture[:, :28].any() and not picture[:, -28:].any()
    assert np.array_equal(request["images.cam_high"][:, 28:196], observation.images["front"].transpose(2, 0, 1))
    # The left arm's six joints and its gripper, then the right one's.
    joints, grippers = observation.state["joint_positions"], observation.state["gripper_opening"]
    assert np.array_equal(request["state"], [*joints[:6], grippers[0], *joints[6:], grippers[1]])
    assert (preset.arms, preset.spec.action_space) == (2, "joint")
    actions = np.random.default_rng(1).random((2, 14), dtype=np.float32)
    assert np.array_equal(preset.chunk({"actions": actions}), actions)


def test_openvla() -> None:
    preset = find_preset("openvla")
    observation = seen(preset, np.random.default_rng(0))
    request = preset.request(observation, START)
    assert set(request) == {"image", "instruction"} and request["image"].shape == (224, 224, 3)
    assert preset.spec.state == () and preset.hz == 5
    angles = [0.1, -0.2, 0.15]
    chunk = preset.chunk({"actions": [0.01, 0.02, -0.03, *angles, 0.996]})
    assert close(chunk[0, :3], [0.01, 0.02, -0.03])
    assert close(chunk[0, 3:6], Rotation.from_euler("xyz", angles).as_rotvec())
    assert chunk[0, 6] == 1


def test_a_request_says_which_episode_it_is_of_only_where_the_preset_says_so() -> None:
    preset = find_preset("droid")
    observation = seen(preset, np.random.default_rng(0))
    assert EPISODE not in preset.request(observation, START)
    info = replace(preset, tells_episode=True).request(observation, START)[EPISODE]
    assert info["episode_id"] == "e" and info["step"] == 7 and info["policy_seed"] == 1


# Presets of all kinds.

# A comma in a state's key has a meaning of its own, and so has white space beside it; a point makes a map.
KEYS = (
    st.text(st.characters(codec="utf-8", exclude_characters=",."), min_size=1, max_size=12)
    .map(str.strip)
    .filter(lambda key: key not in ("", EPISODE))
)
TEXTS = st.text(st.characters(codec="utf-8"), max_size=20)
SCALES = st.floats(1e-3, 1e3)


@st.composite
def pictures(draw: st.DrawFn, camera: str) -> Picture:
    height, width = draw(st.integers(1, 40)), draw(st.integers(1, 40))
    return Picture(
        camera, height, width, draw(st.integers(0, height)), draw(st.integers(0, width)),
        orientation=draw(st.sampled_from(list(FLIPS))), layout=draw(st.sampled_from(["HWC", "CHW"])),
    )  # fmt: skip


@st.composite
def presets(draw: st.DrawFn) -> Preset:
    cameras = draw(st.lists(st.sampled_from(["front", "left", "right", "wrist"]), unique=True))
    keys = draw(st.lists(KEYS, min_size=len(cameras) + 3, max_size=len(cameras) + 3, unique=True))
    images = {keys[i]: draw(pictures(camera)) for i, camera in enumerate(cameras)}
    with_depth: bool = draw(st.booleans())
    if cameras and with_depth:
        images[keys[-1]] = replace(images[keys[0]], is_depth=True, layout="HWC")
    parts = st.lists(st.sampled_from(list(PARTS)), min_size=1, max_size=4, unique=True)
    space = draw(st.sampled_from(ACTION_SPACES))
    is_hand, is_step = space.startswith("ee_"), space == "ee_delta"
    opened, closed = draw(st.sampled_from([(1.0, 0.0), (0.0, 1.0), (-1.0, 1.0), (0.08, 0.0), (255.0, 0.0)]))
    actions = Actions(
        space=space, keys={draw(KEYS): 0}, scale_m=draw(SCALES) if is_hand else 1.0, scale_rad=draw(SCALES),
        rotation=draw(st.sampled_from(["", *ROTATIONS])) if is_hand else "",
        delta_frame=draw(st.sampled_from(["base", "tool"])) if is_step else "base",
        delta_from=draw(st.sampled_from(["commanded", "achieved"])) if is_step else "commanded",
        gripper_open=opened, gripper_closed=closed,
        gripper_is_binary=draw(st.booleans()),
    )  # fmt: skip
    return Preset(
        name=draw(KEYS), summary=draw(TEXTS), arms=draw(st.integers(1, 3)), hz=draw(st.floats(5, 60)),
        replan=draw(st.integers(0, 9)), settle_steps=draw(st.integers(0, 9)) if is_step else 0,
        prompt=draw(st.sampled_from(["", keys[-2]])), images=images, state={keys[-3]: tuple(draw(parts))},
        state_angles=draw(st.sampled_from(["radians", "degrees"])), gripper_width_m=draw(st.floats(0.01, 0.3)),
        actions=actions, tells_episode=draw(st.booleans()),
    )  # fmt: skip


@given(preset=presets())
def test_a_preset_written_as_toml_reads_back_as_it_was(preset: Preset) -> None:
    assert read_preset(tomllib.loads(as_toml(preset.as_dict()))) == preset


@pytest.mark.parametrize("name", FILES)
def test_a_shipped_preset_written_as_toml_reads_back_as_it_was(name: str, tmp_path: Path) -> None:
    path = tmp_path / f"{name}.toml"
    path.write_text(as_toml(in_file(name).as_dict(), {"hz": "a note", "actions.scale_m": "another"}))
    assert find_preset(str(path)) == in_file(name)


@given(preset=presets(), seed=SEEDS)
def test_what_any_preset_sends_comes_back(preset: Preset, seed: int) -> None:
    # Steps much larger than a scale's 1, or than a turn, would be lost in rounding or in a turn's ambiguity.
    scale_m = 0.05 + preset.actions.scale_m % 1 if preset.actions.space.startswith("ee_") else 1.0
    actions = replace(preset.actions, scale_m=scale_m, scale_rad=0.2)
    assert_round_trips(replace(preset, actions=actions), seed)


@given(seed=SEEDS, near=st.sampled_from([math.pi, 1.0, 1e-3, 1e-9, 0.0]))
@pytest.mark.parametrize("name", ROTATIONS)
def test_rotations_are_those_of_scipy(name: str, seed: int, near: float) -> None:
    """Any rotation, and those by nothing, almost nothing, and half a turn."""
    axis = np.random.default_rng(seed).normal(size=3)
    turn = Rotation.from_rotvec(near * axis / np.linalg.norm(axis))
    theirs = {
        "rotation_vector": lambda: turn.as_rotvec(),
        "euler_xyz": lambda: turn.as_euler("xyz"),
        "quaternion_wxyz": lambda: turn.as_quat(scalar_first=True),
        "quaternion_xyzw": lambda: turn.as_quat(),
        "rotation_6d_rows": lambda: turn.as_matrix()[:2].ravel(),
        "rotation_6d_columns": lambda: turn.as_matrix()[:, :2].T.ravel(),
    }[name]()
    form = ROTATIONS[name]
    w, x, y, z = turn.as_quat(scalar_first=True).tolist()
    written = form.write((w, x, y, z))
    assert len(written) == form.width == len(theirs)
    # The numbers themselves, except where there are two ways to write the same rotation.
    if near < math.pi:
        assert close(written, theirs)
    for numbers in (written, theirs):
        read = Rotation.from_quat(form.read([float(number) for number in numbers]), scalar_first=True)
        assert (read * turn.inv()).magnitude() < 1e-6


@pytest.mark.parametrize("pitch", [math.pi / 2, -math.pi / 2])
def test_euler_angles_straight_up_and_down_are_still_the_rotation(pitch: float) -> None:
    turn = Rotation.from_euler("ZYX", [0.3, pitch, 0.4])
    w, x, y, z = turn.as_quat(scalar_first=True).tolist()
    written = ROTATIONS["euler_xyz"].write((w, x, y, z))
    assert (Rotation.from_euler("xyz", written) * turn.inv()).magnitude() < 1e-5


def test_the_rotation_of_a_hand_that_looks_down_does_not_jump() -> None:
    """The shortest rotation vector does, at half a turn, which is where such hands are."""
    shortest, steady = [], []
    for tilt in np.linspace(-0.1, 0.1, 21):
        q = Rotation.from_euler("xyz", [np.pi + tilt, 0.02, 0.3]).as_quat(scalar_first=True)
        pose = np.concatenate([np.zeros(3), q]).astype(np.float32)
        shortest.append(np.asarray(PARTS["ee_rotation_vector"].write(pose, 0.08)))
        steady.append(np.asarray(PARTS["ee_rotation_vector_down"].write(pose, 0.08)))
    assert np.abs(np.diff(shortest, axis=0)).max() > 6
    assert np.abs(np.diff(steady, axis=0)).max() < 0.02


# What cannot be meant.

DROID: dict[str, Any] = find_preset("droid").as_dict()
ACTIONS: dict[str, Any] = DROID["actions"]
IMAGE = {"camera": "front"}


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"hertz": 15}, '"hertz"'),
        ({"images": {"a": {**IMAGE, "heigth": 3}}}, '"heigth"'),
        ({"images": {"a": {}}}, "camera is missing"),
        ({"images": {"a": 3}}, "a must be a table, not 3"),
        ({"images": [1]}, "images must be a table, not [1]"),
        ({"images": {"a": {**IMAGE, "height": "tall"}}}, "height must be a whole number, not 'tall'"),
        ({"images": {"a": {**IMAGE, "content_height": 300}}}, "300×224"),
        ({"images": {"a": {**IMAGE, "content_width": -1}}}, "224×-1"),
        ({"images": {"a": {**IMAGE, "height": 5000}}}, "5000"),
        ({"images": {"a": {**IMAGE, "orientation": "upside"}}}, '"upside"'),
        ({"images": {"a": {**IMAGE, "layout": "WHC"}}}, '"WHC"'),
        ({"images": {"a": IMAGE, "b": {**IMAGE, "height": 100}}}, "two sizes"),
        ({"state": {"s": ["joint_angles"]}}, '"joint_angles"'),
        ({"state": {"s": "joint_positions"}}, "'joint_positions'"),
        ({"state_angles": "grads"}, '"grads"'),
        ({"hz": "fast"}, "'fast'"),
        ({"hz": True}, "True"),
        ({"hz": 1000}, "1000"),
        ({"hz": math.nan}, "nan"),
        ({"arms": 0}, "0"),
        ({"replan": -1}, "-1"),
        ({"settle_steps": 3}, "joint_velocity"),
        ({"gripper_width_m": 0.0}, "0"),
        ({"actions": {**ACTIONS, "space": "cartesian"}}, '"cartesian"'),
        ({"actions": {**ACTIONS, "space": ["joint"]}}, "joint"),
        ({"actions": {**ACTIONS, "rotation": "matrix"}}, '"matrix"'),
        ({"actions": {**ACTIONS, "delta_frame": "camera"}}, '"camera"'),
        ({"actions": {**ACTIONS, "delta_from": "wished"}}, '"wished"'),
        ({"actions": {**ACTIONS, "gripper_open": 1.0}}, "both 1"),
        ({"actions": {**ACTIONS, "gripper_closed": math.inf}}, "inf"),
        ({"actions": {**ACTIONS, "scale_rad": 0.0}}, "0"),
        ({"actions": {**ACTIONS, "scale_m": -2.0}}, "-2"),
        ({"actions": {**ACTIONS, "keys": {}}}, "{}"),
        ({"actions": {**ACTIONS, "keys": {"a": -1}}}, "-1"),
        ({"actions": {**ACTIONS, "keys": {"a": 7, "b": 0}}}, "'b': 0"),
        ({"actions": {**ACTIONS, "keys": "actions"}}, "'actions'"),
        ({"actions": {**ACTIONS, "delta_frame": "tool"}}, "delta_frame is 'tool', but joint_velocity"),
        ({"actions": {**ACTIONS, "delta_from": "achieved"}}, "delta_from is 'achieved', but joint_velocity"),
        ({"actions": {"space": "ee_pose", "delta_from": "achieved"}}, "delta_from is 'achieved', but ee_pose"),
        ({"actions": {**ACTIONS, "rotation": "euler_xyz"}}, "rotation is 'euler_xyz', but joint_velocity"),
        ({"actions": {**ACTIONS, "scale_m": 0.05}}, "scale_m is 0.05, but joint_velocity"),
        ({"actions": {**ACTIONS, "keys": {"a": 7, "a.b": 1}}}, '"a" cannot be a value and, for "a.b", a map'),
        ({"prompt": "observation/joint_position"}, '"observation/joint_position" is the key of two things'),
        ({"images": {"a": IMAGE}, "prompt": "a"}, '"a" is the key of two things'),
        ({"images": {"a": IMAGE}, "state": {"b, a": ["finger_positions"]}}, '"a" is the key of two things'),
        ({"state": {"a, a": ["finger_positions"]}}, '"a" is the key of two things'),
        ({"state": {"a": ["ee_pose"], "a.b.c": ["base_pose"]}}, '"a" cannot be a value and, for "a.b.c", a map'),
        ({"images": {"a.b": IMAGE}, "prompt": "a"}, '"a" cannot be a value and, for "a.b", a map'),
        ({"tells_episode": True, "prompt": "robodx"}, '"robodx" is the key of two things'),
        ({"tells_episode": True, "prompt": "robodx.text"}, '"robodx" cannot be a value'),
    ],
)
def test_a_preset_that_cannot_be_meant_is_refused_by_the_value(change: dict[str, Any], named: str) -> None:
    with pytest.raises(BadPreset) as raised:
        read_preset({**DROID, **change})
    assert named in str(raised.value) and "preset droid" in str(raised.value)


def test_a_preset_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UnknownName, match=r'No preset "driod"\. Did you mean "droid"'):
        find_preset("driod")
    with pytest.raises(BadPreset, match=r"there is no preset file .*mine\.toml"):
        find_preset(str(tmp_path / "mine.toml"))
    (tmp_path / "folder.toml").mkdir()
    with pytest.raises(BadPreset, match=r"folder\.toml cannot be read"):
        find_preset(str(tmp_path / "folder.toml"))
    (tmp_path / "endless.toml").symlink_to("/dev/zero")
    with pytest.raises(UserError, match=r"endless\.toml is larger than 1 MB"):
        find_preset(str(tmp_path / "endless.toml"))


@pytest.mark.parametrize("content", [b"hz = ", b"\xff\xfe", b"[actions\n"])
def test_a_file_that_is_no_toml_is_refused(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_bytes(content)
    with pytest.raises(BadPreset, match=r"mine\.toml is no TOML"):
        find_preset(str(path))


# What servers answer.


@pytest.mark.parametrize(
    ("actions", "named"),
    [
        (np.zeros((3, 7)), r"\(3, 7\), not \(actions, 8\)"),
        (np.zeros((0, 8)), "at least one action"),
        (np.zeros((1, 2, 8)), r"\(1, 2, 8\)"),
        (np.float64(3), r"\(\)"),
        (np.full((1, 8), math.nan), "not finite"),
        (np.full((1, 8), 1e300), "not finite"),
        (np.full((1, 8), 3e38), "not finite"),
        ([[1, 2], [3]], "uneven"),
        ("go left", "go left"),
        (None, "None"),
        ([10**400] * 8, "not numbers"),
        (np.zeros((1, 8), bool), "bool"),
    ],
)
def test_actions_that_cannot_be_executed_are_the_policys_doing(actions: object, named: str) -> None:
    with pytest.raises(InvalidAction, match=named):
        find_preset("droid").chunk({"actions": actions})


def test_a_reply_without_the_key_is_no_reply() -> None:
    with pytest.raises(WireError, match=r"has no actions; it has: \['action'\]"):
        find_preset("droid").chunk({"action": np.zeros((1, 8))})


def test_several_keys_are_joined_in_their_order() -> None:
    preset = replace(find_preset("libero"), actions=Actions("ee_delta", {"arm": 6, "hand": 1}))
    chunk = commanded(preset, np.random.default_rng(0))
    reply = preset.reply(chunk)
    assert reply["arm"].shape == (3, 6) and reply["hand"].shape == (3, 1)
    assert close(preset.chunk(reply), chunk)
    with pytest.raises(InvalidAction, match="different lengths"):
        preset.chunk({"arm": np.zeros((2, 6)), "hand": np.zeros((3, 1))})


def test_what_the_server_wants_and_the_preset_does_not_have_is_named() -> None:
    preset = find_preset("droid")
    assert mismatches(preset, ServerInfo()) == []
    fits = ServerInfo(inputs={"observation/wrist_image_left": (None, 224, 3), "prompt": None}, outputs={"actions": 8})
    assert mismatches(preset, fits) == []
    wrong = mismatches(
        preset,
        ServerInfo(
            inputs={"state": (7,), "observation/wrist_image_left": (180, 320, 3)}, outputs={"actions": 7, "x": 1}
        ),
    )
    assert len(wrong) == 3
    assert "needs state" in wrong[0] and "(180, 320, 3)" in wrong[1] and "8 wide" in wrong[2]
    assert "answers action" in mismatches(preset, ServerInfo(outputs={"action": 8}))[0]


def with_actions(**fields: Any) -> Preset:
    libero = find_preset("libero")
    return replace(libero, actions=replace(libero.actions, **fields))


def with_picture(**fields: Any) -> Preset:
    libero = find_preset("libero")
    key = "observation/image"
    return replace(libero, images={**libero.images, key: replace(libero.images[key], **fields)})


LIBERO = find_preset("libero")


@pytest.mark.parametrize(
    ("preset", "words"),
    [
        (
            with_actions(gripper_open=1.0, gripper_closed=-1.0),
            "gripper_open: 1.0 in the preset, but -1.0 at the server",
        ),
        (with_actions(gripper_is_binary=False), "gripper_is_binary: False"),
        (with_actions(scale_m=1.0), "scale_m: 1.0 in the preset, but 0.05 at the server"),
        (with_actions(scale_rad=1.0), "scale_rad: 1.0"),
        (with_actions(delta_from="commanded"), "delta_from: 'commanded' in the preset, but 'achieved' at the server"),
        (with_actions(delta_frame="tool"), "delta_frame: 'tool'"),
        (with_actions(rotation="euler_xyz"), "rotation: 'euler_xyz' in the preset, but 'rotation_vector'"),
        (with_actions(keys={"actions": 8}), "the width of actions: 8 in the preset, but 7"),
        (with_actions(keys={"action": 7}), "the actions' keys: ['action'] in the preset, but ['actions']"),
        (
            replace(LIBERO, settle_steps=0, actions=Actions("joint", {"actions": 7})),
            "space: 'joint' in the preset, but 'ee_delta'",
        ),
        (with_picture(orientation="upright"), "orientation of observation/image: 'upright' in the preset"),
        (with_picture(layout="CHW"), "layout of observation/image: 'CHW' in the preset, but 'HWC'"),
        (with_picture(height=100), "the size of observation/image: (100, 224) in the preset, but (224, 224)"),
        (with_picture(content_height=126), "what is drawn of observation/image: (126, 224)"),
        (replace(LIBERO, images={}), "the images' keys: [] in the preset, but ['observation/image', "),
        (replace(LIBERO, state={"observation/state": ("ee_pose",)}), "state: {'observation/state': ('ee_pose',)}"),
        (replace(LIBERO, state_angles="degrees"), "state_angles: 'degrees' in the preset, but 'radians'"),
        (replace(LIBERO, gripper_width_m=0.1), "gripper_width_m: 0.1"),
        (replace(LIBERO, prompt="instruction"), "prompt: 'instruction' in the preset, but 'prompt' at the server"),
        (replace(LIBERO, arms=2), "arms: 2 in the preset, but 1"),
        (replace(LIBERO, hz=10.0), "hz: 10.0 in the preset, but 20.0"),
    ],
)
def test_another_preset_than_the_server_says_is_refused_with_both_sides(preset: Preset, words: str) -> None:
    assert any(one.startswith(words) for one in mismatches(preset, ServerInfo(preset=LIBERO.as_dict())))


def test_what_is_the_users_to_choose_is_no_mismatch() -> None:
    info = ServerInfo(preset=LIBERO.as_dict())
    for preset in (
        LIBERO,
        with_picture(camera="overview"),
        with_picture(content_height=224),
        with_actions(keys={"actions": 0}),
        with_actions(rotation="rotation_vector"),
        replace(LIBERO, name="mine", summary="mine", replan=1, settle_steps=0, tells_episode=True),
    ):
        assert mismatches(preset, info) == []
    needs_it = ServerInfo(preset=replace(LIBERO, tells_episode=True).as_dict())
    assert mismatches(LIBERO, needs_it) == ["tells_episode: False in the preset, but True at the server"]
    # A server that says what it needs only suggests the rest.
    assert mismatches(with_actions(scale_m=1.0), ServerInfo(preset=LIBERO.as_dict(), inputs={"prompt": None})) == []
