"""TensorFlow's `Example` messages, as which records hold named lists of bytes, floats or integers.

As protocol buffers: Example{1: Features{1: map entries {1: name, 2: Feature}}}, where a Feature is one of
{1: list of bytes}, {2: list of floats}, {3: list of int64}, each {1: values}.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

# Float32 or int64 arrays, or bytes.
Values = Sequence[bytes] | NDArray[np.float32] | NDArray[np.int64]

BYTES, FLOATS, INTEGERS = 1, 2, 3
VARINT, FIXED64, DELIMITED, FIXED32 = 0, 1, 2, 5
# Of 64 bits, 7 a byte.
VARINT_BYTES = 10


def encode(example: Mapping[str, Values]) -> bytes:
    """In the order of the names, so that the same example gives the same bytes."""
    entries = (
        _field(1, _field(1, name.encode()) + _field(2, _feature(values))) for name, values in sorted(example.items())
    )
    return _field(1, b"".join(entries))


def decode(data: bytes) -> dict[str, Values]:
    """Raises ValueError if it is no such message."""
    found: dict[str, Values] = {}
    try:
        for features in _delimited(memoryview(data), 1):
            for entry in _delimited(features, 1):
                parts = dict(_fields(entry))
                name, feature = (_bytes(parts.get(number, memoryview(b""))) for number in (1, 2))
                found[str(name, "utf-8")] = _values(feature)
    except IndexError as error:
        raise ValueError("a message ends too early") from error
    return found


def _feature(values: Values) -> bytes:
    if not isinstance(values, np.ndarray):
        return _field(BYTES, b"".join(_field(1, value) for value in values))
    if values.dtype.kind == "f":
        return _field(FLOATS, _field(1, values.astype("<f4").tobytes()))
    return _field(INTEGERS, _field(1, b"".join(_varint(int(value) % 2**64) for value in values.ravel())))


def _values(feature: memoryview) -> Values:
    for kind, content in _fields(feature):
        if kind == BYTES:
            return [bytes(value) for value in _delimited(_bytes(content), 1)]
        # Numbers come packed in one field, or one field each.
        parts = [value for number, value in _fields(_bytes(content)) if number == 1]
        if kind == FLOATS:
            return np.frombuffer(b"".join(_bytes(part) for part in parts), dtype="<f4")
        if kind == INTEGERS:
            packed = (part if isinstance(part, memoryview) else _varint(part) for part in parts)
            return _integers(b"".join(packed))
    return []


def _bytes(part: memoryview | int) -> memoryview:
    if isinstance(part, int):
        raise ValueError("a message has an integer where it should have bytes")
    return part


def _integers(packed: bytes) -> NDArray[np.int64]:
    """Seven bits a byte, the lowest first; the highest bit says that the integer goes on."""
    digits = np.frombuffer(packed, dtype=np.uint8)
    if not digits.size:
        return np.empty(0, np.int64)
    if digits[-1] >= 128:
        raise IndexError(digits.size)
    ends = np.flatnonzero(digits < 128)
    starts = np.concatenate([[0], ends[:-1] + 1])
    if (ends - starts).max() >= VARINT_BYTES:
        raise ValueError("an integer has more than 64 bits")
    shifts = 7 * (np.arange(digits.size) - np.repeat(starts, ends - starts + 1))
    parts = (digits & 127).astype(np.uint64) << shifts.astype(np.uint64)
    return np.add.reduceat(parts, starts).astype(np.int64)


def _delimited(message: memoryview, wanted: int) -> Iterator[memoryview]:
    for number, value in _fields(message):
        if number == wanted:
            yield _bytes(value)


def _fields(message: memoryview) -> Iterator[tuple[int, memoryview | int]]:
    """Numbers and contents of a message's fields, the contents as bytes or, of a varint, as an integer."""
    position = 0
    while position < len(message):
        key, position = _read_varint(message, position)
        number, wire = key >> 3, key & 7
        if not number:
            raise ValueError("a field has no number")
        if wire == VARINT:
            value, position = _read_varint(message, position)
            yield number, value
            continue
        if wire == DELIMITED:
            length, position = _read_varint(message, position)
        else:
            length = {FIXED64: 8, FIXED32: 4}.get(wire, len(message) + 1)
        if position + length > len(message):
            raise IndexError(position)
        yield number, message[position : position + length]
        position += length


def _read_varint(message: memoryview, position: int) -> tuple[int, int]:
    value = 0
    for digit in range(VARINT_BYTES):
        byte = message[position + digit]
        value |= (byte & 127) << 7 * digit
        if byte < 128:
            return value, position + digit + 1
    raise ValueError("an integer has more than 64 bits")


def _varint(value: int) -> bytes:
    digits = bytearray()
    while value >= 128:
        digits.append(value & 127 | 128)
        value >>= 7
    return bytes([*digits, value])


def _field(number: int, content: bytes) -> bytes:
    return _varint(number << 3 | DELIMITED) + _varint(len(content)) + content
