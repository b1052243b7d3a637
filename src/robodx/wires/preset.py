"""Presets: a policy server's conventions as declared data, which map observations to its keys and its actions back."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields, replace
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from robodx.errors import UserError
from robodx.output import shortened
from robodx.policy_contract import ActionChunk, CameraRequest, EpisodeStart, Observation, PolicySpec
from robodx.registry import unknown
from robodx.spaces import ACTION_SPACES, DELTA_FRAMES, DELTA_FROM, InvalidAction
from robodx.wires.actions import Actions
from robodx.wires.base import Names, Reply, Request, WireError
from robodx.wires.calibrations import write_cameras
from robodx.wires.messages import MAX_NAME, numbers_of
from robodx.wires.parts import PARTS, Angles, read_state, write_state
from robodx.wires.pictures import Channels, Layout, Orientation, Picture
from robodx.wires.quoting import quote
from robodx.wires.rotations import ROTATIONS

# Under this key RoboDx tells its own servers which episode and which step a request is of.
EPISODE = "robodx"

# A scale beyond this is no scale, and would be 0 or infinite in float32.
TINY = 1e-12
MAX_STEPS = 100_000


class BadPreset(UserError):
    """A preset that cannot be meant; the message names the field, its value and the valid ones."""


@dataclass(frozen=True)
class Preset:
    """All that must be agreed with a server before the first step."""

    name: str
    summary: str = ""
    arms: int = 1
    hz: float = 20.0
    # Actions of a chunk that are executed before the next query; 0: all of them.
    replan: int = 0
    # Steps at the start in which the arm stands still with an open gripper, and the server is not asked.
    settle_steps: int = 0
    # The key of the instruction; "" for a policy without language.
    prompt: str = "prompt"
    images: Mapping[str, Picture] = field(default_factory=dict)
    # Vectors by key, each of parts one after the other. Several keys with commas share a vector equally.
    state: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    state_angles: Angles = "radians"
    gripper_width_m: float = 0.08
    actions: Actions = field(default_factory=Actions)
    # Whether requests say which episode and step they are of, as RoboDx's own servers like to know.
    tells_episode: bool = False

    def __post_init__(self) -> None:
        _check(self)

    @property
    def spec(self) -> PolicySpec:
        cameras: dict[str, CameraRequest] = {}
        for picture in self.images.values():
            height, width = picture.content
            known = cameras.get(picture.camera)
            if known is not None and (known.height, known.width) != (height, width):
                raise BadPreset(f"preset {self.name} asks for the camera {picture.camera} in two sizes")
            depth = picture.is_depth or (known is not None and known.depth)
            cameras[picture.camera] = CameraRequest(picture.camera, height, width, depth=depth)
        needed = {PARTS[part].of for parts in self.state.values() for part in parts}
        return PolicySpec(
            action_space=self.actions.space,
            delta_frame=self.actions.delta_frame,
            delta_from=self.actions.delta_from,
            cameras=tuple(cameras.values()),
            state=tuple(sorted(needed)),
            hz=self.hz,
            uses_language=bool(self.prompt),
            replan=self.replan or None,
            action_width=self._action_width(),
            settle_steps=self.settle_steps,
        )

    # The client's side.

    def request(self, observation: Observation, start: EpisodeStart | None) -> Request:
        """What the server is sent, flat."""
        request: dict[str, Any] = {}
        for key, picture in self.images.items():
            source = observation.depth if picture.is_depth else observation.images
            request[key] = picture.write(source[picture.camera])
        for key, parts in self.state.items():
            vector = write_state(
                parts, observation.state, arms=self.arms, angles=self.state_angles, widest_m=self.gripper_width_m
            )
            names = keys_of(key)
            request.update(zip(names, np.split(vector, len(names)), strict=True))
        if self.prompt:
            request[self.prompt] = observation.instruction
        if self.tells_episode and start is not None:
            request[EPISODE] = {
                "trial_id": start.episode_id, "episode_id": observation.episode_id,
                "step": observation.step, "time_s": observation.time_s,
                "policy_seed": start.policy_seed, "task": start.task, "robot": start.robot,
                "situation_seed": start.situation_seed, "repeat": start.repeat, "instruction": observation.instruction,
                "first_instruction": start.instruction, "cameras": write_cameras(start.cameras),
            }  # fmt: skip
        return request

    def chunk(self, reply: Reply) -> ActionChunk:
        """RoboDx's actions from what the server answered."""
        blocks = []
        for key, width in self.actions.keys.items():
            if key not in reply:
                raise WireError(f"the server's reply has no {key}; it has: {quote(sorted(map(str, reply)))}")
            try:
                block = numbers_of(reply[key])
            except ValueError as error:
                raise InvalidAction(f"{key} {error}") from error
            if block.dtype.kind not in "fiu":
                raise InvalidAction(f"{key} of type {block.dtype}, not numbers: {quote(reply[key])}")
            if block.ndim == 1 and width != 1:
                block = block[None]
            elif block.ndim == 1:
                block = block[:, None]
            if block.ndim != 2 or block.size == 0 or (width and block.shape[1] != width):
                expected = f"(actions, {width})" if width else "(actions, numbers)"
                raise InvalidAction(f"{key} of shape {np.shape(reply[key])}, not {expected} with at least one action")
            if len(block) > MAX_STEPS:
                raise InvalidAction(f"{key} of {len(block)} actions, but a chunk has at most {MAX_STEPS}")
            # Numbers beyond float32 become infinite, and are refused as such below.
            with np.errstate(over="ignore"):
                blocks.append(block.astype(np.float32))
        if len({len(block) for block in blocks}) > 1:
            lengths = {key: len(block) for key, block in zip(self.actions.keys, blocks, strict=True)}
            raise InvalidAction(f"chunks of different lengths: {lengths}")
        numbers = np.concatenate(blocks, axis=1)
        _check_finite(numbers, numbers)
        with np.errstate(over="ignore", invalid="ignore"):
            chunk = self.actions.read(numbers, self.arms)
        # Finite numbers may be scaled to what is not.
        _check_finite(chunk, numbers)
        return chunk

    @property
    def expects(self) -> str:
        """What a reply must be."""
        form = f" with {self.actions.rotation_form}" if self.actions.space.startswith("ee_") else ""
        keys = ", ".join(f"{width or 'any'} numbers in {key}" for key, width in self.actions.keys.items())
        return f"{self.actions.space}{form}: for each action {keys}"

    def resting(self, steps: int) -> ActionChunk:
        """Standing still with an open gripper."""
        return np.tile(np.array([0, 0, 0, 0, 0, 0, 1] * self.arms, dtype=np.float32), (steps, 1))

    # The server's side.

    def observation(self, request: Request, *, episode_id: str, step: int, time_s: float) -> Observation:
        """What a policy of ours sees of a request."""
        needed = (*self.images, *(name for key in self.state for name in keys_of(key)), *filter(None, [self.prompt]))
        missing = [key for key in needed if key not in request]
        if missing:
            raise ValueError(f"the request has no {', '.join(missing)}; it has: {quote(sorted(map(str, request)))}")
        state: dict[str, NDArray[np.float32]] = {}
        for key, parts in self.state.items():
            vector = np.concatenate([_numbers(name, request[name]).reshape(-1) for name in keys_of(key)])
            read_state(parts, vector, state, arms=self.arms, angles=self.state_angles, widest_m=self.gripper_width_m)
        pictures = {key: picture.read(key, request[key]) for key, picture in self.images.items()}
        colour = {p.camera: pictures[key] for key, p in self.images.items() if not p.is_depth}
        depth = {p.camera: pictures[key] for key, p in self.images.items() if p.is_depth}
        instruction = request[self.prompt] if self.prompt else ""
        if not isinstance(instruction, str):
            raise ValueError(f"{self.prompt} must be text, not {quote(instruction)}")
        return Observation(episode_id, step, time_s, instruction, state, colour, depth)

    def reply(self, chunk: ActionChunk) -> dict[str, Any]:
        """What a server of ours answers."""
        if np.asarray(chunk).dtype.kind not in "fiu":
            raise ValueError(f"the policy gave actions of type {np.asarray(chunk).dtype}, not numbers")
        numbers = self.actions.write(np.asarray(chunk, dtype=np.float32), self.arms)
        if len(self.actions.keys) == 1:
            return {next(iter(self.actions.keys)): numbers}
        ends = np.cumsum(list(self.actions.keys.values()))[:-1]
        return dict(zip(self.actions.keys, np.split(numbers, ends, axis=1), strict=True))

    # As data.

    def as_dict(self, *, is_whole: bool = False) -> dict[str, Any]:
        """As it would be written in TOML; without what is the default, unless it is to be whole."""
        return _as_dict(self, is_whole)

    def _action_width(self) -> int | None:
        if self.actions.space.startswith("ee_"):
            return self.arms * {"ee_delta": 7, "ee_pose": 8}[self.actions.space]
        widths = self.actions.keys.values()
        return sum(widths) if all(widths) else None


