"""Messages of named values: msgpack with arrays in the forms that policy servers use. Nothing is ever unpickled."""

from __future__ import annotations

import io
import math
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

import msgpack
import numpy as np
from numpy.typing import NDArray

from robodx.wires.quoting import complaint, quote

# Of a reply: actions are small, and a server gone wrong must not fill the memory.
MAX_REPLY_BYTES = 16 * 2**20
# Of a request: a few pictures of the largest size that a policy may ask for.
MAX_REQUEST_BYTES = 256 * 2**20
# bool, signed, unsigned, float: nothing that could hold an object.
KINDS = "biuf"
# Every spelling of a number's type that a message may use. It is looked up: numpy would parse megabytes for minutes.
DTYPES = {
    spelling: np.dtype(spelling)
    for number in map(np.dtype, "?" + np.typecodes["AllInteger"] + np.typecodes["Float"])
    for spelling in (number.name, *(f"{order}{number.str[1:]}" for order in ("", "<", ">", "=", "|")))
}
# The header of a .npy array holds a type and a shape, and numpy reads it as a Python expression.
MAX_NPY_HEADER = 1000
# Of maps that stand for an array, a scalar or a picture.
MARKS = frozenset(
    [b"__ndarray__", "__ndarray__", b"nd", "nd", b"__npgeneric__", "__npgeneric__", "__ndarray_class__", "__image__"]
)
MAX_PIXELS = 4096 * 4096
# Of all pictures in one message: black ones take a thousand times less on the wire than in memory.
MAX_MESSAGE_PIXELS = 4 * MAX_PIXELS
# Of one message: each is a byte on the wire and a hundred in memory.
MAX_CONTAINERS = 100_000
# Of one list or map, for which room is made before anything of it is read.
MAX_ITEMS = 1_000_000
# Of a dotted name: every value in a map repeats the map's own name.
MAX_NAME = 200

Encode = Callable[[Any], Any]


class Malformed(ValueError):
    """Bytes that are no message; the text says what came and what was expected."""


def pack(message: object, encode: Encode) -> bytes:
    packed: bytes = msgpack.packb(message, default=encode)
    return packed


def unpack(data: bytes | bytearray | memoryview) -> Any:
    """Read a message with arrays in any of the known forms."""
    reader = _Reader()
    # So many bytes cannot hold more.
    is_long = len(data) > MAX_CONTAINERS
    try:
        return msgpack.unpackb(
            data,
            object_hook=reader.counted_map if is_long else reader.map,
            list_hook=reader.counted_list if is_long else None,
            max_array_len=MAX_ITEMS,
            max_map_len=MAX_ITEMS,
            strict_map_key=False,
        )
    except Malformed:
        raise
    # What msgpack and numpy raise on bad bytes is many things, and each means the same here.
    except Exception as error:
        raise Malformed(f"{quote(data)}, which is no msgpack message: {complaint(error)}") from error


def encode_with_bytes(value: Any) -> Any:
    """The form of openpi: bytes as keys."""
    if isinstance(value, np.ndarray):
        return {
            b"__ndarray__": True, b"data": _plain(value).tobytes(), b"dtype": value.dtype.str, b"shape": value.shape,
        }  # fmt: skip
    if isinstance(value, np.generic):
        return {b"__npgeneric__": True, b"data": value.item(), b"dtype": value.dtype.str}
    raise TypeError(f"a {type(value).__name__} cannot be sent")


def encode_with_text(value: Any) -> Any:
    """The form of vla-eval: text as keys, scalars as plain numbers."""
    if isinstance(value, np.ndarray):
        return {
            "__ndarray__": True, "data": _plain(value).tobytes(), "dtype": value.dtype.str, "shape": list(value.shape),
        }  # fmt: skip
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"a {type(value).__name__} cannot be sent")


def encode_as_npy(value: Any) -> Any:
    """The form of GR00T: the bytes of a .npy file."""
    if isinstance(value, np.ndarray):
        file = io.BytesIO()
        np.save(file, _plain(value), allow_pickle=False)
        return {"__ndarray_class__": True, "as_npy": file.getvalue()}
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"a {type(value).__name__} cannot be sent")


