"""Writing HDF5 as robomimic has it, from which robomimic trains as it is."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from robodx.datasets.descriptions import KEY, checked, described
from robodx.datasets.extras import needed
from robodx.datasets.schema import Demonstration, Features
from robodx.errors import UserError
from robodx.records import files

# An attribute with what is said at the start, and an array with what is said at each step if that changes.
INSTRUCTION = "language_instruction"
INSTRUCTIONS = "language_instructions"
SUCCESS = "success"
# Metadata that robomimic keeps as a mask: names of splits with commas between them.
SPLIT = "split"
# HDF5 since 2008 reads it, and the same data gives the same bytes.
LIBRARY = ("earliest", "v108")
# robomimic asks for the kind of simulator by number, for rollouts during training: Gymnasium.
GYMNASIUM = 2


def write(path: Path, features: Features, demonstrations: Iterable[Demonstration]) -> None:
    h5py = needed("h5py")
    path.parent.mkdir(parents=True, exist_ok=True)
    with files.beside(path) as part, h5py.File(part, "w", libver=LIBRARY) as file:
        data = file.create_group("data")
        total, said = 0, set()
        splits: dict[str, list[str]] = {}
        for index, demonstration in checked(features, demonstrations):
            name = f"demo_{index}"
            _add(data.create_group(name), features, demonstration)
            total += len(demonstration)
            said |= set(demonstration.instructions)
            for split in str(demonstration.metadata.get(SPLIT, "")).split(", "):
                splits.setdefault(split, []).append(name)
        data.attrs["total"] = total
        data.attrs["env_args"] = json.dumps(_environment(features))
        data.attrs[KEY] = json.dumps(described(features))
        if len(said) == 1:
            # Where LIBERO's loaders look for it.
            data.attrs["problem_info"] = json.dumps({"language_instruction": said.pop()})
        for split, names in sorted(splits.items()):
            if split:
                file[f"mask/{split}"] = np.array(names, dtype="S")


def _environment(features: Features) -> dict[str, Any]:
    rate = {} if features.hz is None else {"control_freq": features.hz}
    return {"env_name": features.about.get("env_name", "unknown"), "type": GYMNASIUM, "env_kwargs": rate}


def _add(group: Any, features: Features, demonstration: Demonstration) -> None:
    count = len(demonstration)
    group.attrs["num_samples"] = count
    group.attrs[INSTRUCTION] = demonstration.instruction
    if len(set(demonstration.instructions)) > 1:
        group.create_dataset(
            INSTRUCTIONS, data=list(demonstration.instructions), dtype=needed("h5py").string_dtype(), track_times=False
        )
    for key, value in demonstration.metadata.items():
        if key == SPLIT:
            continue
        if key in group.attrs or not isinstance(value, str | int | float | bool | np.generic):
            raise UserError(
                f"metadata {key} = {value!r} has no place in HDF5: a text, number or boolean of another name"
            )
        group.attrs[key] = value
    arrays: dict[str, Any] = {"actions": demonstration.action}
    arrays["dones"] = (np.arange(count) == count - 1).astype(np.uint8)
    if demonstration.success is not None:
        arrays |= {SUCCESS: demonstration.success, "rewards": demonstration.success.astype(np.float32)}
    arrays |= {f"obs/{name}": demonstration.state[name] for name in features.state}
    for name, values in sorted(arrays.items()):
        group.create_dataset(name, data=values, track_times=False)
    for camera, size in sorted(features.cameras.items()):
        images = demonstration.images[camera].all()
        if images.shape != (count, *size, 3):
            raise UserError(f"pictures of {camera} are {images.shape[1:3]}, and the data set's {size}")
        # A chunk for each picture: one is read without its neighbours.
        group.create_dataset(
            f"obs/{camera}_image", data=images, chunks=(1, *size, 3), compression="gzip", track_times=False
        )
