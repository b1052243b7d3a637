"""What a GR00T server says of itself: which form it speaks, what it needs and answers, a preset to be completed."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

from robodx.wires.base import ServerInfo, WireError
from robodx.wires.preset import EPISODE, Preset, keys_of
from robodx.wires.quoting import quote

# A camera of ours by what theirs is called, and so on: guesses for a draft, which a person checks.
CAMERAS = {
    **{name: name for name in ("front", "left", "right", "back_left", "back_right", "wrist", "head", "overview")},
    "image": "front", "wrist_image": "wrist", "wrist_image_left": "wrist", "exterior_image_1_left": "left",
    "exterior_image_2_left": "right", "front_view": "front", "wrist_view": "wrist", "left_view": "left",
    "right_view": "right", "left_wrist": "left_wrist", "right_wrist": "right_wrist",
}  # fmt: skip
STATE = {
    **dict.fromkeys(("joint_position", "joint_positions", "joints", "single_arm", "arm"), "joint_positions"),
    **dict.fromkeys(("joint_velocity", "joint_velocities"), "joint_velocities"),
    **dict.fromkeys(("gripper", "gripper_position", "gripper_opening"), "gripper_opening"),
    **dict.fromkeys(("eef_position", "ee_position", "end_effector_position"), "ee_position"),
    **dict.fromkeys(("eef_rotation", "ee_rotation", "end_effector_rotation"), "ee_rotation_vector"),
    **{"ee_pose": "ee_pose", "eef_pose": "ee_pose"},
}
# Keys of one number each that belong together: LIBERO's, where roll, pitch and yaw are a rotation vector.
TRIPLES = {("x", "y", "z"): "ee_position", ("roll", "pitch", "yaw"): "ee_rotation_vector_down"}
WIDTHS = {
    **dict.fromkeys(("joint_position", "joint_positions", "joints", "single_arm", "arm"), 7),
    **dict.fromkeys(("joint_velocity", "joint_velocities"), 7),
    **dict.fromkeys(("gripper", "gripper_position", "gripper_opening"), 1),
    **dict.fromkeys(("x", "y", "z", "roll", "pitch", "yaw"), 1),
    **dict.fromkeys(("eef_position", "ee_position", "end_effector_position"), 3),
    **dict.fromkeys(("eef_rotation", "ee_rotation", "end_effector_rotation"), 3),
}


class Modality(NamedTuple):
    names: tuple[str, ...]  # without "video." and so on
    steps: int  # how many moments are wanted, or answered


class Config(NamedTuple):
    video: Modality
    state: Modality
    action: Modality
    language: Modality
    is_n1_5: bool


def read_config(reply: object) -> Config | None:
    """From the reply to get_modality_config, with or without the wrapping of GR00T's own types; None if it is empty."""
    if not isinstance(reply, Mapping):
        raise WireError(f"the server's modality config is {quote(reply)}, not a map")
    if not any(name in reply for name in ("video", "state", "action")):
        return None
    read = {name: _read(name, reply.get(name)) for name in ("video", "state", "action", "language")}
    prefixed = [key for name in ("video", "state", "action") for key in read[name].names if key.startswith(f"{name}.")]
    plain = {
        name: Modality(tuple(key.removeprefix(f"{name}.") for key in modality.names), modality.steps)
        for name, modality in read.items()
    }
    return Config(**plain, is_n1_5=bool(prefixed))


def server_info(reply: Mapping[str, Any], config: Config | None) -> ServerInfo:
    """What is known before the first step."""
    own = reply.get(EPISODE)
    preset = own.get("preset") if isinstance(own, Mapping) else None
    about: Mapping[str, Any] = reply
    if config is not None:
        shown = {name: getattr(config, name) for name in ("video", "state", "action", "language")}
        about = {name: {"keys": list(one.names), "steps": one.steps} for name, one in shown.items()}
    if isinstance(preset, Mapping):
        return ServerInfo(about=about, preset=preset)
    if config is None:
        return ServerInfo(about=about)
    # More than one moment is more than RoboDx sends: it then shows as a dimension that the preset does not have.
    seen, felt = ((modality.steps,) if modality.steps != 1 else () for modality in (config.video, config.state))
    return ServerInfo(
        about=about,
        draft=_draft(config),
        inputs={
            **{f"video.{name}": (*seen, None, None, 3) for name in config.video.names},
            **{f"state.{name}": (*felt, None) for name in config.state.names},
            **dict.fromkeys(config.language.names),
        },
        outputs={f"action.{name}": None for name in config.action.names},
    )