def flatten(message: Mapping[str, Any], prefix: str = "", depth: int = 8) -> dict[str, Any]:
    """Nested maps as one, with dotted names; maps that lie deeper than anything sensible stay maps."""
    flat: dict[str, Any] = {}
    for key, value in message.items():
        name = check_name(f"{prefix}{key}")
        if isinstance(value, Mapping) and depth:
            flat.update(flatten(value, f"{name}.", depth - 1))
        else:
            flat[name] = value
    return flat


def check_name(name: str) -> str:
    """The name, refused if it is longer than any."""
    if len(name) > MAX_NAME:
        raise Malformed(f"a message with a name of {len(name)} letters, above {MAX_NAME}: {quote(name[:40])}…")
    return name


def nest(flat: Mapping[str, Any]) -> dict[str, Any]:
    """The reverse: `images.front` becomes `front` in the map `images`."""
    nested: dict[str, Any] = {}
    for name, value in flat.items():
        *path, last = name.split(".")
        inner = nested
        for key in path:
            inner = inner.setdefault(key, {})
        inner[last] = value
    return nested


def rebuild(data: object, dtype: object, shape: object) -> NDArray[Any]:
    """An array from its parts, refused unless they fit together."""
    if not isinstance(data, bytes | bytearray | memoryview):
        raise Malformed(f"an array whose data are {type(data).__name__}, not bytes")
    kind = read_dtype(dtype)
    if not isinstance(shape, list | tuple) or len(shape) > 8:
        raise Malformed(f"an array of shape {quote(shape)}")
    if not all(type(size) is int and 0 <= size <= MAX_REQUEST_BYTES for size in shape):
        raise Malformed(f"an array of shape {quote(shape)}")
    # An array without data may still be too large for numpy to describe.
    if math.prod(shape) * kind.itemsize != len(data) or math.prod(max(size, 1) for size in shape) > MAX_REQUEST_BYTES:
        raise Malformed(f"an array of shape {quote(tuple(shape))} and type {kind} with {len(data)} bytes of data")
    # A copy: what is read must not be a view into a buffer that the next message overwrites.
    return np.frombuffer(data, kind).reshape(shape).copy()


def read_dtype(dtype: object) -> np.dtype[Any]:
    kind = DTYPES.get(dtype) if isinstance(dtype, str) else None
    if kind is None:
        raise Malformed(f"an array of type {quote(dtype)}, but only booleans, integers and floats are taken")
    return kind


def numbers_of(value: object) -> NDArray[Any]:
    """An array, or numbers in lists. ValueError for anything else: numpy makes each text as long as the longest."""
    inside = [value]
    while inside:
        one = inside.pop()
        if isinstance(one, list | tuple):
            inside.extend(one)
        elif not isinstance(one, bool | int | float | np.ndarray | np.generic):
            raise ValueError(f"of type {type(one).__name__}, not numbers: {quote(value)}")
    try:
        return np.asarray(value)
    except ValueError as error:
        raise ValueError(f"of uneven lengths: {quote(value)}") from error


def _plain(array: NDArray[Any]) -> NDArray[Any]:
    if array.dtype.kind not in KINDS:
        raise TypeError(f"an array of type {array.dtype} cannot be sent")
    # Not ascontiguousarray, which makes a list of a number.
    return np.asarray(array, order="C")


class _Reader:
    """Decodes the maps and lists of one message while they are not too many, nor its pictures too large."""

    def __init__(self) -> None:
        self._containers_left, self._pixels_left = MAX_CONTAINERS, MAX_MESSAGE_PIXELS

    def counted_map(self, value: dict[Any, Any]) -> Any:
        self._count()
        return self.map(value)

    def counted_list(self, value: list[Any]) -> list[Any]:
        self._count()
        return value

    def map(self, value: dict[Any, Any]) -> Any:
        # Most maps are maps.
        if MARKS.isdisjoint(value):
            return value
        if "__image__" in value and value.get("format") != "raw":
            image = _from_image(value, min(MAX_PIXELS, self._pixels_left))
            self._pixels_left -= image.shape[0] * image.shape[1]
            return image
        return _decode(value)

    def _count(self) -> None:
        self._containers_left -= 1
        if self._containers_left < 0:
            raise Malformed(f"a message of more than {MAX_CONTAINERS} maps and lists")


