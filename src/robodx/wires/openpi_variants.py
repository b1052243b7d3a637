"""What differs between openpi's servers and those derived from them: greeting, envelope, the start of an episode."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np

from robodx.errors import UserError
from robodx.registry import UnknownName, unknown
from robodx.wires import lerobot_features
from robodx.wires.base import Address, Reply, Request, ServerInfo, WireError, failure_of
from robodx.wires.lerobot_features import LEROBOT
from robodx.wires.messages import flatten, nest
from robodx.wires.preset import EPISODE
from robodx.wires.preset_files import find_preset
from robodx.wires.quoting import quote

Message = Mapping[str, Any]


class RequestFailed(WireError):
    """The server could not answer this one request; the others on the connection are not concerned."""


class Variant(Protocol):
    """One way of putting requests and replies into messages. `number` tells the requests of a connection apart."""

    # Whether a server that remembers knows of which episode a request is. Those that remember nothing need not.
    @property
    def tells_episodes_apart(self) -> bool: ...

    def server_info(self) -> ServerInfo: ...

    def reset(self, episode_id: str) -> Message | None:
        """What is to be sent when an episode begins; None if the server knows no episodes."""

    def wrap(self, request: Request, episode_id: str, number: int) -> Message: ...

    def unwrap(self, message: object, number: int) -> Reply: ...


class Plain:
    """openpi's own: the observation as it is, a map with `actions` back."""

    tells_episodes_apart = True

    def __init__(self, greeting: Message, address: Address) -> None:
        self._greeting, self._address = greeting, address

    def server_info(self) -> ServerInfo:
        if LEROBOT in self._greeting:
            return lerobot_features.server_info(self._greeting)
        own = self._greeting.get(EPISODE)
        preset = own.get("preset") if isinstance(own, Mapping) else None
        return ServerInfo(about=self._greeting, preset=preset if isinstance(preset, Mapping) else None)

    def reset(self, episode_id: str) -> Message | None:
        return None

    def wrap(self, request: Request, episode_id: str, number: int) -> Message:
        return nest(request)

    def unwrap(self, message: object, number: int) -> Reply:
        return flatten(as_map(message, f"the reply of {self._address}"))