def as_config(preset: Preset, about: Mapping[str, Any]) -> dict[str, Any]:
    """A server of ours in these words: N1.6's wrapping, and the preset itself for clients of ours."""

    def modality(keys: list[str]) -> dict[str, Any]:
        names = [key.partition(".")[2] for key in keys]
        return {"__ModalityConfig_class__": True, "as_json": {"delta_indices": [0], "modality_keys": names}}

    language = {"delta_indices": [0], "modality_keys": [preset.prompt] if preset.prompt else []}
    return {
        "video": modality(list(preset.images)),
        "state": modality([name for key in preset.state for name in keys_of(key)]),
        "action": modality(list(preset.actions.keys)),
        "language": {"__ModalityConfig_class__": True, "as_json": language},
        **about,
    }


def _read(name: str, content: object) -> Modality:
    if isinstance(content, Mapping) and "as_json" in content:
        content = content["as_json"]
        if isinstance(content, str | bytes):
            try:
                content = json.loads(content)
            except (ValueError, RecursionError) as error:
                raise WireError(f"the server's modality config has {name} as {quote(content)}: {error}") from error
    if content is None:
        return Modality((), 1)
    names = content.get("modality_keys") if isinstance(content, Mapping) else None
    steps = content.get("delta_indices", [0]) if isinstance(content, Mapping) else None
    if (
        not isinstance(names, list) or not all(isinstance(key, str) for key in names)
        or not isinstance(steps, list) or not steps
    ):  # fmt: skip
        raise WireError(f"the server's modality config has {name} as {quote(content)}, not keys and delta indices")
    return Modality(tuple(names), len(steps))


def _draft(config: Config) -> dict[str, Any]:
    """A preset with what is known; the summary says what is not."""
    unknown = []
    for name in config.video.names:
        if name not in CAMERAS:
            unknown.append(f"the camera of video.{name}")
    state: dict[str, list[str]] = {}
    names = list(config.state.names)
    for triple, part in TRIPLES.items():
        if set(triple) <= set(names):
            state[", ".join(f"state.{name}" for name in triple)] = [part]
            names = [name for name in names if name not in triple]
    for name in names:
        state[f"state.{name}"] = [STATE.get(name, "joint_positions")]
        if name not in STATE:
            unknown.append(f"what state.{name} holds")
    widths = {f"action.{name}": WIDTHS.get(name, 0) for name in config.action.names}
    unknown += [f"the width of {key}" for key, width in widths.items() if not width]
    return {
        "name": "draft",
        "summary": "; ".join(
            [
                "drafted from the server's modality config; guessed, for it does not say: the pictures' size, the "
                "rate, what the actions are and how wide, and which numbers open and close the gripper",
                *(["to be completed: " + ", ".join(unknown)] if unknown else []),
            ]
        ),
        "hz": 20.0,
        "replan": min(8, config.action.steps),
        "prompt": config.language.names[0] if config.language.names else "",
        "images": {
            f"video.{name}": {"camera": CAMERAS.get(name, "front"), "height": 224, "width": 224}
            for name in config.video.names
        },
        "state": state,
        "actions": {"space": _space(config.action.names), "keys": widths, "gripper_open": 1.0, "gripper_closed": 0.0},
    }


def _space(names: tuple[str, ...]) -> str:
    if any(name.startswith("joint_veloc") for name in names):
        return "joint_velocity"
    if {"x", "y", "z"} <= set(names):
        return "ee_delta"
    is_hand = any(name.startswith(("ee", "end_effector")) for name in names)
    return "ee_pose" if is_hand and not any("joint" in name for name in names) else "joint"