def _decode(value: dict[Any, Any]) -> Any:
    # openpi's keys are bytes, vla-eval's text: after that they agree.
    for ndarray, data, dtype, shape in (
        (b"__ndarray__", b"data", b"dtype", b"shape"),
        ("__ndarray__", "data", "dtype", "shape"),
        (b"nd", b"data", b"type", b"shape"),
        ("nd", "data", "type", "shape"),
    ):
        if ndarray in value and data in value:
            array = rebuild(value[data], _text(value.get(dtype)), value.get(shape, []))
            # msgpack-numpy marks scalars by a false `nd`.
            return array if value[ndarray] else array.reshape(-1)[0]
    for generic, data, dtype in ((b"__npgeneric__", b"data", b"dtype"), ("__npgeneric__", "data", "dtype")):
        if generic in value:
            return _scalar(value.get(data), _text(value.get(dtype)))
    if "__ndarray_class__" in value:
        return _from_npy(value.get("as_npy"))
    if "__image__" in value:
        return rebuild(value.get("data"), value.get("dtype"), value.get("shape", []))
    return value


def _text(value: object) -> object:
    return value.decode("ascii", "replace") if isinstance(value, bytes) else value


def _scalar(data: object, dtype: object) -> Any:
    if not isinstance(data, bool | int | float):
        raise Malformed(f"a scalar {quote(data)} of type {quote(dtype)}")
    return read_dtype(dtype).type(data)


def _from_npy(data: object) -> NDArray[Any]:
    if not isinstance(data, bytes):
        raise Malformed(f"an array whose .npy bytes are {quote(data)}")
    # Magic, version and the header's length, which is wider from version 2 on.
    start, width = (10, 2) if data[6:7] == b"\x01" else (12, 4)
    end = start + int.from_bytes(data[start - width : start], "little")
    if end > MAX_NPY_HEADER:
        raise Malformed(
            f"{quote(data)}, which is no .npy array: its header has {end} bytes, not at most {MAX_NPY_HEADER}"
        )
    try:
        shape, is_fortran, dtype = _read_npy_header(data[:end])
    except (ValueError, OSError, EOFError) as error:
        raise Malformed(f"{quote(data)}, which is no .npy array: {complaint(error)}") from error
    # By its own parts, never np.load: a header may claim more than was sent.
    array = rebuild(memoryview(data)[end:], dtype.str, list(shape)[::-1] if is_fortran else list(shape))
    return array.T if is_fortran else array


# The same few headers come again and again, and numpy reads each as a Python expression.
@lru_cache(maxsize=256)
def _read_npy_header(header: bytes) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    file = io.BytesIO(header)
    version = np.lib.format.read_magic(file)
    read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    return read(file)


def _from_image(value: dict[Any, Any], most_pixels: int) -> NDArray[np.uint8]:
    """vla-eval's pictures, as PNG or JPEG."""
    form, data = value.get("format"), value.get("data")
    if form not in ("png", "jpeg") or not isinstance(data, bytes):
        raise Malformed(f"a picture of format {quote(form)} with data {quote(data)}")
    return decode_picture(data, form, most_pixels)


def decode_picture(data: bytes, form: str, most_pixels: int = MAX_PIXELS) -> NDArray[np.uint8]:
    from av import CodecContext, Packet, VideoCodecContext
    from av.error import FFmpegError

    codec = CodecContext.create({"png": "png", "jpeg": "mjpeg"}[form], "r")
    assert isinstance(codec, VideoCodecContext)
    # A few bytes may claim a picture that would fill the memory: the decoder refuses it before it makes room.
    codec.options = {"max_pixels": str(most_pixels)}
    try:
        frames = [*codec.decode(Packet(data)), *codec.decode(None)]
    except FFmpegError as error:
        raise Malformed(f"{quote(data)}, which is no {form} picture: {error}") from error
    if len(frames) != 1:
        raise Malformed(f"{quote(data)}, which is no {form} picture")
    return frames[0].to_ndarray(format="rgb24").astype(np.uint8, copy=False)
