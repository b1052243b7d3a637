"""What formats in HDF5 share: files that are opened for one reading, observations sorted into pictures and numbers."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from robodx.datasets import foreign_files
from robodx.datasets.bounds import numbers_fit
from robodx.datasets.descriptions import differing
from robodx.datasets.extras import needed
from robodx.datasets.formats.base import UnreadableData
from robodx.datasets.hdf5.storage import check_stored, values
from robodx.datasets.schema import Demonstration, Features, Images, Numbers, Pictures


@contextlib.contextmanager
def reading(path: Path) -> Iterator[Any]:
    """The open file. It is opened for each reading: a data set can then go to other processes."""
    h5py = needed("h5py")
    with foreign_files.reading(path), h5py.File(path, "r") as file:
        yield file


@dataclass(frozen=True)
class Naming:
    """How a layout names its observations: what is left off, so that a camera or a vector remains."""

    beginnings: tuple[str, ...] = ()
    endings: tuple[str, ...] = ()

    def short(self, name: str) -> str:
        for beginning in self.beginnings:
            if name.startswith(beginning):
                name = name.removeprefix(beginning)
                break
        for ending in self.endings:
            if name.endswith(ending) and name != ending:
                return name.removesuffix(ending)
        return name


class Observed(NamedTuple):
    """The arrays of a group by our names; each is the name within the group."""

    # Height and width go with each.
    cameras: dict[str, tuple[str, tuple[int, int]]]
    # The width goes with each.
    state: dict[str, tuple[str, int]]
    # Depths, segmentations, camera matrices and the like.
    ignored: list[str]


def observed(group: Any, naming: Naming) -> Observed:
    """An array of bytes (steps, height, width, 3) is a camera's, one of numbers (steps, width) a part of the state."""
    found = Observed({}, {}, [])
    widths = {}
    for name, array in sorted(arrays(group).items()):
        if array.dtype == np.uint8 and array.ndim == 4 and array.shape[3] == 3:
            _put(found.cameras, naming.short(name), name, (array.shape[1], array.shape[2]))
        elif array.dtype.kind in "fiub" and array.ndim in (1, 2):
            widths[name] = array.shape[1] if array.ndim == 2 else 1
            _put(found.state, naming.short(name), name, widths[name])
        else:
            found.ignored.append(name)
    numbers_fit(widths)
    return found


def fitting(where: str, features: Features, found: Observed, demonstration: Demonstration) -> Demonstration:
    """The demonstration, if it is as the features say that were found in the first."""
    difference = differing(features, demonstration)
    sizes = {camera: size for camera, (_, size) in found.cameras.items()}
    if not difference and sizes != features.cameras:
        difference = f"has pictures of {sizes}, and the data set of {dict(features.cameras)}"
    if difference:
        raise UnreadableData(f"{where} {difference}")
    return demonstration


def _put(table: dict[str, tuple[str, Any]], short: str, name: str, size: Any) -> None:
    """Of two arrays with the same short name, the second keeps its long one."""
    table[name if short in table else short] = (name, size)


def arrays(group: Any) -> dict[str, Any]:
    """All below a group, by their names within it."""
    h5py = needed("h5py")
    if isinstance(group, h5py.Dataset):
        return {group.name.rpartition("/")[2]: group}
    found: dict[str, Any] = {}
    # What the function returns ends the visit: nothing.
    group.visititems(lambda name, item: found.update({name: item} if isinstance(item, h5py.Dataset) else {}))
    return found


def numbers(array: Any, count: int | None = None) -> Numbers:
    """The first `count` steps, one row each."""
    found = np.asarray(values(array)[:count], dtype=np.float32)
    return found.reshape(len(found), -1)


def pictures(path: Path, name: str, count: int) -> Pictures:
    # So many steps at once were found to fit.
    fitting_steps = 0

    def read(steps: Sequence[int]) -> Images:
        nonlocal fitting_steps
        with reading(path) as file:
            array = file[name]
            if len(steps) > fitting_steps:
                check_stored(array, len(steps))
                fitting_steps = len(steps)
            if list(steps) == list(range(count)):
                return np.asarray(array[:count], dtype=np.uint8)
            # One at a time: HDF5 is slow at picking many rows at once.
            rows = {step: np.asarray(array[step], dtype=np.uint8) for step in sorted(set(steps))}
        return np.stack([rows[step] for step in steps])

    return Pictures(count, read)


def numbered_groups(group: Any, beginning: str) -> list[str]:
    """demo_0, demo_1, …, demo_10, in this order."""
    found = [(int(match[1]), name) for name in group if (match := re.fullmatch(rf"{beginning}_(\d+)", name))]
    return [name for _, name in sorted(found)]


def plain(value: object) -> str | int | float | bool | None:
    """An attribute as a text, number or boolean; None if it is something else."""
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    if isinstance(value, np.generic):
        value = value.item()
    return value if isinstance(value, str | int | float | bool) else None


def attribute(group: Any, name: str) -> str | int | float | bool | None:
    """Only a single value is read: a list may point at the same text many times."""
    return plain(group.attrs[name]) if name in group.attrs and group.attrs.get_id(name).shape == () else None


def plain_attributes(group: Any, *, without: Sequence[str] = ()) -> Mapping[str, str | int | float | bool]:
    found = {name: attribute(group, name) for name in group.attrs if name not in without}
    return {name: value for name, value in found.items() if value is not None}
