"""What a vla-eval server's hello says of its conventions: the beginnings of a preset, and what contradicts one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from robodx.wires.parts import PARTS
from robodx.wires.preset import Preset, keys_of
from robodx.wires.rotations import ROTATIONS as FORMS

PROMPT = "task_description"
# Servers read the state under the one name or the other.
STATES = ("states", "state")
PICTURE = "rgb_hwc_uint8"
SPACES = {"delta_xyz": "ee_delta", "absolute_xyz": "ee_pose"}
ROTATIONS = {
    "axis_angle": "rotation_vector",
    **{same: same for same in ("euler_xyz", "quaternion_xyzw", "quaternion_wxyz")},
    # No preset has it.
    "rot6d_interleaved": "",
}
# Open and closed.
GRIPPERS = {
    "binary_close_positive": (-1.0, 1.0),
    "binary_close_negative": (1.0, -1.0),
    "binary_close_01": (0.0, 1.0),
}
# What may stand in each place.
STATE_PARTS: dict[str, tuple[tuple[str, ...], ...]] = {
    # LIBERO's rotation vectors go on past half a turn.
    "eef_pos3_axisangle3_gripper2": (
        ("ee_position",), ("ee_rotation_vector_down", "ee_rotation_vector"), ("finger_positions",),
    ),
    "eef_pos3_euler3_gripper2": (("ee_position",), ("ee_euler_xyz",), ("finger_positions",)),
    "eef_pos3_quat4_gripper1": (
        ("ee_position",), ("ee_quaternion_xyzw", "ee_quaternion_wxyz"),
        ("gripper_opening", "gripper_closing", "gripper_width"),
    ),
}  # fmt: skip
JOINTS = "joint_positions"
# Those whose parts the format leaves no doubt about.
DRAFTED = {
    **{form: [some[0] for some in STATE_PARTS[form]] for form in STATE_PARTS if "quat" not in form},
    JOINTS: [JOINTS, "gripper_opening"],
}


class _Component(NamedTuple):
    """A part of an action or an observation; no numbers are said of pictures, texts and what is raw."""

    format: str
    dims: int
    range: tuple[float, ...] = ()
    # The formats that a server can convert from, where it says so.
    accepts: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.format}{f', {self.dims} numbers' if self.dims else ''}"


def draft(hello: Mapping[str, Any]) -> dict[str, Any]:
    """A preset with what the hello says; its summary names what a person has yet to find out."""
    needed = _components(hello, "observation_spec")
    actions, missing = _actions(_components(hello, "action_spec"))
    images: dict[str, Any] = {
        f"images.{_own_name(name) or 'front'}": _camera(name)
        for name, component in needed.items()
        if component.format == PICTURE
    }
    sends = _params(hello)
    # Servers take the first picture for that of the scene.
    images = images or {"images.front": {"camera": "front"}}
    if sends.get("send_wrist_image"):
        images.setdefault("images.wrist", {"camera": "wrist"})
    state: dict[str, Any] = {}
    if "state" in needed or sends.get("send_state"):
        parts = DRAFTED.get(needed["state"].format) if "state" in needed else None
        if parts is not None:
            state["states"] = parts
        else:
            missing.append("the parts of the state")
    server = str(hello.get("model_server", "a vla-eval server"))
    return {
        "name": "draft",
        "summary": f"Drafted from the hello of {server}, which does not say: {', '.join(missing)}",
        "prompt": PROMPT if not needed or "language" in needed else "",
        "images": images,
        "state": state,
        "actions": {**actions, "keys": {"actions": _width(hello) or 0}},
    }


def outputs(hello: Mapping[str, Any]) -> dict[str, int | None]:
    return {"actions": _width(hello)}


def contradictions(hello: Mapping[str, Any], preset: Preset) -> list[str]:
    """Every field that the hello declares and the preset says otherwise."""
    actions, needed = _components(hello, "action_spec"), _components(hello, "observation_spec")
    found = [*_of_actions(actions, preset), *_of_observations(needed, _params(hello), preset)]
    if found:
        found[-1] += " (if the server's greeting is wrong and the preset right: ?declared=ignore)"
    return found


def _of_actions(spec: Mapping[str, _Component], preset: Preset) -> Iterator[str]:
    ours, position, rotation = preset.actions, spec.get("position"), spec.get("rotation")
    space = "joint" if _is_joints(spec) else SPACES.get(position.format) if position is not None else None
    if space is not None and ours.space != space:
        said = "joint positions" if space == "joint" else f"position: {position}"
        yield f"the server declares actions as {said}, which is {space}, but the preset has the space {ours.space}"
    elif position is not None and ours.space.startswith("ee_") and position.dims not in (0, 3 * preset.arms):
        yield f"the server declares position: {position}, but {ours.space} in the preset has {3 * preset.arms}"
    if rotation is not None and ours.space.startswith("ee_"):
        form = ours.rotation_form
        is_other, width = ROTATIONS.get(rotation.format, form) != form, preset.arms * FORMS[form].width
        if is_other or rotation.dims not in (0, width):
            yield f"the server declares rotation: {rotation}, but the preset reads {form}, {width} numbers"
    yield from _of_gripper(spec.get("gripper"), preset)


def _of_gripper(declared: _Component | None, preset: Preset) -> Iterator[str]:
    if declared is None:
        return
    ours = (preset.actions.gripper_open, preset.actions.gripper_closed)
    has = f"but the preset has {ours[0]:g} open, {ours[1]:g} closed"
    theirs = GRIPPERS.get(declared.format)
    if theirs is not None and ours != theirs:
        means = f"{theirs[0]:g} open, {theirs[1]:g} closed"
        yield f"the server declares gripper: {declared.format}, which is {means}, {has}"
    elif theirs is None and len(declared.range) == 2 and sorted(ours) != sorted(declared.range):
        low, high = declared.range
        yield f"the server declares gripper: {declared.format}, {low:g} to {high:g}, {has}"


def _of_observations(needed: Mapping[str, _Component], params: Mapping[str, Any], preset: Preset) -> Iterator[str]:
    pictures = {name: component for name, component in needed.items() if component.format == PICTURE}
    sent = {key: picture for key, picture in preset.images.items() if key.startswith("images.")}
    # By these words a second picture is asked for.
    also = ["send_wrist_image"] if params.get("send_wrist_image") else []
    count, wants = max(len(pictures), 2 * len(also)), ", ".join([*pictures, *also])
    sends = ", ".join(preset.images) or "none"
    named = [f"images.{name}" for name in pictures if _own_name(name) == name]
    if len(sent) < count or any(key not in sent for key in named):
        keys = ", ".join(named) or f"{count} under images.NAME"
        yield f"the server declares the pictures {wants}: it reads {keys}, but the preset sends {sends}"
    for key, picture in sent.items():
        if pictures and (picture.is_depth or picture.layout != "HWC"):
            kind = "depth" if picture.is_depth else picture.layout
            yield f"the server declares {PICTURE} pictures, but the preset sends {key} as {kind}"
    if "language" in needed and preset.prompt != PROMPT:
        sends = f"the instruction as {preset.prompt}" if preset.prompt else "no instruction"
        yield f"the server declares language: it reads {PROMPT}, but the preset sends {sends}"
    if "state" in needed or params.get("send_state"):
        yield from _of_state(needed.get("state"), preset)
    for name in params:
        if name.startswith("send_") and params[name] and name not in ("send_state", "send_wrist_image"):
            yield f"the server asks for {name}, which RoboDx does not have"


def _of_state(declared: _Component | None, preset: Preset) -> Iterator[str]:
    says = f"the server declares state: {declared}" if declared is not None else "the server asks for send_state"
    parts = next((parts for key, parts in preset.state.items() if set(keys_of(key)) & set(STATES)), None)
    if parts is None:
        sends = f"the state as {', '.join(preset.state)}" if preset.state else "no state"
        yield f"{says}: it reads {' or '.join(STATES)}, but the preset sends {sends}"
        return
    if declared is None:
        return
    is_one = [_is_state(form, parts) for form in declared.accepts or (declared.format,)]
    widths = [PARTS[part].width for part in parts]
    wide = None if None in widths else preset.arms * sum(width or 0 for width in widths)
    if not any(is_one) or (wide and not declared.accepts and declared.dims not in (0, wide)):
        yield f"{says}, but the preset sends {', '.join(parts)}{f', {wide} numbers' if wide else ''}"


def _is_state(form: str, parts: Sequence[str]) -> bool:
    """Whether a vector of these parts can be of that format; of one that is not known, it can."""
    if form == JOINTS:
        return JOINTS in parts
    places = STATE_PARTS.get(form)
    if places is None:
        return True
    return len(parts) == len(places) and all(part in some for part, some in zip(parts, places, strict=True))


def _actions(spec: Mapping[str, _Component]) -> tuple[dict[str, Any], list[str]]:
    known: dict[str, Any] = {"space": "ee_delta"}
    # The protocol has no words for these.
    missing = ["the rate (hz)", "the cameras' sizes"]
    formats = {name: component.format for name, component in spec.items()}
    is_joints = _is_joints(spec)
    if is_joints:
        known["space"] = "joint"
    elif formats.get("position") in SPACES:
        known["space"] = SPACES[formats["position"]]
        missing.append("the metres and radians that a 1 stands for (scale_m, scale_rad)")
    else:
        missing += ["the action space", "the metres and radians that a 1 stands for (scale_m, scale_rad)"]
    # Of joints there is none, whatever is said besides.
    if ROTATIONS.get(formats.get("rotation", "")) and not is_joints:
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


def _is_joints(spec: Mapping[str, _Component]) -> bool:
    return any(JOINTS in component.format for component in spec.values())


def _own_name(picture: str) -> str:
    """Without being called an image. One that is called nothing but that is read by its place, not by its name."""
    return picture.removesuffix("s").removesuffix("image").removesuffix("_") if "image" in picture else picture


def _params(hello: Mapping[str, Any]) -> dict[str, Any]:
    params = hello.get("observation_params")
    return (
        {name: value for name, value in params.items() if isinstance(name, str)} if isinstance(params, Mapping) else {}
    )


def _camera(name: str) -> dict[str, str]:
    return {"camera": "wrist" if "wrist" in name else "front"}


def _components(hello: Mapping[str, Any], spec: str) -> dict[str, _Component]:
    content = hello.get(spec)
    components = {}
    for name, one in content.items() if isinstance(content, Mapping) else ():
        form, dims = (one.get("format"), one.get("dims")) if isinstance(one, Mapping) else (None, None)
        if isinstance(name, str) and isinstance(form, str) and type(dims) is int:
            components[name] = _Component(
                form, dims, _all(one.get("range"), int | float), _all(one.get("accepts"), str)
            )
    return components


def _all(said: object, kind: Any) -> tuple[Any, ...]:
    """A list, if it is one of nothing else."""
    some = said if isinstance(said, list | tuple) else ()
    return tuple(some) if all(isinstance(one, kind) for one in some) else ()
