"""How much memory columns of a Parquet file take when they are read, from the headers of the file and of its pages.

Headers are Thrift's compact protocol: https://github.com/apache/parquet-format. What a file says of a whole column may
be less than what its pages hold, and both may say more than there is: the larger counts.
"""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Iterator, Mapping, Set
from functools import lru_cache
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from robodx.datasets.bounds import in_words

MAGIC = b"PAR1"
# The length of the footer, and the magic.
TAIL = struct.Struct("<I4s")
# The footer of 1,000 columns in 1,000 row groups has so many bytes.
FOOTER_BYTES = 64 * 2**20
# Of a page, with its smallest and largest value.
HEADER_BYTES = 2**16
DEPTH = 20
# In memory, by the number of the physical type; of bytes and texts it is what points to them.
WIDTHS = {0: 1, 1: 4, 2: 8, 3: 12, 4: 4, 5: 8, 6: 16, 7: 16}
# Each text repeats the beginning of the one before, which it does not store.
DELTA_BYTE_ARRAY = 7
# Kinds of Thrift's fields.
TRUE, FALSE, BYTE, INTEGERS, DOUBLE, BINARY, LISTS, STRUCT = 1, 2, 3, (4, 5, 6), 7, 8, (9, 10), 12

# A struct's fields by their numbers.
Fields = dict[int, Any]


def size_of(file: Path, columns: Set[str]) -> int:
    """Bytes in memory of these columns of all rows, with all that is below them."""
    sizes = _sizes(file, *_version(file))
    return sum(sizes.by_column.get(name, 0) for name in columns)


def row_count(file: Path) -> int:
    return _sizes(file, *_version(file)).rows


class _Sizes(NamedTuple):
    rows: int
    by_column: Mapping[str, int]


def _version(file: Path) -> tuple[int, int]:
    found = file.stat()
    return found.st_mtime_ns, found.st_size


# A file is read for each of its episodes.
@lru_cache(256)
def _sizes(file: Path, changed: int, size: int) -> _Sizes:
    by_column: Counter[str] = Counter()
    with file.open("rb") as opened:
        footer = _footer(opened)
        for group in footer[4]:
            for described in group[1]:
                column = described[3]
                by_column[str(column[3][0], "utf-8")] += _size(opened, column, int(group[3]))
    return _Sizes(max(int(footer[3]), sum(int(group[3]) for group in footer[4])), by_column)


def _footer(file: BinaryIO) -> Fields:
    size = file.seek(0, 2)
    file.seek(max(size - TAIL.size, 0))
    tail = file.read(TAIL.size)
    length, magic = TAIL.unpack(tail) if len(tail) == TAIL.size else (0, b"")
    if magic != MAGIC or length + TAIL.size > size:
        raise ValueError("it is no Parquet file, or is cut off")
    if length > FOOTER_BYTES:
        raise ValueError(f"its footer has {in_words(length)}")
    file.seek(size - TAIL.size - length)
    return _Compact(file.read(length)).struct()


def _size(file: BinaryIO, column: Fields, rows: int) -> int:
    size = values = 0
    for page in _pages(file, column):
        header = page.get(5) or page.get(8)
        here, there = int(page[2]), int(header[1]) if header else 0
        if header and header.get(4 if 8 in page else 2) == DELTA_BYTE_ARRAY:
            here *= max(there, 1)
        if min(here, there, int(page[3])) < 0:
            raise ValueError("a page of it has a negative size")
        size, values = size + here, values + there
    count = max(values, rows, int(column[5]))
    return max(size, int(column[6])) + count * WIDTHS.get(column[1], 16)


def _pages(file: BinaryIO, column: Fields) -> Iterator[Fields]:
    """Up to as many values as the column has: no more is read."""
    start = min(int(column[9]), int(column.get(11) or column[9]))
    end, values = start + int(column[7]), 0
    while start < end and values < int(column[5]):
        file.seek(start)
        header = _Compact(file.read(HEADER_BYTES))
        page = header.struct()
        yield page
        values += int((page.get(5) or page.get(8) or {1: 0})[1])
        start += header.position + int(page[3])


class _Compact:
    """Reads Thrift's compact protocol from bytes; raises IndexError or ValueError where it is none."""

    def __init__(self, data: bytes) -> None:
        self.data, self.position = data, 0

    def struct(self, depth: int = 0) -> Fields:
        if depth > DEPTH:
            raise ValueError("a header of it is nested too deep")
        fields: Fields = {}
        number = 0
        while head := self._byte():
            number = number + (head >> 4) if head >> 4 else self._integer()
            fields[number] = self._value(head & 15, depth)
        return fields

    def _value(self, kind: int, depth: int) -> Any:
        if kind in (TRUE, FALSE):
            return kind == TRUE
        if kind == BYTE:
            return self._byte()
        if kind in INTEGERS:
            return self._integer()
        if kind == DOUBLE:
            return self._bytes(8)
        if kind == BINARY:
            return self._bytes(self._varint())
        if kind in LISTS:
            head = self._byte()
            count = head >> 4 if head >> 4 < 15 else self._varint()
            # Each takes at least a byte.
            if count > len(self.data) - self.position:
                raise ValueError("a list in a header of it is longer than the header")
            of = BYTE if head & 15 in (TRUE, FALSE) else head & 15
            return [self._value(of, depth + 1) for _ in range(count)]
        if kind == STRUCT:
            return self.struct(depth + 1)
        raise ValueError(f"a header of it has a field of an unknown kind {kind}")

    def _byte(self) -> int:
        value = self.data[self.position]
        self.position += 1
        return value

    def _bytes(self, length: int) -> bytes:
        if length > len(self.data) - self.position:
            raise ValueError("a header of it is cut off")
        self.position += length
        return self.data[self.position - length : self.position]

    def _varint(self) -> int:
        value = shift = 0
        while shift < 70:
            byte = self._byte()
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value
        raise ValueError("an integer in a header of it does not end")

    def _integer(self) -> int:
        """With the sign in the lowest bit."""
        value = self._varint()
        return value >> 1 ^ -(value & 1)
