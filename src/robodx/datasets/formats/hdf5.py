"""HDF5 as robomimic has it, a group for each demonstration: its files and LIBERO's are read, its are written."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from robodx.datasets import foreign_files
from robodx.datasets.bounds import within
from robodx.datasets.descriptions import KEY, features_of, numbered
from robodx.datasets.foreign_files import parsed
from robodx.datasets.formats.base import FORMATS, DataFormat, UnreadableData
from robodx.datasets.hdf5.files import (
    Naming,
    Observed,
    attribute,
    fitting,
    numbered_groups,
    numbers,
    observed,
    pictures,
    plain,
    plain_attributes,
    reading,
)
from robodx.datasets.hdf5.storage import check_links, texts, values
from robodx.datasets.hdf5.writing import INSTRUCTION, INSTRUCTIONS, SPLIT, SUCCESS, write
from robodx.datasets.schema import DataSet, Demonstration, Features

SUFFIXES = (".hdf5", ".h5")
# robomimic's and ours, LIBERO's.
NAMING = Naming(endings=("_image", "_rgb"))
# Where an instruction may stand if not at each step, the first that is there: an attribute of the demonstration or of
# all, and the key if the attribute is JSON. Ours, RoboCasa's, LIBERO's.
INSTRUCTION_AT = (
    ("demonstration", INSTRUCTION, ""),
    ("demonstration", "ep_meta", "lang"),
    ("all", INSTRUCTION, ""),
    ("all", "problem_info", "language_instruction"),
)
# Attributes of a demonstration that are no metadata: read elsewhere, or a simulator's own.
NO_METADATA = ("num_samples", INSTRUCTION, "ep_meta", "model_file", "init_state")
# What is read of a demonstration; all else is listed as ignored.
READ = ("actions", "obs", "rewards", "dones", SUCCESS, INSTRUCTIONS)
# Facts that a file's attribute tells, and that a training has to know.
FACTS: Mapping[tuple[str, str | None], tuple[str, str]] = {
    ("macros_image_convention", "opengl"): (
        "pictures",
        "upside down: the first row is at the bottom (OpenGL's convention), as the file has them",
    ),
    ("bddl_file_name", None): (
        "observations",
        "LIBERO's: those of a step were taken after its action, and rewards are set to 1 at the last step",
    ),
}


@dataclass(frozen=True)
class _File:
    path: Path
    demonstrations: tuple[str, ...]
    # Whether rewards are 0 and 1 only, and 1 somewhere: then 1 is success. If none is 1, nobody may have set them.
    are_rewards_success: bool
    splits: Mapping[str, str]


@dataclass(frozen=True)
class _Files:
    """The demonstrations of one file after the other."""

    features: Features
    files: tuple[_File, ...]

    def __len__(self) -> int:
        return sum(len(file.demonstrations) for file in self.files)

    def __getitem__(self, index: int) -> Demonstration:
        rest = range(len(self))[index]
        for file in self.files:
            if rest < len(file.demonstrations):
                return _demonstration(file, file.demonstrations[rest], self.features)
            rest -= len(file.demonstrations)
        raise IndexError(index)


def read(path: Path) -> DataSet:
    """One file, or a folder of files with the same features, as LIBERO has one for each task."""
    with foreign_files.reading(path):
        paths = [path] if path.is_file() else [within(path, each.name) for each in _files_in(path)]
    if not paths:
        raise UnreadableData(f"{path} holds no file that ends in {' or '.join(SUFFIXES)}")
    files = tuple(_look_into(each) for each in paths)
    with reading(paths[0]) as file:
        return _Files(_features(file["data"], files[0]), files)


def _look_into(path: Path) -> _File:
    with reading(path) as file:
        check_links(file)
        if "data" not in file:
            raise UnreadableData(f"{path} has no group data: it is no file of robomimic's layout")
        names = tuple(numbered_groups(file["data"], "demo"))
        if not names:
            raise UnreadableData(f"{path} has no demonstrations: no group data/demo_0")
        kinds = [_rewards(file["data"][name]) for name in names]
        splits: dict[str, list[str]] = {}
        for split in sorted(file.get("mask", ())):
            for name in values(file["mask"][split]):
                splits.setdefault(str(plain(name)), []).append(split)
        return _File(
            path,
            names,
            "other" not in kinds and "success" in kinds,
            {name: ", ".join(found) for name, found in splits.items()},
        )


def _features(data: Any, file: _File) -> Features:
    if KEY in data.attrs:
        return features_of(_json(attribute(data, KEY)))
    first = data[file.demonstrations[0]]
    found = _observed(first)
    environment = _json(attribute(data, "env_args"))
    arguments = environment.get("env_kwargs") or {}
    robots = arguments.get("robots", "unknown")
    hz = arguments.get("control_freq")
    missing = [
        name
        for name, is_missing in {
            "hz": hz is None,
            "instruction": _instruction(data, first) is None and INSTRUCTIONS not in first,
            "success": SUCCESS not in first and not file.are_rewards_success,
        }.items()
        if is_missing
    ]
    about: dict[str, Any] = {name: environment[name] for name in ("env_name", "problem_name") if name in environment}
    about |= {
        name: fact
        for (key, value), (name, fact) in FACTS.items()
        if key in data.attrs and value in (None, attribute(data, key))
    }
    if "success" not in missing and SUCCESS not in first:
        about["success"] = "where the reward is 1"
    about["ignored"] = [f"obs/{name}" for name in found.ignored] + sorted(set(first) - set(READ))
    about["missing"] = missing
    return Features(
        hz=None if hz is None else float(hz),
        cameras={name: size for name, (_, size) in found.cameras.items()},
        state={name: numbered(name, width) for name, (_, width) in found.state.items()},
        action=numbered("action", first["actions"].shape[1]),
        robot=robots if isinstance(robots, str) else ", ".join(map(str, robots)),
        about=about,
    )


def _demonstration(file: _File, name: str, features: Features) -> Demonstration:
    with reading(file.path) as opened:
        data = opened["data"]
        group = data[name]
        found = _observed(group)
        action = numbers(group["actions"])
        said = texts(group[INSTRUCTIONS]) if INSTRUCTIONS in group else None
        if said is None:
            # Where nothing was said there are no words; about["missing"] tells it.
            said = [_instruction(data, group) or ""] * len(action)
        split = {SPLIT: file.splits[name]} if name in file.splits else {}
        state = {key: numbers(group["obs"][within]) for key, (within, _) in found.state.items()}
        demonstration = Demonstration(
            instructions=tuple(said),
            images={
                camera: pictures(file.path, f"data/{name}/obs/{within}", group["obs"][within].shape[0])
                for camera, (within, _) in found.cameras.items()
            },
            # In the order of the features, where they are these.
            state={key: state[key] for key in features.state if key in state} | state,
            action=action,
            success=_success(group, file),
            metadata=dict(plain_attributes(group, without=NO_METADATA)) | split,
        )
    return fitting(f"{name} of {file.path}", features, found, demonstration)


def _observed(group: Any) -> Observed:
    # A file may hold simulator states alone, from which pictures are still to be made.
    return observed(group["obs"], NAMING) if "obs" in group else Observed({}, {}, [])


def _success(group: Any, file: _File) -> NDArray[np.bool_] | None:
    if SUCCESS in group:
        return np.asarray(values(group[SUCCESS]), dtype=np.bool_)
    return np.asarray(values(group["rewards"]) == 1) if file.are_rewards_success else None


def _rewards(group: Any) -> Literal["none", "success", "other"]:
    """Whether none is given, some say success by a 1, or they mean something else; or are not there."""
    if "rewards" not in group:
        return "other"
    rewards = values(group["rewards"])
    if not np.isin(rewards, (0, 1)).all():
        return "other"
    return "success" if rewards.any() else "none"


def _instruction(data: Any, group: Any) -> str | None:
    for holder, name, key in INSTRUCTION_AT:
        value = attribute({"demonstration": group, "all": data}[holder], name)
        found = _json(value).get(key) if key else value
        if isinstance(found, str) and found:
            return found
    return None


def _json(text: object) -> dict[str, Any]:
    value = parsed(text) if isinstance(text, str) else {}
    return value if isinstance(value, dict) else {}


def _files_in(folder: Path) -> list[Path]:
    return sorted(path for path in folder.iterdir() if _is_file(path)) if folder.is_dir() else []


def _is_file(path: Path) -> bool:
    # ManiSkill's end in .h5 and have a JSON file beside them.
    suffix = path.suffix.lower()
    is_of_maniskill = suffix == ".h5" and path.with_suffix(".json").exists()
    return suffix in SUFFIXES and path.is_file() and not is_of_maniskill


FORMATS.add(
    "hdf5",
    DataFormat(
        name="hdf5",
        summary="HDF5 as robomimic has it; also LIBERO's files, and folders of them",
        is_at=lambda path: _is_file(path) or bool(_files_in(path)),
        read=read,
        write=write,
        suffix=SUFFIXES[0],
        other_suffixes=SUFFIXES[1:],
        loading='import h5py\n\nfirst = h5py.File("PATH")["data/demo_0"]  # actions, obs/front_image, …',
    ),
)
