"""Frames of a user's own demonstrations, in the words of a policy's preset: which cameras and numbers are meant."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from robodx.datasets.schema import DataSet, Demonstration, Features
from robodx.errors import UserError
from robodx.registry import unknown
from robodx.sim.geometry import Array
from robodx.spaces import ACTION_SPACES, ActionSpace
from robodx.wires.parts import PARTS, write_state
from robodx.wires.preset import Preset, keys_of

Image = NDArray[np.uint8]
State = Mapping[str, NDArray[np.float32]]
# Episodes and frames that a policy is asked about, spread evenly.
EPISODES, FRAMES = 8, 64
# Parts of RoboDx's state by the names that others give to single numbers.
NUMBERS: dict[str, re.Pattern[str]] = {
    "ee_pose": re.compile(r"(ee_pose[._])?(x|y|z|qw|qx|qy|qz)"),
    "gripper_opening": re.compile(r"(gripper[._])?opening|gripper"),
    "joint_positions": re.compile(r"(joint[._]?|j)\d+"),
}
POSE_WIDTH = 7


class Incomparable(UserError):
    """A policy whose answers are of another kind than the data set's actions; the message names both."""


@dataclass(frozen=True)
class DataFrame:
    """One step of a demonstration: what is shown of it, and all actions of its episode."""

    episode: int
    step: int
    is_first: bool
    is_last: bool
    task: str
    instruction: str
    # As the data set has them, by the preset's camera.
    pictures: Mapping[str, Image]
    # What is sent, by the preset's key; and every vector that the data set has, by its name.
    state: State
    vectors: State
    # (steps, numbers) of the whole episode.
    actions: Array
    # The tool's position and wxyz quaternion, where the data set has it.
    pose: Array | None


class Matched(NamedTuple):
    """The preset's inputs in the data set, and sentences about what was not called the same."""

    # The data set's camera by the preset's.
    cameras: Mapping[str, str]
    state: Callable[[State], State]
    notes: tuple[str, ...]


def parse_mapping(text: str) -> dict[str, str]:
    """From `front=top,state=ee_pose`: the policy's names to the data set's."""
    mapping: dict[str, str] = {}
    for pair in filter(None, (part.strip() for part in text.split(","))):
        ours, separator, theirs = (part.strip() for part in pair.partition("="))
        if not (ours and separator and theirs):
            raise UserError(f'"{pair}" is no pair: write --map POLICY_NAME=DATA_NAME,… as in front=top,state=ee_pose')
        mapping[ours] = theirs
    return mapping


def match(preset: Preset, features: Features, mapping: Mapping[str, str]) -> Matched:
    """Camera by camera and vector by vector: as mapped, of the same name, or else in the order of declaration."""
    if depth := [key for key, picture in preset.images.items() if picture.is_depth]:
        raise UserError(f"the policy needs depth ({', '.join(depth)}), and a data set has none")
    names = {name for key, picture in preset.images.items() for name in (key, _last(key), picture.camera)}
    names |= {name for key in preset.state for name in (key, _last(key))}
    for name in mapping:
        if name not in names:
            raise UserError(f"--map: {unknown('input of the policy', name, names)}")
    cameras, notes = _cameras(preset, features, mapping)
    state, said = _state(preset, features, mapping)
    return Matched(cameras, state, (*notes, *said))


def _cameras(preset: Preset, features: Features, mapping: Mapping[str, str]) -> tuple[dict[str, str], list[str]]:
    found: dict[str, str] = {}
    for key, picture in preset.images.items():
        mapped = next((mapping[name] for name in (key, _last(key), picture.camera) if name in mapping), None)
        if mapped is not None and mapped not in features.cameras:
            raise UserError(f"--map: {unknown('camera in the data set', mapped, features.cameras)}")
        named = next((name for name in (picture.camera, key, _last(key)) if name in features.cameras), None)
        if chosen := mapped or named:
            found.setdefault(picture.camera, chosen)
    left = [name for name in features.cameras if name not in found.values()]
    lacking = list(dict.fromkeys(p.camera for p in preset.images.values() if p.camera not in found))
    if len(lacking) > len(left):
        raise UserError(
            f"the policy needs the cameras {', '.join(lacking)}, and of the data set's "
            f"({', '.join(features.cameras) or 'none'}) {len(left)} are left: say which is which with "
            f"--map {lacking[0]}=NAME"
        )
    guessed = dict(zip(lacking, left, strict=False))
    notes = [f"No camera of the data set is called {one}: {other} is shown, the next in order." for one, other in
             guessed.items()]  # fmt: skip
    for picture in preset.images.values():
        name = (found | guessed)[picture.camera]
        if features.cameras[name] != picture.content:
            (height, width), (there, wide) = features.cameras[name], picture.content
            notes.append(f"Pictures of {name} are resized from {height}×{width} to {there}×{wide}.")
    return found | guessed, list(dict.fromkeys(notes))