def _check_finite(chunk: NDArray[np.float32], sent: NDArray[np.float32]) -> None:
    if not np.isfinite(chunk).all():
        row = int(np.flatnonzero(~np.isfinite(chunk).all(axis=1))[0])
        raise InvalidAction(f"an action that is not finite: {quote(sent[row].tolist())}")


def _numbers(key: str, value: object) -> NDArray[np.float32]:
    try:
        return numbers_of(value).astype(np.float32)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{key} must be numbers, not {quote(value)}") from error


def summary(request: Request) -> str:
    """What a server was sent, by key, type and shape, so that two of a kind read alike."""

    def kind(value: object) -> str:
        return f"{value.dtype} {value.shape}" if isinstance(value, np.ndarray) else type(value).__name__

    return ", ".join(f"{key} ({kind(value)})" for key, value in request.items())


def keys_of(key: str) -> list[str]:
    """The server's keys among which a vector of the state is shared out."""
    return [name.strip() for name in key.split(",")]


def native(spec: PolicySpec, names: Names) -> Preset:
    """RoboDx's own conventions for a policy of ours, in the words of a wire."""
    images = {}
    for camera in spec.cameras:
        picture = Picture(camera.name, camera.height, camera.width)
        images[names.image.format(camera.name)] = picture
        if camera.depth:
            images[names.depth.format(camera.name)] = replace(picture, is_depth=True)
    actions = Actions(space=spec.action_space, keys={names.actions: 0})
    if spec.action_space == "ee_delta":
        actions = replace(actions, delta_frame=spec.delta_frame, delta_from=spec.delta_from)
    return Preset(
        name="native",
        summary="RoboDx's own conventions, with the trial's id and the step",
        hz=spec.hz,
        replan=spec.replan or 0,
        prompt=names.prompt if spec.uses_language else "",
        images=images,
        state={names.state.format(part): (part,) for part in spec.state},
        actions=actions,
        tells_episode=True,
    )


