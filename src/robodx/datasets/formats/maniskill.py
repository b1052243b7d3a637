"""ManiSkill's trajectories: an HDF5 file of them, and a JSON file of the same name about their episodes; only read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from robodx.datasets import foreign_files
from robodx.datasets.descriptions import numbered
from robodx.datasets.foreign_files import read_json
from robodx.datasets.formats.base import FORMATS, DataFormat, UnreadableData
from robodx.datasets.hdf5.files import Naming, Observed, arrays, fitting, numbers, observed, pictures, plain, reading
from robodx.datasets.hdf5.storage import check_links, values
from robodx.datasets.schema import DataSet, Demonstration, Features

# The second beginning is ManiSkill 2's.
NAMING = Naming(beginnings=("sensor_data/", "image/", "agent/", "extra/"), endings=("/rgb",))
# What is read of a trajectory; all else is listed as ignored.
READ = ("actions", "obs", "success")
# Metadata by the keys that lead to it in the JSON file, of the whole or of an episode: the first that is there.
OF_ALL: Mapping[str, Sequence[tuple[str, ...]]] = {"task": [("env_info", "env_id")]}
OF_EPISODE: Mapping[str, Sequence[tuple[str, ...]]] = {
    "episode_id": [("episode_id",)],
    "seed": [("episode_seed",), ("reset_kwargs", "seed")],
    "control_mode": [("control_mode",)],
    # Of the episode as a whole; its steps may not say it.
    "success": [("success",), ("info", "success")],
}
ABOUT: Mapping[str, Sequence[tuple[str, ...]]] = {
    "env_id": [("env_info", "env_id")],
    "obs_mode": [("env_info", "env_kwargs", "obs_mode")],
    "control_mode": [("env_info", "env_kwargs", "control_mode")],
    "source_type": [("source_type",)],
    "source_desc": [("source_desc",)],
}
HZ = [("env_info", "env_kwargs", "sim_config", "control_freq"), ("env_info", "env_kwargs", "control_freq")]
ROBOT = [("env_info", "env_kwargs", "robot_uids")]


@dataclass(frozen=True)
class _Trajectories:
    path: Path
    features: Features
    # Metadata of each, by the name of its group.
    episodes: Mapping[str, Mapping[str, Any]]

    def __len__(self) -> int:
        return len(self.episodes)

    def __getitem__(self, index: int) -> Demonstration:
        name, metadata = list(self.episodes.items())[index]
        with reading(self.path) as file:
            group = file[name]
            found = _observed(group)
            action = numbers(group["actions"])
            count = len(action)
            if short := [each for each, array in _observations(group).items() if len(array) != count + 1]:
                raise UnreadableData(
                    f"{name} of {self.path} has {count} actions, but not {count + 1} of obs/{short[0]}"
                )
            demonstration = Demonstration(
                # ManiSkill's tasks have no words.
                instructions=("",) * count,
                images={
                    camera: pictures(self.path, f"{name}/obs/{within}", count)
                    for camera, (within, _) in found.cameras.items()
                },
                state={key: numbers(_observations(group)[at], count) for key, (at, _) in found.state.items()},
                action=action,
                success=np.asarray(values(group["success"]), dtype=np.bool_) if "success" in group else None,
                metadata=metadata,
            )
        return fitting(f"{name} of {self.path}", self.features, found, demonstration)


def read(path: Path) -> DataSet:
    beside = path.with_suffix(".json")
    listed = read_json(beside)
    with foreign_files.reading(beside):
        episodes = {f"traj_{episode['episode_id']}": episode for episode in listed["episodes"]}
    with reading(path) as file:
        check_links(file)
        if lost := sorted(set(episodes) - set(file)):
            raise UnreadableData(f"{path} has no {lost[0]}, which {beside} lists")
        if not episodes:
            raise UnreadableData(f"{beside} lists no episodes")
        features = _features(file[next(iter(episodes))], listed)
    of_all = _found(listed, OF_ALL)
    return _Trajectories(path, features, {name: of_all | _found(each, OF_EPISODE) for name, each in episodes.items()})


def _features(first: Any, listed: Mapping[str, Any]) -> Features:
    found = _observed(first)
    hz = plain(_first(listed, HZ))
    missing = {
        "hz": hz is None,
        "instruction": True,
        "success": "success" not in first,
        "observations": not (found.cameras or found.state),
    }
    return Features(
        hz=None if hz is None else float(hz),
        cameras={name: size for name, (_, size) in found.cameras.items()},
        state={name: numbered(name, width) for name, (_, width) in found.state.items()},
        action=numbered("action", first["actions"].shape[1]),
        robot=str(_first(listed, ROBOT) or "unknown"),
        about=_found(listed, ABOUT)
        | {
            "observations": "the one after the last action is left out",
            "ignored": [f"obs/{name}" for name in found.ignored] + sorted(set(first) - set(READ)),
            "missing": [name for name, is_missing in missing.items() if is_missing],
        },
    )


def _observations(group: Any) -> dict[str, Any]:
    # In the mode "state" they are one array, in the mode "none" they are not there.
    return arrays(group["obs"]) if "obs" in group else {}


def _observed(group: Any) -> Observed:
    return observed(group["obs"], NAMING) if "obs" in group else Observed({}, {}, [])


def _found(source: Mapping[str, Any], table: Mapping[str, Sequence[tuple[str, ...]]]) -> dict[str, Any]:
    values = {name: plain(_first(source, paths)) for name, paths in table.items()}
    return {name: value for name, value in values.items() if value is not None}


def _first(source: Mapping[str, Any], paths: Sequence[tuple[str, ...]]) -> object:
    for path in paths:
        value: Any = source
        for key in path:
            value = value.get(key) if isinstance(value, Mapping) else None
        if value is not None:
            return value
    return None


FORMATS.add(
    "maniskill",
    DataFormat(
        name="maniskill",
        summary="ManiSkill's trajectories: NAME.h5 beside NAME.json; only read",
        is_at=lambda path: path.suffix.lower() == ".h5" and path.is_file() and path.with_suffix(".json").is_file(),
        read=read,
        suffix=".h5",
    ),
)
