"""How much an MP4 file asks for, known before FFmpeg builds an index of all its samples in memory.

FFmpeg follows boxes wherever they are nested, and reads a table even where its box is too short. So the tables are
found by their names, not by their places: a name must stand somewhere outside of the media data to be followed.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import BinaryIO, NamedTuple

import numpy as np

from robodx.datasets.bounds import fits, in_words, stored_bytes

# All that is not media data: a million pictures need 10 MB or so.
DESCRIPTION_BYTES = 64 * 2**20
# At the top, and of one name. A video has one of each for every stream, and some more.
MOST_BOXES = 10_000
# FFmpeg's memory for each sample of its index.
SAMPLE_BYTES = 72
# An empty one and one with pictures; more of them change their order, which is not followed.
MOST_EDITS = 2
# What makes FFmpeg read or repeat more than the tables say, and no video of a data set has.
REFUSED = {
    b"trex": "fragments",
    b"sidx": "fragments",
    b"dcomzlib": "a compressed description",
    b"ipco": "still pictures",
    b"stz2": "a compact table of sizes",
}
# A text may have one of these within a word, but a file that is encrypted has one of each.
ENCRYPTED = ((b"senc", b"saiz"), (b"schm", b"tenc"))
NAMES = (*REFUSED, *ENCRYPTED[0], *ENCRYPTED[1])


class Samples(NamedTuple):
    number: int
    # Of all of them together.
    size: int


def check(file: Path) -> None:
    """Raises ValueError where its samples cannot all be in it, or their index would be too large."""
    held, stored = file.stat().st_size, stored_bytes(file)
    tables = samples = size = 0
    names: set[bytes] = set()
    for box in _descriptions(file, held):
        names |= {name for name in NAMES if name in box}
        _check_edits(box)
        for place in _places(box, b"stsz"):
            found = _samples(box, place)
            tables, samples, size = tables + 1, samples + found.number, size + found.size
            # At each, for they may overlap and take long to read.
            if size > held:
                raise ValueError(f"its {samples:,} samples would have {in_words(size)}, but it has {in_words(held)}")
            fits("its samples", size, stored)
            fits(f"an index of its {samples:,} samples", SAMPLE_BYTES * samples, stored)
    _check_names(names)
    if not tables:
        raise ValueError("it is no MP4 video: it has no table of samples")


def _descriptions(file: Path, end: int) -> Iterator[bytes]:
    """The boxes at the top, as FFmpeg goes from one to the next, without the media data."""
    place, room = 0, DESCRIPTION_BYTES
    with file.open("rb") as opened:
        for number in count():
            if end - place < 8:
                return
            if number == MOST_BOXES:
                raise ValueError(f"it has more than {MOST_BOXES:,} parts")
            opened.seek(place)
            kind, size = _header(opened, end - place)
            if kind != b"mdat":
                room -= size
                if room < 0:
                    raise ValueError(f"it has more than {in_words(DESCRIPTION_BYTES)} beside its media data")
                opened.seek(place)
                yield opened.read(size)
            place += size


def _header(opened: BinaryIO, rest: int) -> tuple[bytes, int]:
    """The kind of a box and its size, all that is left where the size makes no sense."""
    size, kind = struct.unpack(">I4s", opened.read(8))
    least = 8
    if size == 1 and rest >= 16:
        (size,), least = struct.unpack(">Q", opened.read(8)), 16
    return kind, size if least <= size <= rest else rest


def _check_names(names: set[bytes]) -> None:
    for name, what in REFUSED.items():
        if name in names:
            raise ValueError(
                f"it has {what}, which no video of a data set has, or {name.decode()}, the mark of that, in a text"
            )
    if all(names & set(either) for either in ENCRYPTED):
        marks = " and ".join(sorted(name.decode() for name in names & {*ENCRYPTED[0], *ENCRYPTED[1]}))
        raise ValueError(f"it is encrypted, or has the marks of that, {marks}, in a text")


def _check_edits(box: bytes) -> None:
    for place in _places(box, b"elst"):
        size, said = int.from_bytes(box[place - 8 : place - 4]), int.from_bytes(box[place + 4 : place + 8])
        # A word of a text has no such size.
        if size in (16 + 12 * said, 16 + 20 * said) and said > MOST_EDITS:
            raise ValueError(f"it is cut into {said:,} edits, more than {MOST_EDITS}")


def _places(box: bytes, name: bytes) -> Iterator[int]:
    """Where the content of each box of this name begins."""
    found = -1
    for number in count():
        found = box.find(name, found + 1)
        if found < 0:
            return
        if number == MOST_BOXES:
            raise ValueError(f"it has more than {MOST_BOXES:,} boxes {name.decode()}")
        # A size of 1 says that the size follows the name, in 8 bytes.
        yield found + (12 if box[max(found - 4, 0) : found] == b"\0\0\0\1" else 4)


def _samples(box: bytes, place: int) -> Samples:
    """What a table of sizes says: one size for all, or one for each."""
    if place + 12 > len(box):
        raise ValueError("a table of its samples is cut off")
    _, one, number = struct.unpack_from(">III", box, place)
    if one:
        return Samples(number, one * number)
    if place + 12 + 4 * number > len(box):
        raise ValueError(f"a table of its {number:,} samples is cut off")
    return Samples(number, int(np.frombuffer(box, ">u4", number, place + 12).sum(dtype=np.int64)))
