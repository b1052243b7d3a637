"""What a LeRobot checkpoint says of itself: what it needs and answers, and a preset for a person to complete."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from robodx.wires.base import ServerInfo, WireError
from robodx.wires.preset import EPISODE
from robodx.wires.quoting import quote

# The key of a description in a greeting.
LEROBOT = "lerobot"
STATE, ACTION, TASK = "observation.state", "action", "task"
# A camera of ours by the last part of what theirs is called; a person checks those that are not called the same.
OURS = ("front", "left", "right", "back_left", "back_right", "wrist", "head", "overview")
GUESSED = {
    **dict.fromkeys(("image", "top", "agentview", "cam_high", "camera1", "laptop", "base_0_rgb"), "front"),
    **dict.fromkeys(("image2", "wrist_image", "eye_in_hand", "gripper", "camera2", "phone", "hand"), "wrist"),
}
# By the widths of state and action, for one arm of seven joints.
GUESSES: dict[tuple[int, int], tuple[list[str], str]] = {
    (8, 8): (["joint_positions", "gripper_opening"], "joint"),
    # LIBERO's.
    (8, 7): (["ee_position", "ee_rotation_vector_down", "finger_positions"], "ee_delta"),
    (7, 7): (["ee_position", "ee_rotation_vector", "gripper_opening"], "ee_delta"),
    (7, 8): (["joint_positions"], "joint"),
}


def server_info(greeting: Mapping[str, Any]) -> ServerInfo:
    """From the greeting of our script, or of a checkpoint in this process."""
    about = greeting.get(LEROBOT)
    try:
        assert isinstance(about, Mapping)
        inputs = {str(key): _shape(kind, shape) for key, (kind, shape) in about["inputs"].items()}
        outputs = {str(key): int(shape[0]) for key, (_, shape) in about["outputs"].items()}
        is_told_words, looks_back = bool(about["uses_language"]), bool(about["looks_back"])
        executed = max(1, int(about["n_action_steps"]))
    except (AssertionError, LookupError, TypeError, ValueError, AttributeError) as error:
        raise WireError(f"this is no description of a LeRobot checkpoint: {quote(about)}") from error
    needed: dict[str, tuple[int | None, ...] | None] = {**inputs}
    if is_told_words:
        needed[TASK] = None
    # It keeps its past by episode, and must know of which one a request is.
    if looks_back:
        needed[EPISODE] = None
    draft = _draft(
        inputs, outputs, str(about.get("type")), TASK if is_told_words else "", replan=1 if looks_back else executed
    )
    return ServerInfo(about=greeting, draft=draft, inputs=needed, outputs=outputs)


def _shape(kind: str, shape: list[int]) -> tuple[int, ...]:
    """Pictures have their channels last on the wire."""
    sizes = tuple(int(size) for size in shape)
    return (*sizes[1:], sizes[0]) if kind == "VISUAL" and len(sizes) == 3 else sizes


def _draft(
    inputs: Mapping[str, tuple[int, ...]], outputs: Mapping[str, int], kind: str, prompt: str, *, replan: int
) -> dict[str, Any]:
    unknown = ["hz", "the gripper's numbers"]
    images: dict[str, Any] = {}
    for key, shape in inputs.items():
        if len(shape) != 3:
            continue
        name = key.rpartition(".")[2]
        camera = _camera(name, {picture["camera"] for picture in images.values()})
        images[key] = {"camera": camera, "height": shape[0], "width": shape[1]}
        if name != camera:
            unknown.append(f"the camera of {key}")
    # What is neither a picture nor the robot's state, RoboDx does not have: it is then named as missing.
    width = inputs[STATE][0] if STATE in inputs else 0
    action = next(iter(outputs.values()), 0)
    parts, space = GUESSES.get((width, action), (["joint_positions"], "joint"))
    unknown.append("the action space" if (width, action) in GUESSES else "the state's parts and the action space")
    return {
        "name": "draft",
        "summary": f"drafted from an {kind} checkpoint: check every line; to be completed: {', '.join(unknown)}",
        "hz": 20.0,
        "replan": replan,
        "prompt": prompt,
        "images": images,
        "state": {STATE: parts} if width else {},
        "actions": {"space": space, "keys": dict(outputs), "gripper_open": 1.0, "gripper_closed": 0.0},
        # The checkpoint's noise is then drawn from the trial's seed.
        "tells_episode": True,
    }


def _camera(name: str, taken: set[str]) -> str:
    """Of several pictures, each from a camera of its own, while there are any."""
    guess = name if name in OURS else GUESSED.get(name, "wrist" if "wrist" in name else "front")
    return next((camera for camera in (guess, *OURS) if camera not in taken), guess)
