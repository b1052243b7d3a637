"""Writing RLDS in the form that TensorFlow Datasets loads from its folder, without TensorFlow."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from robodx.datasets.descriptions import KEY, checked, described
from robodx.datasets.rlds import tf_examples, tfrecords
from robodx.datasets.rlds.tf_examples import Values
from robodx.datasets.rlds.tfds_files import FEATURES, INFO, METADATA, Leaf, features_json, info_json, shard_name
from robodx.datasets.schema import Demonstration, Features
from robodx.datasets.stills import to_png
from robodx.errors import UserError
from robodx.records import files

NAME = "robodx"
# Readers take shards in parallel; TFDS has them of this size or so.
SHARD_BYTES = 200_000_000

OBSERVATION = "steps/observation/"
STATE = OBSERVATION + "state"
ACTION, INSTRUCTION, SUCCESS = "steps/action", "steps/language_instruction", "steps/success"
EPISODE = "episode_metadata/"

NUMBER, FLAG = Leaf("tensor", (), "float32"), Leaf("tensor", (), "bool")
ALWAYS = {"steps/discount": NUMBER, "steps/is_first": FLAG, "steps/is_last": FLAG, INSTRUCTION: Leaf("text")}
# These follow from success: they are left out where it is not known.
WITH_SUCCESS = {SUCCESS: FLAG, "steps/reward": NUMBER, "steps/is_terminal": FLAG}
# Records have no float64: its bytes are kept instead.
METADATA_LEAVES: Mapping[type, Leaf] = {
    bool: FLAG,
    int: Leaf("tensor", (), "int64"),
    float: Leaf("tensor", (), "float64", "bytes"),
    str: Leaf("text"),
}


def write(path: Path, features: Features, demonstrations: Iterable[Demonstration]) -> None:
    """Shards first and dataset_info.json last, without which a folder is no data set."""
    path.mkdir(parents=True, exist_ok=True)
    if (path / INFO).exists():
        raise UserError(f"{path} holds a data set already")
    parts: list[Path] = []
    try:
        leaves, lengths, size = _write_parts(path, features, demonstrations, parts)
        for index, part in enumerate(parts):
            part.replace(path / shard_name(NAME, "train", index, len(parts)))
    finally:
        for part in parts:
            part.unlink(missing_ok=True)
    _save(path / FEATURES, features_json(leaves))
    # TFDS has this file's content in builder.info.metadata.
    _save(path / METADATA, {KEY: described(features)})
    _save(path / INFO, info_json(NAME, lengths, size))


def _write_parts(
    folder: Path, features: Features, demonstrations: Iterable[Demonstration], parts: list[Path]
) -> tuple[dict[str, Leaf], list[int], int]:
    """The features, the records of each shard, and the bytes of all; shards get their names when all are there."""
    lengths: list[int] = []
    total = size = 0
    leaves: dict[str, Leaf] = {}
    for index, demonstration in checked(features, demonstrations):
        found = _leaves(features, demonstration)
        leaves = leaves or found
        if differing := sorted(set(found.items()) ^ set(leaves.items()), key=str):
            raise UserError(
                f"episode {index} differs from the first in {differing[0][0]}: RLDS has the same in all, or in none"
            )
        data = tf_examples.encode(_example(features, demonstration))
        if not parts or size + len(data) > SHARD_BYTES:
            parts.append(folder / f"{len(parts):05d}.part")
            parts[-1].write_bytes(b"")
            lengths.append(0)
            size = 0
        with parts[-1].open("ab") as file:
            tfrecords.append(file, data)
        lengths[-1] += 1
        size += len(data)
        total += len(data)
    return leaves, lengths, total


def _save(path: Path, content: Mapping[str, Any]) -> None:
    files.write(path, (json.dumps(content, indent=2) + "\n").encode())


def _leaves(features: Features, demonstration: Demonstration) -> dict[str, Leaf]:
    found = dict(ALWAYS)
    found[ACTION] = Leaf("tensor", (len(features.action),), "float32")
    if features.state:
        found[STATE] = Leaf("tensor", (sum(len(names) for names in features.state.values()),), "float32")
    for camera, size in features.cameras.items():
        if OBSERVATION + camera in found:
            raise UserError(f"a camera cannot be called {camera} in RLDS: it is the name of the robot's state")
        found[OBSERVATION + camera] = Leaf("image", (*size, 3), "uint8", "png")
    if demonstration.success is not None:
        found |= WITH_SUCCESS
    for key, value in demonstration.metadata.items():
        if type(value) not in METADATA_LEAVES or "/" in key:
            raise UserError(
                f"metadata {key} = {value!r} has no place in RLDS: a text, number or boolean, without / in its name"
            )
        found[EPISODE + key] = METADATA_LEAVES[type(value)]
    return found


def _example(features: Features, demonstration: Demonstration) -> dict[str, Values]:
    count = len(demonstration)
    steps = np.arange(count)
    example: dict[str, Values] = {
        ACTION: demonstration.action.ravel(),
        INSTRUCTION: [text.encode() for text in demonstration.instructions],
        "steps/discount": np.ones(count, np.float32),
        "steps/is_first": (steps == 0).astype(np.int64),
        "steps/is_last": (steps == count - 1).astype(np.int64),
    }
    if features.state:
        example[STATE] = np.concatenate([demonstration.state[name] for name in features.state], axis=1).ravel()
    for camera, size in features.cameras.items():
        images = demonstration.images[camera].all()
        if images.shape[1:3] != tuple(size):
            raise UserError(f"pictures of {camera} are {images.shape[1:3]}, and the data set's {size}")
        example[OBSERVATION + camera] = [to_png(image) for image in images]
    if demonstration.success is not None:
        solved = demonstration.success.astype(np.int64)
        example[SUCCESS] = solved
        example["steps/reward"] = solved.astype(np.float32)
        example["steps/is_terminal"] = solved * (steps == count - 1)
    for key, value in demonstration.metadata.items():
        example[EPISODE + key] = _metadata(value)
    return example


def _metadata(value: str | bool | int | float) -> Values:
    if isinstance(value, str):
        return [value.encode()]
    return [np.float64(value).tobytes()] if isinstance(value, float) else np.array([value], dtype=np.int64)
