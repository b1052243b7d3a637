"""What a vla-eval server's hello says of its conventions, as the beginnings of a preset."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

PICTURE = "rgb_hwc_uint8"
SPACES = {"delta_xyz": "ee_delta", "absolute_xyz": "ee_pose"}
ROTATIONS = {"axis_angle": "rotation_vector", "euler_xyz": "euler_xyz", "quaternion_xyzw": "quaternion_xyzw"}
# Open and closed.
GRIPPERS = {
    "binary_close_positive": (-1.0, 1.0),
    "binary_close_negative": (1.0, -1.0),
    "binary_close_01": (0.0, 1.0),
}
# Not eef_pos3_quat4_gripper1, which does not say the order of its quaternion.
STATES = {
    # LIBERO's, whose rotation vectors go on past half a turn.
    "eef_pos3_axisangle3_gripper2": ["ee_position", "ee_rotation_vector_down", "finger_positions"],
    "eef_pos3_euler3_gripper2": ["ee_position", "ee_euler_xyz", "finger_positions"],
    "joint_positions": ["joint_positions", "gripper_opening"],
}


class _Component(NamedTuple):
    """A part of an action or an observation; no numbers are said of pictures, texts and what is raw."""

    format: str
    dims: int


def draft(hello: Mapping[str, Any]) -> dict[str, Any]:
    """A preset with what the hello says; its summary names what a person has yet to find out."""
    needed, params = _components(hello, "observation_spec"), hello.get("observation_params")
    actions, missing = _actions(_components(hello, "action_spec"))
    images: dict[str, Any] = {
        f"images.{name.removesuffix('image').removesuffix('_') or 'front'}": _camera(name)
        for name, component in needed.items()
        if component.format == PICTURE
    }
    sends = params if isinstance(params, Mapping) else {}
    # Servers take the first picture for that of the scene.
    images = images or {"images.front": {"camera": "front"}}
    if sends.get("send_wrist_image"):
        images.setdefault("images.wrist", {"camera": "wrist"})
    state: dict[str, Any] = {}
    if "state" in needed or sends.get("send_state"):
        parts = STATES.get(needed["state"].format) if "state" in needed else None
        if parts is not None:
            state["states"] = parts
        else:
            missing.append("the parts of the state")
    server = str(hello.get("model_server", "a vla-eval server"))
    return {
        "name": "draft",
        "summary": f"Drafted from the hello of {server}, which does not say: {', '.join(missing)}",
        "prompt": "task_description" if not needed or "language" in needed else "",
        "images": images,
        "state": state,
        "actions": {**actions, "keys": {"actions": _width(hello) or 0}},
    }


def outputs(hello: Mapping[str, Any]) -> dict[str, int | None]:
    return {"actions": _width(hello)}


def _actions(spec: Mapping[str, _Component]) -> tuple[dict[str, Any], list[str]]:
    known: dict[str, Any] = {"space": "ee_delta"}
    # The protocol has no words for these.
    missing = ["the rate (hz)", "the cameras' sizes"]
    formats = {name: component.format for name, component in spec.items()}
    is_joints = any(form.startswith("joint_positions") for form in formats.values())
    if is_joints:
        known["space"] = "joint"
    elif formats.get("position") in SPACES:
        known["space"] = SPACES[formats["position"]]
        missing.append("the metres and radians that a 1 stands for (scale_m, scale_rad)")
    else:
        missing += ["the action space", "the metres and radians that a 1 stands for (scale_m, scale_rad)"]
    # Of joints there is none, whatever is said besides.
    if formats.get("rotation") in ROTATIONS and not is_joints:
        known["rotation"] = ROTATIONS[formats["rotation"]]
    elif not is_joints:
        missing.append("the form of rotations")
    if known["space"] == "ee_delta":
        missing.append("what steps start from (delta_from, delta_frame)")
    if formats.get("gripper") in GRIPPERS:
        known["gripper_open"], known["gripper_closed"] = GRIPPERS[formats["gripper"]]
        known["gripper_is_binary"] = True
    else:
        missing.append("which numbers open and close the gripper")
    return known, missing


def _width(hello: Mapping[str, Any]) -> int | None:
    """Of an action. Some servers declare their gripper alone, though they answer more."""
    spec = _components(hello, "action_spec")
    if not set(spec) - {"gripper"} or not all(component.dims > 0 for component in spec.values()):
        return None
    return sum(component.dims for component in spec.values())


def _camera(name: str) -> dict[str, str]:
    return {"camera": "wrist" if "wrist" in name else "front"}


def _components(hello: Mapping[str, Any], spec: str) -> dict[str, _Component]:
    content = hello.get(spec)
    components = {}
    for name, one in content.items() if isinstance(content, Mapping) else ():
        form, dims = (one.get("format"), one.get("dims")) if isinstance(one, Mapping) else (None, None)
        if isinstance(name, str) and isinstance(form, str) and type(dims) is int:
            components[name] = _Component(form, dims)
    return components
