"""RLDS in the files of TensorFlow Datasets, as Open X-Embodiment has it; read and written without TensorFlow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatch
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from robodx.datasets.bounds import numbers_fit, within
from robodx.datasets.descriptions import KEY, features_of, numbered
from robodx.datasets.foreign_files import read_json, reading
from robodx.datasets.formats.base import FORMATS, DataFormat, UnreadableData
from robodx.datasets.rlds import tf_examples, tfrecords
from robodx.datasets.rlds.tf_examples import Values
from robodx.datasets.rlds.tfds_files import FEATURES, INFO, METADATA, NUMERIC, Leaf, Shard, leaves, shards
from robodx.datasets.rlds.writing import ACTION, EPISODE, INSTRUCTION, OBSERVATION, STATE, SUCCESS, write
from robodx.datasets.schema import DataSet, Demonstration, Features, Images, Numbers, Pictures
from robodx.datasets.stills import from_bytes

# Where an instruction stands in sets of Open X, the first that is there.
INSTRUCTIONS = (
    INSTRUCTION,
    OBSERVATION + "natural_language_instruction",
    OBSERVATION + "language_instruction",
    "steps/natural_language_instruction",
    EPISODE + "language_instruction",
)
# The order of an action's parts where it is no single vector; parts of other names follow in the order of their names.
ACTION_PARTS = (
    "world_vector",
    "rotation_delta",
    "gripper_closedness_action",
    "open_gripper",
    "base_displacement_vector",
    "base_displacement_vertical_rotation",
)
# No motions and no measurements of the robot, though they are numbers.
NO_ACTION = ("terminate_episode",)
NO_STATE = ("*embedding*", "*instruction*")
# What the form of an episode says by itself.
FORM = ("steps/is_first", "steps/is_last", "steps/is_terminal", "steps/discount")
LAST_ACTION = "kept as it is, also of the last step, where RLDS gives it no meaning"


@dataclass(frozen=True)
class _Fields:
    """Which features of the records become which parts of a demonstration."""

    cameras: Mapping[str, str]
    # Ours in one vector that is taken apart, others' each by itself.
    state: Mapping[str, str]
    action: tuple[str, ...]
    instruction: str | None
    success: str | None
    metadata: tuple[str, ...]

    def all(self) -> set[str]:
        single = {name for name in (self.instruction, self.success) if name}
        return {*self.cameras.values(), *self.state.values(), *self.action, *self.metadata, *single}


@dataclass(frozen=True)
class _Records:
    features: Features
    leaves: Mapping[str, Leaf]
    fields: _Fields
    shards: tuple[Shard, ...]

    def __len__(self) -> int:
        return sum(shard.length for shard in self.shards)

    def __getitem__(self, index: int) -> Demonstration:
        rest = range(len(self))[index]
        for number, shard in enumerate(self.shards):
            if rest < shard.length:
                return self._demonstration(shard, self._example(number, rest))
            rest -= shard.length
        raise IndexError(index)

    @cached_property
    def _places(self) -> dict[int, list[tfrecords.Place]]:
        return {}

    def _example(self, number: int, index: int) -> dict[str, Values]:
        shard = self.shards[number]
        if number not in self._places:
            places = tfrecords.places(shard.path)
            if len(places) != shard.length:
                raise UnreadableData(f"{shard.path} has {len(places)} records, and {INFO} says {shard.length}")
            self._places[number] = places
        with reading(shard.path):
            example = tf_examples.decode(tfrecords.record(shard.path, self._places[number][index]))
        if lost := sorted(self.fields.all() - set(example)):
            raise UnreadableData(f"record {index} of {shard.path} has no {lost[0]}")
        return example

    def _demonstration(self, shard: Shard, example: Mapping[str, Values]) -> Demonstration:
        with reading(shard.path):
            action = np.concatenate([self._numbers(name, example) for name in self.fields.action], axis=1)
            count = len(action)
            split = {"split": shard.split} if len({each.split for each in self.shards}) > 1 else {}
            success = self.fields.success
            return Demonstration(
                instructions=self._instructions(example, count),
                images={
                    camera: _pictures(shard.path, example[name], self.features.cameras[camera])
                    for camera, name in self.fields.cameras.items()
                },
                state=self._state(example),
                action=action,
                success=self._numbers(success, example)[:, 0] != 0 if success else None,
                metadata={key.removeprefix(EPISODE): self._plain(key, example) for key in self.fields.metadata} | split,
            )

    def _numbers(self, name: str, example: Mapping[str, Values]) -> Numbers:
        return self.leaves[name].numbers(example[name]).astype(np.float32)

    def _state(self, example: Mapping[str, Values]) -> dict[str, Numbers]:
        vectors = {name: self._numbers(name, example) for name in set(self.fields.state.values())}
        state, taken = {}, dict.fromkeys(vectors, 0)
        for key, name in self.fields.state.items():
            width = len(self.features.state[key])
            state[key] = np.ascontiguousarray(vectors[name][:, taken[name] : taken[name] + width])
            taken[name] += width
        return state

    def _instructions(self, example: Mapping[str, Values], count: int) -> tuple[str, ...]:
        # Where nothing was said there are no words; about["missing"] tells it.
        name = self.fields.instruction
        said = [bytes(text).decode() for text in example[name]] if name else [""]
        return tuple(said * count if name is None or name.startswith(EPISODE) else said)

    def _plain(self, name: str, example: Mapping[str, Values]) -> str | int | float | bool:
        leaf = self.leaves[name]
        if leaf.kind == "text":
            return bytes(example[name][0]).decode(errors="replace")
        number = leaf.numbers(example[name])[0, 0].item()
        return bool(number) if leaf.dtype == "bool" else number


def _pictures(path: Path, stored: Values, size: tuple[int, int]) -> Pictures:
    """Kept as they are stored, and decoded when they are asked for."""

    def read(steps: Sequence[int]) -> Images:
        with reading(path):
            images = []
            for step in steps:
                images.append(from_bytes(bytes(stored[step])))
                if (found := images[-1].shape[:2]) != size:
                    raise ValueError(f"a picture in it is {found}, and the first {size}")
            return np.stack(images)

    return Pictures(len(stored), read)


def read(path: Path) -> DataSet:
    with reading(path / INFO):
        info = read_json(within(path, INFO))
        files = tuple(shards(path, info))
    with reading(path / FEATURES):
        found = dict(leaves(read_json(within(path, FEATURES))))
    with reading(path / METADATA):
        ours = read_json(within(path, METADATA)).get(KEY) if (path / METADATA).exists() else None
        own = features_of(ours) if ours else None
    if not any(shard.length for shard in files):
        raise UnreadableData(f"{path / INFO} lists no episodes")
    fields = _fields(found, own)
    if not fields.action:
        raise UnreadableData(f"{path / FEATURES} has no action: these are no episodes of a robot")
    if lost := sorted(fields.all() - set(found)):
        raise UnreadableData(f"{path / FEATURES} has no {lost[0]}, which {path / METADATA} speaks of")
    if own:
        return _Records(own, found, fields, files)
    unsized = Features(None, {camera: (-1, -1) for camera in fields.cameras}, {}, ())
    first = _Records(unsized, found, fields, files)._example(next(i for i, s in enumerate(files) if s.length), 0)
    with reading(path / FEATURES):
        return _Records(_features(info, found, fields, first, files[0].path), found, fields, files)


def _fields(found: Mapping[str, Leaf], own: Features | None) -> _Fields:
    seen = {name.removeprefix(OBSERVATION): leaf for name, leaf in found.items() if name.startswith(OBSERVATION)}
    cameras = [name for name, leaf in seen.items() if leaf.kind == "image" and _is_rgb(leaf)]
    vectors = [
        name
        for name, leaf in seen.items()
        if leaf.kind == "tensor" and _is_vector(leaf) and not any(fnmatch(name, pattern) for pattern in NO_STATE)
    ]
    parts = {
        name.removeprefix(f"{ACTION}/"): name
        for name, leaf in found.items()
        if name.startswith(f"{ACTION}/") and leaf.kind == "tensor" and _is_vector(leaf)
    }
    order = [part for part in ACTION_PARTS if part in parts]
    order += sorted(set(parts) - set(order) - set(NO_ACTION))
    return _Fields(
        cameras={name: OBSERVATION + name for name in (own.cameras if own else cameras)},
        state=dict.fromkeys(own.state, STATE) if own else {name: OBSERVATION + name for name in vectors},
        action=(ACTION,) if ACTION in found else tuple(parts[part] for part in order),
        instruction=next((name for name in INSTRUCTIONS if name in found and found[name].kind == "text"), None),
        success=SUCCESS if SUCCESS in found else None,
        metadata=tuple(
            name
            for name, leaf in found.items()
            if name.startswith(EPISODE)
            and (leaf.kind == "text" or (leaf.kind == "tensor" and leaf.dtype in NUMERIC and not leaf.shape))
        ),
    )


def _features(
    info: Mapping[str, Any], found: Mapping[str, Leaf], fields: _Fields, first: Mapping[str, Values], path: Path
) -> Features:
    numbers_fit({name: found[name].width for name in (*fields.action, *fields.state.values())})
    missing = {"hz": True, "instruction": fields.instruction is None, "success": fields.success is None}
    about = {
        "name": info["name"],
        "version": info.get("version"),
        "action": LAST_ACTION,
        "ignored": sorted(set(found) - fields.all() - set(FORM)),
        "missing": [name for name, is_missing in missing.items() if is_missing],
    }
    if ACTION not in fields.action:
        about["action_parts"] = [name.removeprefix(f"{ACTION}/") for name in fields.action]
    return Features(
        hz=None,
        cameras={camera: _size(found[name], first[name], path) for camera, name in fields.cameras.items()},
        state={key: numbered(key, found[name].width) for key, name in fields.state.items()},
        action=tuple(
            number for name in fields.action for number in numbered(name.rpartition("/")[2], found[name].width)
        ),
        about=about,
    )


def _size(leaf: Leaf, stored: Values, path: Path) -> tuple[int, int]:
    height, width = leaf.shape[:2]
    if height < 0 or width < 0:
        with reading(path):
            height, width = from_bytes(bytes(stored[0])).shape[:2]
    return height, width


def _is_rgb(leaf: Leaf) -> bool:
    return leaf.dtype == "uint8" and len(leaf.shape) == 3 and leaf.shape[2] == 3


def _is_vector(leaf: Leaf) -> bool:
    return len(leaf.shape) <= 1 and leaf.width > 0 and leaf.dtype in NUMERIC


FORMATS.add(
    "rlds",
    DataFormat(
        name="rlds",
        summary="RLDS in TensorFlow Datasets' files, as Open X-Embodiment has it",
        is_at=lambda path: (path / INFO).is_file() and (path / FEATURES).is_file(),
        read=read,
        write=write,
        loading='import tensorflow_datasets as tfds\n\nbuilder = tfds.builder_from_directory("PATH")\n'
        'data = builder.as_dataset(split="train")',
    ),
)