def _as_dict(part: Any, is_whole: bool) -> dict[str, Any]:
    kept: dict[str, Any] = {}
    for one in fields(part):
        value = getattr(part, one.name)
        default = one.default_factory() if one.default_factory is not MISSING else one.default
        if value == default and one.name != "space" and not is_whole:
            continue
        if one.name == "images":
            value = {key: _as_dict(picture, is_whole) for key, picture in value.items()}
        elif one.name == "actions":
            value = _as_dict(value, is_whole)
        elif one.name == "state":
            value = {key: list(parts) for key, parts in value.items()}
        elif isinstance(value, Mapping):
            value = dict(value)
        kept[one.name] = value
    return kept


def table(value: object, where: str, name: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
        raise BadPreset(f"{where}: {name} must be a table, not {quote(value)}")
    return value


def _check(preset: Preset) -> None:
    """What types cannot say."""
    where, actions = f"preset {shortened(preset.name, MAX_NAME)}", preset.actions
    for picture in preset.images.values():
        _one_of(where, "orientation", picture.orientation, get_args(Orientation))
        _one_of(where, "layout", picture.layout, get_args(Layout))
        _one_of(where, "channels", picture.channels, get_args(Channels))
        height, width = picture.content
        if not (0 < height <= picture.height and 0 < width <= picture.width):
            raise BadPreset(
                f"{where}: {picture.camera} is drawn {height}×{width}, into a picture of "
                f"{picture.height}×{picture.width}"
            )
    for key, parts in preset.state.items():
        for part in parts:
            _one_of(where, "state", part, PARTS)
        total = preset.arms * sum(PARTS[part].width or 0 for part in parts)
        if not parts or (total % len(keys_of(key)) and None not in [PARTS[part].width for part in parts]):
            raise BadPreset(f"{where}: the {total} numbers of {', '.join(parts)} cannot be shared equally by {key}")
    _one_of(where, "state_angles", preset.state_angles, get_args(Angles))
    _one_of(where, "action space", actions.space, ACTION_SPACES)
    _one_of(where, "delta_frame", actions.delta_frame, DELTA_FRAMES)
    _one_of(where, "delta_from", actions.delta_from, DELTA_FROM)
    _one_of(where, "rotation", actions.rotation_form, ROTATIONS)
    _check_uses(where, actions)
    _check_keys(where, preset)
    numbers = {"hz": preset.hz, "gripper_width_m": preset.gripper_width_m, "scale_m": actions.scale_m}
    numbers |= {name: getattr(actions, name) for name in ("scale_rad", "gripper_open", "gripper_closed")}
    for name, number in numbers.items():
        if not math.isfinite(number):
            raise BadPreset(f"{where}: {name} must be finite, not {number}")
    for key, width in table(actions.keys, where, "keys").items():
        if type(width) is not int or width < 0:
            raise BadPreset(f"{where}: the width of {key} must be a whole number, not {quote(width)}")
    if not actions.keys or (len(actions.keys) > 1 and not all(actions.keys.values())):
        raise BadPreset(f"{where}: the actions' keys need a width each, but are {quote(dict(actions.keys))}")
    # As they are used, in float32.
    if np.float32(actions.gripper_open) == np.float32(actions.gripper_closed):
        raise BadPreset(f"{where}: an open and a closed gripper are both {actions.gripper_open:g}")
    for name in ("scale_m", "scale_rad", "gripper_width_m"):
        if not TINY < numbers[name] < 1 / TINY:
            raise BadPreset(f"{where}: {name} must be positive, within sensible bounds, not {numbers[name]:g}")
    for name, least, most in (("arms", 1, 16), ("replan", 0, MAX_STEPS), ("settle_steps", 0, MAX_STEPS)):
        if not least <= getattr(preset, name) <= most:
            raise BadPreset(f"{where}: {name} must be {least} to {most}, not {getattr(preset, name)}")
    if preset.settle_steps and actions.space != "ee_delta":
        raise BadPreset(f"{where}: settle_steps needs ee_delta, where standing still is 0, not {actions.space}")
    try:
        _ = preset.spec
    except (ValueError, LookupError) as error:
        raise BadPreset(f"{where}: {error}") from error


def _check_uses(where: str, actions: Actions) -> None:
    """What would do nothing was meant to do something."""
    plain = Actions()
    idle: tuple[str, ...] = ()
    if not actions.space.startswith("ee_"):
        idle += ("rotation", "scale_m")
    if actions.space != "ee_delta":
        idle += ("delta_frame", "delta_from")
    for name in idle:
        if getattr(actions, name) != getattr(plain, name):
            raise BadPreset(
                f"{where}: {name} is {quote(getattr(actions, name))}, but {actions.space} has no use for it"
            )


def _check_keys(where: str, preset: Preset) -> None:
    """Two values under one key, or one where another key needs a map: of either, only one would arrive."""
    state = [name for key in preset.state for name in keys_of(key)]
    sent = [*preset.images, *state, *filter(None, [preset.prompt]), *([EPISODE] if preset.tells_episode else [])]
    for keys in (sent, list(table(preset.actions.keys, where, "keys"))):
        known = set[str]()
        for key in keys:
            if key in known:
                raise BadPreset(f'{where}: "{key}" is the key of two things')
            known.add(key)
        for key in keys:
            if len(key) > MAX_NAME:
                raise BadPreset(f"{where}: {quote(key)} has {len(key)} letters, but a key has at most {MAX_NAME}")
            path = key.split(".")
            for length in range(1, len(path)):
                if (above := ".".join(path[:length])) in known:
                    raise BadPreset(f'{where}: "{above}" cannot be a value and, for "{key}", a map')


def _one_of(where: str, name: str, value: str, valid: Any) -> None:
    if value not in valid:
        raise BadPreset(f"{where}: {unknown(name, shortened(str(value), MAX_NAME), valid)}")
