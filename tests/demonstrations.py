"""Small data sets whose every number says where it stands, and a format for them that is one file."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

from robodx.datasets.formats.base import FORMATS, DataFormat
from robodx.datasets.schema import DataSet, Demonstration, Features, InMemory, Pictures

DOCS = Path(__file__).parents[1] / "docs" / "datasets.md"

FEATURES = Features(
    hz=10.0,
    cameras={"front": (8, 12), "wrist": (8, 8)},
    state={"joints": ("j1", "j2"), "gripper": ("opening",)},
    action=("dx", "dy"),
    robot="panda",
)


def demonstration(steps: int, number: int = 0, features: Features = FEATURES, **metadata: Any) -> Demonstration:
    """Actions are (episode, step), the state is (step, episode; -step), pictures are 10 * episode + step all over."""
    at = np.arange(steps)
    values = {"joints": np.stack([at, np.full(steps, number)], axis=1), "gripper": -at[:, None]}
    pictures = (10 * number + at).astype(np.uint8)[:, None, None, None]
    return Demonstration(
        instructions=tuple("put it down" if step >= 3 else "lift the cube" for step in at),
        images={
            name: Pictures.of(np.broadcast_to(pictures, (steps, *size, 3))) for name, size in features.cameras.items()
        },
        state={name: values[name].astype(np.float32) for name in features.state},
        action=np.stack([np.full(steps, number), at], axis=1).astype(np.float32),
        success=at == steps - 1,
        metadata={"task": f"test/{'even' if number % 2 == 0 else 'odd'}", **metadata},
    )


def in_memory(*lengths: int, features: Features = FEATURES) -> InMemory:
    return InMemory(features, [demonstration(steps, number, features) for number, steps in enumerate(lengths)])


@dataclass(frozen=True)
class _Stored:
    """Reads an episode when it is asked for."""

    path: Path
    features: Features
    count: int

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, index: int) -> Demonstration:
        if not 0 <= index < self.count:
            raise IndexError(index)
        with np.load(self.path) as file:
            found = {name.partition("/")[2]: file[name] for name in file.files if name.startswith(f"{index}/")}
        return Demonstration(
            tuple(map(str, found["instructions"])),
            {name: Pictures.of(found[f"images/{name}"]) for name in self.features.cameras},
            {name: found[f"state/{name}"] for name in self.features.state},
            found["action"],
            found.get("success"),
            json.loads(str(found["metadata"])),
        )


def _read(path: Path) -> DataSet:
    with np.load(path) as file:
        stored = json.loads(str(file["features"]))
        count = int(file["count"])
    stored["cameras"] = {name: tuple(size) for name, size in stored["cameras"].items()}
    stored["state"] = {name: tuple(names) for name, names in stored["state"].items()}
    return _Stored(path, Features(**{**stored, "action": tuple(stored["action"])}), count)


def _write(path: Path, features: Features, demonstrations: Iterable[Demonstration]) -> None:
    arrays: dict[str, Any] = {"features": json.dumps(asdict(features))}
    count = 0
    for one in demonstrations:
        parts: dict[str, Any] = {"instructions": one.instructions, "action": one.action}
        parts |= {} if one.success is None else {"success": one.success}
        parts |= {f"images/{name}": pictures.all() for name, pictures in one.images.items()}
        parts |= {f"state/{name}": values for name, values in one.state.items()}
        parts["metadata"] = json.dumps(dict(one.metadata))
        arrays |= {f"{count}/{name}": value for name, value in parts.items()}
        count += 1
    with path.open("wb") as file:
        np.savez(file, **arrays, count=count)


TINY = DataFormat("tiny", "one file, for tests", lambda path: path.suffix == ".tiny", _read, _write, suffix=".tiny")


@contextmanager
def format_registered(entry: DataFormat = TINY) -> Iterator[None]:
    """For the time of the block: other tests look at all formats there are."""
    assert entry.name not in FORMATS  # which fills the registry first
    with patch.dict(FORMATS._entries, {entry.name: entry}):
        yield


def stored(path: Path, *lengths: int, features: Features = FEATURES) -> Path:
    data = in_memory(*lengths, features=features)
    _write(path, data.features, data.demonstrations)
    return path


def documented(heading: str) -> str:
    """The Python example under a heading of docs/datasets.md, with data sets of this format."""
    under = DOCS.read_text().partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    found = re.search(r"```python\n(.*?)```", under, re.DOTALL)
    assert found is not None, heading
    return re.sub(r"\.(lerobot|hdf5)\b", ".tiny", found[1])
