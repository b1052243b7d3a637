"""What a data set format is: how it is recognised, read and written; and how a data set is opened by its path."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple

from robodx.datasets.bounds import quoted
from robodx.datasets.descriptions import check_features
from robodx.datasets.schema import DataSet, Demonstration, Features
from robodx.errors import UserError
from robodx.registry import Registry, UnknownName, unknown

# How a writer likes its pictures to come: as they were, or as a video that it can copy.
Pictured = Literal["arrays", "video"]


# Of a message: names and values of a foreign file may be of any length.
MOST_SAID = 1000


class UnreadableData(UserError):
    """A data set that is missing, damaged or of another format; the message names the file, in one line."""

    def __init__(self, message: str) -> None:
        super().__init__(quoted(message, MOST_SAID))


@dataclass(frozen=True)
class DataFormat:
    """A format by name. `is_at` looks at names only; `write` gets a new folder or file to fill."""

    name: str
    summary: str
    is_at: Callable[[Path], bool]
    read: Callable[[Path], DataSet]
    # None for those that are only read.
    write: Callable[[Path, Features, Iterable[Demonstration]], None] | None = None
    pictured: Pictured = "arrays"
    # What the file's name ends in; "" if a data set is a folder.
    suffix: str = ""
    # Other endings by which a file of it is found.
    other_suffixes: tuple[str, ...] = ()
    # How others load it, in Python; for the card. PATH stands for where it is.
    loading: str = "from robodx.datasets.formats.base import open_data\n\ndata = open_data('PATH')"


FORMATS: Registry[DataFormat] = Registry("data set format", "datasets.formats")


class Located(NamedTuple):
    """Where a data set is, and what it is to be read as."""

    format: DataFormat
    path: Path

    def open(self) -> DataSet:
        data = self.format.read(self.path)
        try:
            check_features(data.features)
        except ValueError as error:
            raise UnreadableData(f"{self.path} describes no data set of a robot: {error}") from error
        return data


def locate(place: str) -> Located:
    """The data set at PATH, or FORMAT:PATH where it is to be read as one format."""
    head, separator, rest = place.partition(":")
    if separator and head in FORMATS:
        path = Path(rest).expanduser()
        if not path.exists():
            raise UnreadableData(f"there is no data set {path}")
        return Located(FORMATS[head], path)
    path = Path(place).expanduser()
    if not path.exists():
        if separator and head.isidentifier():
            raise UnknownName(unknown("data set format", head, FORMATS))
        raise UnreadableData(f"there is no data set {path}")
    for entry in FORMATS.entries():
        if entry.is_at(path):
            return Located(entry, path)
    raise UnreadableData(f"{path} is no data set of a known format; these are: {', '.join(FORMATS)}")


def open_data(place: str) -> DataSet:
    """The data set at PATH or FORMAT:PATH."""
    return locate(place).open()


def episodes(data: DataSet) -> Iterator[Demonstration]:
    return (data[index] for index in range(len(data)))


def writable() -> list[str]:
    return [entry.name for entry in FORMATS.entries() if entry.write is not None]