class RoboArena:
    """A greeting that says which pictures and actions the server wants; requests say which endpoint they are for."""

    def __init__(self, greeting: Message, address: Address) -> None:
        self._greeting, self._address = greeting, address

    def server_info(self) -> ServerInfo:
        if not is_roboarena(self._greeting):
            return ServerInfo(about=self._greeting)
        wanted = self._wanted()
        height, width = wanted["image_resolution"] or (None, None)
        keys = [*self._cameras(wanted["n_external_cameras"], wanted["needs_wrist_camera"])]
        if wanted["needs_stereo_camera"]:
            keys += [key.removesuffix("left") + "right" for key in keys]
        inputs: dict[str, tuple[int | None, ...] | None] = {key: (height, width, 3) for key in keys}
        inputs |= {"observation/joint_position": (7,), "observation/gripper_position": (1,), "prompt": None}
        draft = self._draft(wanted)
        # RoboDx has no second lens to a camera, and what other numbers would mean is not known.
        is_enough = not wanted["needs_stereo_camera"] and wanted["action_space"] in ("joint_position", "joint_velocity")
        return ServerInfo(self._greeting, draft if is_enough else None, draft, inputs, {"actions": 8})

    @property
    def tells_episodes_apart(self) -> bool:
        return bool(self._greeting.get("needs_session_id"))

    def reset(self, episode_id: str) -> Message | None:
        return {"endpoint": "reset", **self._session(episode_id)}

    def wrap(self, request: Request, episode_id: str, number: int) -> Message:
        return {**nest(request), "endpoint": "infer", **self._session(episode_id)}

    def unwrap(self, message: object, number: int) -> Reply:
        """The actions alone, or in a map."""
        if isinstance(message, np.ndarray):
            return {"actions": message}
        return flatten(as_map(message, f"the reply of {self._address}"))

    def _session(self, episode_id: str) -> Message:
        return {"session_id": episode_id} if self.tells_episodes_apart else {}

    def _wanted(self) -> dict[str, Any]:
        """The greeting's config with its defaults, checked."""
        wanted = {
            "image_resolution": None, "needs_wrist_camera": True, "n_external_cameras": 1,
            "needs_stereo_camera": False, "action_space": "joint_position", **self._greeting,
        }  # fmt: skip
        size, count = wanted["image_resolution"], wanted["n_external_cameras"]
        is_size = isinstance(size, list | tuple) and len(size) == 2 and all(type(n) is int and n > 0 for n in size)
        if (size is not None and not is_size) or type(count) is not int or not 0 <= count <= 2:
            raise UserError(
                f"the RoboArena server at {self._address} asks for {quote(count)} outer cameras of {quote(size)}: "
                "0 to 2 of (height, width) can be sent"
            )
        return wanted

    def _cameras(self, outer: int, has_wrist: bool) -> dict[str, str]:
        # RoboArena's evaluators count from 1, as DROID does, some servers from 0.
        first = int(self._address.options.get("first_camera", "1"))
        keys = {f"observation/exterior_image_{first + i}_left": ("left", "right")[i] for i in range(outer)}
        return {**keys, "observation/wrist_image_left": "wrist"} if has_wrist else keys

    def _draft(self, wanted: Mapping[str, Any]) -> dict[str, Any]:
        """The droid preset, with the pictures and the action space that the server wants."""
        droid = find_preset("droid").as_dict()
        # Of a server that takes any size: what RoboArena's evaluators send.
        height, width = wanted["image_resolution"] or (288, 512)
        size = {
            "height": height, "width": width,
            "content_height": min(height, width * 9 // 16), "content_width": min(width, height * 16 // 9),
        }  # fmt: skip
        actions = dict(droid["actions"])
        if wanted["action_space"] == "joint_position":
            actions["space"] = "joint"
            del actions["scale_rad"]
        cameras = self._cameras(wanted["n_external_cameras"], wanted["needs_wrist_camera"])
        return {
            **droid,
            "name": "roboarena",
            "summary": f"RoboArena: {wanted['action_space']}, as the server at {self._address} says",
            "images": {key: {"camera": camera, **size} for key, camera in cameras.items()},
            "state": {**droid["state"], "observation/cartesian_position": ["ee_position", "ee_euler_xyz"]},
            "actions": actions,
            # All of a chunk is executed there.
            "replan": 0,
        }


class StarVla:
    """Requests and replies in numbered envelopes; an example's pictures are a list, actions come as a batch of one."""

    tells_episodes_apart = True

    def __init__(self, greeting: Message, address: Address) -> None:
        self._greeting, self._address = greeting, address

    def server_info(self) -> ServerInfo:
        width = self._greeting.get("model_action_dim")
        width = width if type(width) is int and width > 0 else 0
        size = self._greeting.get("action_chunk_size")
        draft = {
            "name": "starvla",
            "replan": size if type(size) is int and size > 0 else 0,
            "prompt": "lang",
            "images": {"image.0": {"camera": "front"}, "image.1": {"camera": "wrist"}},
            "actions": {"space": "ee_delta", "keys": {"actions": width}},
        }
        return ServerInfo(self._greeting, None, draft, {"lang": None}, {"actions": width or None})

    def reset(self, episode_id: str) -> Message | None:
        return None

    def wrap(self, request: Request, episode_id: str, number: int) -> Message:
        example = nest(request)
        if isinstance(example.get("image"), dict):
            example["image"] = list(example["image"].values())
        payload: dict[str, Any] = {"examples": [example]}
        if "unnorm_key" in self._address.options:
            payload["unnorm_key"] = self._address.options["unnorm_key"]
        return {"type": "infer", "request_id": str(number), "payload": payload}

    def unwrap(self, message: object, number: int) -> Reply:
        reply = as_map(message, f"the reply of {self._address}")
        if reply.get("request_id") != str(number):
            raise WireError(
                f"the server at {self._address} answered request {quote(reply.get('request_id'))}, not {number}"
            )
        if reply.get("ok") is not True:
            error = reply.get("error")
            text = error.get("message") if isinstance(error, Mapping) else error
            status = quote(reply.get("status"))
            said = text if isinstance(text, str) else quote(error)
            raise failure_of(f"{self._address} (status {status})", said, RequestFailed)
        data = dict(as_map(reply.get("data"), f"the data of {self._address}"))
        actions = data.get("actions")
        if isinstance(actions, np.ndarray) and actions.ndim == 3 and len(actions) == 1:
            data["actions"] = actions[0]
        return flatten(data)


VARIANTS: dict[str, type[Plain] | type[RoboArena] | type[StarVla]] = {
    "openpi": Plain, "roboarena": RoboArena, "starvla": StarVla,
}  # fmt: skip
# What a server's address may say besides.
OPTIONS = ("variant", "unnorm_key", "first_camera")


def check_options(address: Address) -> None:
    variant = address.options.get("variant")
    if variant is not None and variant not in VARIANTS:
        raise UnknownName(unknown("variant of openpi", variant, VARIANTS))
    first = address.options.get("first_camera", "1")
    if first not in ("0", "1"):
        raise UserError(f'first_camera must be 0 or 1, not "{first}"')


def variant_of(greeting: Message, address: Address) -> Variant:
    """The variant that the address names, or else the one that the server's greeting is of."""
    name = address.options.get("variant")
    if name is None and EPISODE not in greeting:
        name = "roboarena" if is_roboarena(greeting) else "starvla" if "action_chunk_size" in greeting else None
    return VARIANTS[name or "openpi"](greeting, address)


def is_roboarena(greeting: Message) -> bool:
    return "needs_wrist_camera" in greeting and "n_external_cameras" in greeting


def as_map(message: object, what: str) -> Message:
    if not isinstance(message, dict) or not all(isinstance(key, str) for key in message):
        raise RequestFailed(f"{what} is {quote(message)}, not a map of names")
    return message
