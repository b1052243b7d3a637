"""Folders of decoded frames, which a training reads as fast as a disk can: raw pictures, arrays, and what they are.

It is also a data set format, so that `robodx generate --format decoded --plugin examples/training/decoded.py` writes
such a folder at once, with the very pictures that were rendered.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robodx.datasets.descriptions import checked, described, features_of
from robodx.datasets.formats.base import FORMATS, DataFormat
from robodx.datasets.schema import Demonstration, Features, Images, Pictures
from robodx.running.demonstration_writer import STATE

# With it a folder is complete.
ABOUT = "about.json"


@dataclass(frozen=True)
class Decoded:
    """Frames of many episodes, one after the other; a data set too."""

    folder: Path
    about: Mapping[str, Any]

    @classmethod
    def at(cls, folder: Path) -> Decoded:
        return cls(folder, json.loads((folder / ABOUT).read_text()))

    @property
    def features(self) -> Features:
        return features_of(self.about["features"])

    @cached_property
    def lengths(self) -> list[int]:
        return [episode["length"] for episode in self.about["episodes"]]

    def __len__(self) -> int:
        return len(self.about["episodes"])

    @cached_property
    def _starts(self) -> NDArray[np.int64]:
        return np.cumsum([0, *self.lengths])

    def pictures_file(self, camera: str) -> Path:
        return self.folder / f"{camera}.u8"

    def numbers(self, name: str) -> NDArray[Any]:
        return np.asarray(np.load(self.folder / f"{name}.npy"))

    @cached_property
    def _numbers(self) -> dict[str, NDArray[Any]]:
        return {name: self.numbers(name) for name in ("state", "action", "success", "instruction")}

    def __getitem__(self, index: int) -> Demonstration:
        start, end = (int(one) for one in self._starts[index : index + 2])
        state, action, success, said = (array[start:end] for array in self._numbers.values())
        episode = self.about["episodes"][index]
        return Demonstration(
            instructions=tuple(self.about["instructions"][number] for number in said),
            images={name: self._pictures(name, start, end - start) for name in self.features.cameras},
            state={STATE: state},
            action=action,
            success=success if self.features.tells_success else None,
            metadata={name: value for name, value in episode.items() if name != "length"},
        )

    def _pictures(self, camera: str, start: int, count: int) -> Pictures:
        height, width = self.features.cameras[camera]

        def read(steps: Sequence[int]) -> Images:
            shape = (int(self._starts[-1]), height, width, 3)
            frames = np.memmap(self.pictures_file(camera), np.uint8, "r", shape=shape)
            return np.array(frames[start + np.asarray(steps, dtype=np.int64)])

        return Pictures(count, read)


def write(folder: Path, features: Features, demonstrations: Iterable[Demonstration]) -> None:
    """One episode at a time; the folder is complete when it has its `about.json`."""
    folder.mkdir(parents=True, exist_ok=True)
    found: dict[str, list[NDArray[Any]]] = {"state": [], "action": [], "success": [], "instruction": []}
    number: dict[str, int] = {}
    episodes: list[dict[str, Any]] = []
    with ExitStack() as stack:
        pictures = {name: stack.enter_context((folder / f"{name}.u8").open("wb")) for name in features.cameras}
        for _, one in checked(features, demonstrations):
            for name, file in pictures.items():
                file.write(one.images[name].all().tobytes())
            found["state"].append(one.state[STATE])
            found["action"].append(one.action)
            found["success"].append(np.zeros(len(one), np.bool_) if one.success is None else one.success)
            said = [number.setdefault(text, len(number)) for text in one.instructions]
            found["instruction"].append(np.array(said, dtype=np.int64))
            episodes.append({**one.metadata, "length": len(one)})
    for name, arrays in found.items():
        np.save(folder / f"{name}.npy", np.concatenate(arrays))
    about = {"features": described(features), "instructions": list(number), "episodes": episodes}
    (folder / ABOUT).write_text(json.dumps(about))


FORMATS.add(
    "decoded",
    DataFormat(
        name="decoded",
        summary="raw frames, as examples/training reads them",
        is_at=lambda path: (path / ABOUT).is_file(),
        read=Decoded.at,
        write=write,
    ),
)
