"""Messages of named values: msgpack with arrays in the forms that policy servers use. Nothing is ever unpickled."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

import msgpack
import numpy as np
from numpy.typing import NDArray

# Of a reply: actions are small, and a server gone wrong must not fill the memory.
MAX_REPLY_BYTES = 16 * 2**20
# Of a request: a few pictures of the largest size that a policy may ask for.
MAX_REQUEST_BYTES = 256 * 2**20
# bool, signed, unsigned, float: nothing that could hold an object.
KINDS = "biuf"
# Of maps that stand for an array, a scalar or a picture.
MARKS = frozenset(
    [b"__ndarray__", "__ndarray__", b"nd", "nd", b"__npgeneric__", "__npgeneric__", "__ndarray_class__", "__image__"]
)
MAX_PIXELS = 4096 * 4096
# Of one message: each is a byte on the wire and a hundred in memory.
MAX_CONTAINERS = 100_000
# Of one list or map, for which room is made before anything of it is read.
MAX_ITEMS = 1_000_000

Encode = Callable[[Any], Any]


class Malformed(ValueError):
    """Bytes that are no message; the text says what came and what was expected."""


def pack(message: object, encode: Encode) -> bytes:
    packed: bytes = msgpack.packb(message, default=encode)
    return packed


def unpack(data: bytes | bytearray | memoryview) -> Any:
    """Read a message with arrays in any of the known forms."""
    # So many bytes cannot hold more.
    hooks = _Counted() if len(data) > MAX_CONTAINERS else None
    try:
        return msgpack.unpackb(
            data,
            object_hook=hooks.map if hooks else _decode,
            list_hook=hooks.list if hooks else None,
            max_array_len=MAX_ITEMS,
            max_map_len=MAX_ITEMS,
            strict_map_key=False,
        )
    except Malformed:
        raise
    # What msgpack and numpy raise on bad bytes is many things, and each means the same here.
    except Exception as error:
        raise Malformed(f"{quote(data)}, which is no msgpack message: {type(error).__name__}: {error}") from error


def quote(data: object) -> str:
    """Enough of what came to recognise it."""
    if isinstance(data, bytes | bytearray | memoryview):
        start = bytes(data[:40])
        return f"{len(data)} bytes beginning {start!r}"
    try:
        text = repr(data)
    except RecursionError:
        return f"a {type(data).__name__} nested too deeply to be shown"
    return text if len(text) <= 120 else f"{text[:117]}…"


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
        name = f"{prefix}{key}"
        if isinstance(value, Mapping) and depth:
            flat.update(flatten(value, f"{name}.", depth - 1))
        else:
            flat[name] = value
    return flat


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
    if not isinstance(dtype, str) or not isinstance(shape, list | tuple):
        raise Malformed(f"an array of type {quote(dtype)} and shape {quote(shape)}")
    try:
        kind = np.dtype(dtype)
    except (TypeError, ValueError, SyntaxError) as error:
        raise Malformed(f"an array of the unknown type {quote(dtype)}") from error
    if kind.kind not in KINDS:
        raise Malformed(f"an array of type {kind}, but only booleans, integers and floats are taken")
    count = 1
    for size in shape:
        if type(size) is not int or size < 0 or len(shape) > 8:
            raise Malformed(f"an array of shape {quote(shape)}")
        count *= size
    if count * kind.itemsize != len(data):
        raise Malformed(f"an array of shape {tuple(shape)} and type {kind} with {len(data)} bytes of data")
    # A copy: what is read must not be a view into a buffer that the next message overwrites.
    return np.frombuffer(data, kind).reshape(shape).copy()


def _plain(array: NDArray[Any]) -> NDArray[Any]:
    if array.dtype.kind not in KINDS:
        raise TypeError(f"an array of type {array.dtype} cannot be sent")
    # Not ascontiguousarray, which makes a list of a number.
    return np.asarray(array, order="C")


class _Counted:
    """Decodes maps and lists while they are not too many."""

    def __init__(self) -> None:
        self._left = MAX_CONTAINERS

    def map(self, value: dict[Any, Any]) -> Any:
        self._count()
        return _decode(value)

    def list(self, value: list[Any]) -> list[Any]:
        self._count()
        return value

    def _count(self) -> None:
        self._left -= 1
        if self._left < 0:
            raise Malformed(f"a message of more than {MAX_CONTAINERS} maps and lists")


def _decode(value: dict[Any, Any]) -> Any:
    # Most maps are maps.
    if MARKS.isdisjoint(value):
        return value
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
        return _from_image(value)
    return value


def _text(value: object) -> object:
    return value.decode("ascii", "replace") if isinstance(value, bytes) else value


def _scalar(data: object, dtype: object) -> Any:
    if not isinstance(data, bool | int | float) or not isinstance(dtype, str):
        raise Malformed(f"a scalar {quote(data)} of type {quote(dtype)}")
    kind = np.dtype(dtype)
    if kind.kind not in KINDS:
        raise Malformed(f"a scalar of type {kind}, but only booleans, integers and floats are taken")
    return kind.type(data)


def _from_npy(data: object) -> NDArray[Any]:
    if not isinstance(data, bytes):
        raise Malformed(f"an array whose .npy bytes are {quote(data)}")
    # Magic, version and the header's length, which is wider from version 2 on.
    start, width = (10, 2) if data[6:7] == b"\x01" else (12, 4)
    end = start + int.from_bytes(data[start - width : start], "little")
    try:
        shape, is_fortran, dtype = _read_npy_header(data[:end])
    except (ValueError, OSError, EOFError) as error:
        raise Malformed(f"{quote(data)}, which is no .npy array: {error}") from error
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


def _from_image(value: dict[Any, Any]) -> NDArray[Any]:
    """vla-eval's pictures: raw, PNG or JPEG."""
    form, data = value.get("format"), value.get("data")
    if form == "raw":
        return rebuild(data, value.get("dtype"), value.get("shape", []))
    if form not in ("png", "jpeg") or not isinstance(data, bytes):
        raise Malformed(f"a picture of format {quote(form)} with data {quote(data)}")
    return decode_picture(data, form)


def decode_picture(data: bytes, form: str) -> NDArray[np.uint8]:
    from av import CodecContext, Packet, VideoCodecContext
    from av.error import FFmpegError

    codec = CodecContext.create({"png": "png", "jpeg": "mjpeg"}[form], "r")
    assert isinstance(codec, VideoCodecContext)
    # A few bytes may claim a picture that would fill the memory: the decoder refuses it before it makes room.
    codec.options = {"max_pixels": str(MAX_PIXELS)}
    try:
        frames = [*codec.decode(Packet(data)), *codec.decode(None)]
    except FFmpegError as error:
        raise Malformed(f"{quote(data)}, which is no {form} picture: {error}") from error
    if len(frames) != 1:
        raise Malformed(f"{quote(data)}, which is no {form} picture")
    return frames[0].to_ndarray(format="rgb24").astype(np.uint8, copy=False)