def _state(
    preset: Preset, features: Features, mapping: Mapping[str, str]
) -> tuple[Callable[[State], State], list[str]]:
    """How each vector that the preset sends is made of the data set's."""
    makers: dict[str, Callable[[State], NDArray[np.float32]]] = {}
    notes: list[str] = []
    for key, parts in preset.state.items():
        mapped = next((mapping[name] for name in (key, _last(key)) if name in mapping), None)
        if mapped is not None and mapped not in features.state:
            raise UserError(f"--map: {unknown('vector of the state in the data set', mapped, features.state)}")
        same = next((name for name in (key, _last(key)) if name in features.state), None)
        if name := mapped or same:
            makers[key] = lambda state, name=name: state[name]  # type: ignore[misc]
            continue
        places = {PARTS[part].of: place_of(PARTS[part].of, features) for part in parts}
        if all(place is not None for place in places.values()):
            makers[key] = _converted(preset, parts, {of: place for of, place in places.items() if place is not None})
        elif len(preset.state) == 1 and features.state:
            makers[key] = lambda state: np.concatenate([state[name] for name in features.state])
            notes.append(f"No vector of the data set is called {key}: {' and '.join(features.state)} are sent as it.")
        else:
            raise UserError(
                f"the policy needs the state {key} ({', '.join(parts)}), and the data set has "
                f"{', '.join(features.state) or 'no state'}: say which is meant with --map {_last(key)}=NAME"
            )
    return lambda state: {key: make(state) for key, make in makers.items()}, notes


class Place(NamedTuple):
    """Numbers of a vector of the data set."""

    vector: str
    columns: tuple[int, ...]


def place_of(part: str, features: Features) -> Place | None:
    """Where a part of RoboDx's own state is in the data set: a vector of that name, or numbers with its names."""
    if part in features.state:
        return Place(part, tuple(range(len(features.state[part]))))
    for vector, names in features.state.items():
        columns = tuple(at for at, name in enumerate(names) if part in NUMBERS and NUMBERS[part].fullmatch(name))
        if columns and (part != "ee_pose" or len(columns) == POSE_WIDTH):
            return Place(vector, columns)
    return None


def _converted(
    preset: Preset, parts: tuple[str, ...], places: Mapping[str, Place]
) -> Callable[[State], NDArray[np.float32]]:
    def make(state: State) -> NDArray[np.float32]:
        ours = {of: state[place.vector][list(place.columns)] for of, place in places.items()}
        return write_state(
            parts, ours, arms=preset.arms, angles=preset.state_angles, widest_m=preset.gripper_width_m
        )  # fmt: skip

    return make


def read_frames(
    data: DataSet, matched: Matched, *, most_episodes: int = EPISODES, most_frames: int = FRAMES
) -> list[DataFrame]:
    """Some steps of some episodes, spread evenly; the first of an episode has no action before it and is left out."""
    if not len(data):
        raise UserError("the data set has no episodes")
    chosen = np.unique(np.linspace(0, len(data) - 1, min(len(data), most_episodes)).round().astype(int)).tolist()
    frames: list[DataFrame] = []
    for number in chosen:
        frames += _of_episode(data.features, data[number], number, matched, max(2, most_frames // len(chosen)))
    return frames


def _of_episode(
    features: Features, episode: Demonstration, number: int, matched: Matched, most: int
) -> list[DataFrame]:
    steps = np.unique(np.linspace(1, len(episode) - 1, min(most, len(episode) - 1)).round().astype(int)).tolist()
    pictures = {ours: episode.images[theirs].read(steps) for ours, theirs in matched.cameras.items()} if steps else {}
    pose, actions = place_of("ee_pose", features), episode.action.astype(float)
    frames = []
    for index, step in enumerate(steps):
        vectors = {name: values[step] for name, values in episode.state.items()}
        frames.append(
            DataFrame(
                episode=number,
                step=step,
                is_first=index == 0,
                is_last=index == len(steps) - 1,
                task=str(episode.metadata.get("task", "")),
                instruction=episode.instructions[step],
                pictures={ours: images[index] for ours, images in pictures.items()},
                state=matched.state(vectors),
                vectors=vectors,
                actions=actions,
                pose=None if pose is None else vectors[pose.vector][list(pose.columns)].astype(float),
            )
        )
    return frames


def declared_space(features: Features) -> ActionSpace | None:
    """The space that the data set says its actions are in, where it is one of RoboDx's."""
    said = str(features.about.get("action_space") or features.about.get("space") or "")
    first = re.match(r"\w*", said)
    return next((space for space in ACTION_SPACES if first is not None and space == first[0]), None)


def refuse_other_space(preset: Preset, features: Features) -> None:
    theirs = declared_space(features)
    if theirs is not None and theirs != preset.actions.space:
        raise Incomparable(
            f"cannot be compared: the policy answers {preset.actions.space} (preset {preset.name}), and the data "
            f"set's actions are {theirs} ({', '.join(features.action)})"
        )


def widths_of(frame: DataFrame, preset: Preset) -> dict[str, int]:
    """Of each vector that is sent."""
    return {key: len(frame.state[key]) for key in preset.state}


def split_state(preset: Preset, state: State) -> dict[str, NDArray[np.float32]]:
    """Under the server's keys."""
    sent: dict[str, NDArray[np.float32]] = {}
    for key, vector in state.items():
        names = keys_of(key)
        if len(vector) % len(names):
            raise UserError(f"{len(vector)} numbers of state cannot be shared by {', '.join(names)}")
        sent.update(zip(names, np.split(np.asarray(vector, np.float32), len(names)), strict=True))
    return sent


def _last(key: str) -> str:
    return re.split(r"[./]", key)[-1]
