"""TFRecord files: records with their lengths and checksums before and behind them."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import BinaryIO, NamedTuple

from robodx.datasets.bounds import EXPANSION, FREE_BYTES, in_words, stored_bytes
from robodx.datasets.extras import needed
from robodx.datasets.formats.base import UnreadableData

# Length (8 bytes) and its checksum, the record, and its checksum.
HEADER = struct.Struct("<QI")
LENGTH = struct.Struct("<Q")
FOOTER = struct.Struct("<I")
# As TensorFlow's messages have at most; a file with holes says that it is larger than it is.
MOST_BYTES = 2**31
# Checksums are masked, so that one of data that holds checksums is no special case.
MASK = 0xA282EAD8


class Place(NamedTuple):
    """Of a record's data in its file, in bytes."""

    start: int
    length: int


def checksum(data: bytes) -> int:
    crc = int(needed("google_crc32c").value(data))
    return ((crc >> 15 | crc << 17) + MASK) & 0xFFFFFFFF


def append(file: BinaryIO, data: bytes) -> None:
    length = LENGTH.pack(len(data))
    file.write(length + FOOTER.pack(checksum(length)) + data + FOOTER.pack(checksum(data)))


def places(path: Path) -> list[Place]:
    """Of all records, from their headers alone."""
    found: list[Place] = []
    try:
        size = path.stat().st_size
        with path.open("rb") as file:
            position = 0
            while position < size:
                header = file.read(HEADER.size)
                start = position + HEADER.size
                if len(header) < HEADER.size:
                    raise UnreadableData(f"{path} is cut off in record {len(found)}")
                length, crc = HEADER.unpack(header)
                if crc != checksum(header[: LENGTH.size]):
                    raise UnreadableData(f"{path} is damaged at byte {position}, or no TFRecord file")
                position = start + length + FOOTER.size
                if position > size:
                    raise UnreadableData(f"{path} is cut off in record {len(found)}")
                found.append(Place(start, length))
                file.seek(position)
    except OSError as error:
        raise UnreadableData(f"{path} cannot be read: {error}") from error
    return found


def record(path: Path, place: Place) -> bytes:
    # On a disk that compresses, a file takes less room than it has bytes.
    if place.length > min(MOST_BYTES, max(FREE_BYTES, EXPANSION * stored_bytes(path))):
        raise UnreadableData(f"{path} says that a record of it has {in_words(place.length)}")
    try:
        with path.open("rb") as file:
            file.seek(place.start)
            data = file.read(place.length + FOOTER.size)
    except OSError as error:
        raise UnreadableData(f"{path} cannot be read: {error}") from error
    data, footer = data[: place.length], data[place.length :]
    if len(footer) < FOOTER.size or FOOTER.unpack(footer)[0] != checksum(data):
        raise UnreadableData(f"{path} is damaged in the record at byte {place.start}")
    return data
