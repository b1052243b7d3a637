"""The files with which TensorFlow Datasets describes a data set: what it is made of, and which shards hold it."""

from __future__ import annotations

import math
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from robodx.datasets.bounds import MOST_EPISODES, expanded, fits, quoted, whole, within
from robodx.datasets.formats.base import UnreadableData
from robodx.datasets.rlds.tf_examples import Values

INFO, FEATURES, METADATA = "dataset_info.json", "features.json", "metadata.json"
TEMPLATE = "{DATASET}-{SPLIT}.{FILEFORMAT}-{SHARD_X_OF_Y}"
VERSION = "1.0.0"

Kind = Literal["text", "image", "tensor", "other"]
# Others, like bfloat16, are ignored.
NUMERIC = (
    "bool", "float16", "float32", "float64", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
)  # fmt: skip
# A side of a tensor; that of one number of a step alone is larger than any robot has.
MOST_SIDE = 2**31 - 1
# The classes of TFDS that read each kind.
CLASSES: Mapping[str, str] = {
    "dict": "tensorflow_datasets.core.features.features_dict.FeaturesDict",
    "steps": "tensorflow_datasets.core.features.dataset_feature.Dataset",
    "text": "tensorflow_datasets.core.features.text_feature.Text",
    "image": "tensorflow_datasets.core.features.image_feature.Image",
    "tensor": "tensorflow_datasets.core.features.tensor_feature.Tensor",
}


@dataclass(frozen=True)
class Leaf:
    """One feature, by its name in the records: steps/observation/state."""

    kind: Kind
    # Of one step; -1 where it differs.
    shape: tuple[int, ...] = ()
    dtype: str = ""
    # Of a tensor: none, bytes or zlib. Of a picture: png or jpeg.
    encoding: str = "none"

    @property
    def width(self) -> int:
        return math.prod(self.shape)

    def numbers(self, values: Values) -> NDArray[Any]:
        """A tensor's numbers of all steps as one row each; ValueError if these are others."""
        if isinstance(values, np.ndarray):
            found = values
        elif self.dtype not in NUMERIC:
            raise ValueError(f"numbers are {quoted(self.dtype)}, and not one of {', '.join(NUMERIC)}")
        else:
            found = np.frombuffer(b"".join(self._unpacked(values)), dtype=self.dtype)
        return found.reshape(-1, self.width)

    def _unpacked(self, values: Sequence[bytes]) -> Sequence[bytes]:
        if self.encoding != "zlib":
            return values
        size = self.width * np.dtype(self.dtype).itemsize
        fits("compressed numbers", size * len(values), sum(map(len, values)))
        try:
            # More than a step has is too much, and left where it is.
            return [zlib.decompressobj().decompress(value, size + 1) for value in values]
        except zlib.error as error:
            raise ValueError(f"compressed numbers are damaged: {error}") from error


@dataclass(frozen=True)
class Shard:
    path: Path
    split: str
    # How many records it holds.
    length: int


def leaves(feature: Mapping[str, Any], name: str = "") -> Iterator[tuple[str, Leaf]]:
    """All features below one of features.json; those of a Dataset at each step have names like others."""
    below = f"{name}/" if name else ""
    if "featuresDict" in feature:
        for key, part in feature["featuresDict"]["features"].items():
            yield from leaves(part, below + key)
    elif str(feature.get("pythonClassName", "")).endswith(".Dataset"):
        yield from leaves(feature["sequence"]["feature"], name)
    else:
        yield name, _leaf(feature)


def _leaf(feature: Mapping[str, Any]) -> Leaf:
    for kind in ("image", "tensor"):
        if kind in feature:
            content = feature[kind]
            sides = content.get("shape", {}).get("dimensions", ())
            shape = tuple(whole(side, "a dimension", least=-1, most=MOST_SIDE) for side in sides)
            encoding = content.get("encodingFormat") or content.get("encoding") or "none"
            if content.get("dtype") == "string":
                return Leaf("other" if shape else "text")
            return Leaf("image" if kind == "image" else "tensor", shape, str(content.get("dtype")), str(encoding))
    # A number that stands for a name.
    if "classLabel" in feature:
        return Leaf("tensor", (), "int64")
    return Leaf("text" if "text" in feature else "other")


def features_json(described: Mapping[str, Leaf]) -> dict[str, Any]:
    """The reverse: all under steps/ are a Dataset's."""
    tree: dict[str, Any] = {}
    for name, leaf in described.items():
        *folders, last = name.split("/")
        at = tree
        for folder in folders:
            at = at.setdefault(folder, {})
        at[last] = leaf
    parts = {key: _as_json(part) for key, part in tree.items()}
    parts["steps"] = {"pythonClassName": CLASSES["steps"], "sequence": {"feature": parts["steps"], "length": "-1"}}
    return {"pythonClassName": CLASSES["dict"], "featuresDict": {"features": parts}}


def _as_json(part: Leaf | Mapping[str, Any]) -> dict[str, Any]:
    if not isinstance(part, Leaf):
        inner = {key: _as_json(each) for key, each in part.items()}
        return {"pythonClassName": CLASSES["dict"], "featuresDict": {"features": inner}}
    content: dict[str, Any] = {}
    if part.kind != "text":
        dimensions = {"dimensions": [str(size) for size in part.shape]} if part.shape else {}
        key = "encodingFormat" if part.kind == "image" else "encoding"
        content = {"shape": dimensions, "dtype": part.dtype, key: part.encoding}
    return {"pythonClassName": CLASSES[part.kind], part.kind: content}


def info_json(name: str, shards: Sequence[int], size: int) -> dict[str, Any]:
    """Of one split, train, whose shards hold so many records each."""
    split = {
        "filepathTemplate": TEMPLATE,
        "name": "train",
        "numBytes": str(size),
        "shardLengths": [str(length) for length in shards],
    }
    return {"fileFormat": "tfrecord", "name": name, "splits": [split], "version": VERSION}


def shard_name(name: str, split: str, index: int, count: int, template: object = TEMPLATE) -> str:
    fields: dict[str, int | str] = {
        "DATASET": name,
        "SPLIT": split,
        "FILEFORMAT": "tfrecord",
        "SHARD_INDEX": f"{index:05d}",
        "NUM_SHARDS": f"{count:05d}",
        "SHARD_X_OF_Y": f"{index:05d}-of-{count:05d}",
    }
    return expanded(template, fields)


def shards(folder: Path, info: Mapping[str, Any]) -> list[Shard]:
    if info.get("fileFormat", "tfrecord") != "tfrecord":
        raise UnreadableData(f"{folder / INFO} says that its records are {info['fileFormat']}: only tfrecord is read")
    found = []
    for split in info["splits"]:
        lengths = [whole(length, "a length of a shard", most=MOST_EPISODES) for length in split["shardLengths"]]
        template = split.get("filepathTemplate") or TEMPLATE
        name = str(split["name"])
        for index, length in enumerate(lengths):
            path = within(folder, shard_name(str(info["name"]), name, index, len(lengths), template))
            if not path.is_file():
                raise UnreadableData(f"{path} is missing, which {folder / INFO} lists")
            found.append(Shard(path, name, length))
    return found
