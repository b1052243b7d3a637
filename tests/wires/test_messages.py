"""Messages: what is packed is read back as it was, in every form; what no server should send is refused safely."""

from __future__ import annotations

import io
import pickle
import tracemalloc
import zlib
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import msgpack
import numpy as np
import pytest
from av import VideoCodecContext, VideoFrame
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.typing import NDArray

from robodx.wires.messages import (
    MAX_CONTAINERS,
    MAX_ITEMS,
    MAX_PIXELS,
    Malformed,
    decode_picture,
    encode_as_npy,
    encode_with_bytes,
    encode_with_text,
    flatten,
    nest,
    pack,
    unpack,
)
from robodx.wires.quoting import quote
from tests.wires.fuzzing import fuzzed

Encode = Callable[[Any], Any]
FORMS: list[Encode] = [encode_with_bytes, encode_with_text, encode_as_npy]
DTYPES = st.one_of(
    hnp.boolean_dtypes(), hnp.integer_dtypes(endianness="?"), hnp.unsigned_integer_dtypes(endianness="?"),
    hnp.floating_dtypes(endianness="?", sizes=(16, 32, 64)),
)  # fmt: skip
ARRAYS = hnp.arrays(DTYPES, hnp.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=5))
PLAIN = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-(2**63), 2**64 - 1), st.floats(allow_nan=False), st.text(),
              st.binary()),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(st.text(max_size=8), inner, max_size=4)),
    max_leaves=12,
)  # fmt: skip


def same(one: NDArray[Any], other: NDArray[Any]) -> bool:
    return one.dtype == other.dtype and one.shape == other.shape and one.tobytes() == other.tobytes()


def picture(form: str, height: int = 8, width: int = 6) -> tuple[NDArray[np.uint8], bytes]:
    rng = np.random.default_rng(0)
    pixels = np.repeat(rng.integers(0, 256, (height, 1, 3), dtype=np.uint8), width, axis=1)
    codec = VideoCodecContext.create({"png": "png", "jpeg": "mjpeg"}[form], "w")
    assert isinstance(codec, VideoCodecContext)
    codec.height, codec.width = height, width
    codec.pix_fmt = {"png": "rgb24", "jpeg": "yuvj444p"}[form]
    codec.time_base = Fraction(1)
    frame = VideoFrame.from_ndarray(pixels, format="rgb24").reformat(format=codec.pix_fmt)
    return pixels, b"".join(bytes(packet) for packet in [*codec.encode(frame), *codec.encode(None)])


# There and back.


@pytest.mark.parametrize("encode", FORMS)
@given(array=ARRAYS)
def test_an_array_is_read_back_as_it_was(encode: Encode, array: NDArray[Any]) -> None:
    assert same(unpack(pack({"a": [array]}, encode))["a"][0], array)


@pytest.mark.parametrize("encode", FORMS)
def test_arrays_that_do_not_lie_in_a_row_are_read_back_as_they_were(encode: Encode) -> None:
    array = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    for turned in (array.T, array[:, ::-1], array[:, 1], np.asfortranarray(array)):
        assert same(unpack(pack(turned, encode)), np.ascontiguousarray(turned))


@given(array=ARRAYS)
def test_the_form_of_msgpack_numpy_is_read(array: NDArray[Any]) -> None:
    for keys in ((b"nd", b"type", b"kind", b"shape", b"data"), ("nd", "type", "kind", "shape", "data")):
        values = (True, array.dtype.str, b"", array.shape, np.ascontiguousarray(array).tobytes())
        assert same(unpack(msgpack.packb(dict(zip(keys, values, strict=True)))), array)


def test_a_scalar_of_msgpack_numpy_is_read() -> None:
    scalar = unpack(msgpack.packb({b"nd": False, b"type": "<f4", b"data": np.float32(1.5).tobytes()}))
    assert scalar == 1.5 and scalar.dtype == np.float32


@given(array=ARRAYS.filter(lambda array: array.ndim == 2))
def test_arrays_stored_by_columns_are_read(array: NDArray[Any]) -> None:
    file = io.BytesIO()
    np.save(file, np.asfortranarray(array), allow_pickle=False)
    read = unpack(msgpack.packb({"__ndarray_class__": True, "as_npy": file.getvalue()}))
    assert same(np.ascontiguousarray(read), array)


@pytest.mark.parametrize("scalar", [np.float32(1.5), np.int8(-3), np.bool_(True), np.uint64(2**64 - 1)])
def test_numbers_of_numpy_are_read_back(scalar: np.generic) -> None:
    assert unpack(pack(scalar, encode_with_bytes)) == scalar
    assert unpack(pack(scalar, encode_with_bytes)).dtype == scalar.dtype
    # The other forms make plain numbers of them.
    assert unpack(pack(scalar, encode_with_text)) == unpack(pack(scalar, encode_as_npy)) == scalar.item()


@given(message=PLAIN)
def test_plain_values_are_read_back_as_they_were(message: object) -> None:
    assert unpack(pack(message, encode_with_bytes)) == message


@given(
    flat=st.dictionaries(
        st.lists(st.text(st.characters(exclude_characters="."), max_size=3), min_size=2, max_size=4).map(".".join),
        st.integers(),
        max_size=6,
    )
)
def test_names_with_dots_are_maps_and_back(flat: dict[str, int]) -> None:
    # A name cannot be both a value and a map of values.
    if any(other.startswith(f"{name}.") for name in flat for other in flat):
        return
    assert flatten(nest(flat)) == flat


def test_what_lies_too_deep_stays_a_map() -> None:
    deep: dict[str, Any] = {"end": 1}
    for _ in range(400):
        deep = {"a": deep}
    (name,) = flatten(deep)
    assert name.count(".") == 8


@pytest.mark.parametrize("form", ["png", "jpeg"])
def test_pictures_are_read(form: str) -> None:
    pixels, data = picture(form)
    read = unpack(msgpack.packb({"__image__": True, "format": form, "data": data}))
    assert read.shape == pixels.shape and read.dtype == np.uint8
    assert np.abs(read.astype(int) - pixels.astype(int)).max() <= (0 if form == "png" else 40)


# What is refused.


@pytest.mark.parametrize("encode", FORMS)
@pytest.mark.parametrize(
    "array",
    [
        np.array([object()]), np.zeros(2, complex), np.zeros(2, "V8"), np.zeros(2, [("a", "f4")]),
        np.array(["text"]), np.array(["2020-01-01"], "M8[s]"),
    ],
)  # fmt: skip
def test_only_numbers_are_sent(encode: Encode, array: NDArray[Any]) -> None:
    with pytest.raises(TypeError, match="cannot be sent"):
        pack(array, encode)


@pytest.mark.parametrize("encode", FORMS)
def test_what_is_no_value_is_not_sent(encode: Encode) -> None:
    with pytest.raises(TypeError, match="a set cannot be sent"):
        pack({1}, encode)


@pytest.mark.parametrize(
    "dtype", ["|O", "O", "|V8", "<c8", "<c16", "<M8[s]", "|S5", "<U3", "<f4,<f4", "f4, O", "object"]
)
@pytest.mark.parametrize("keys", [(b"__ndarray__", b"data", b"dtype", b"shape"), ("nd", "data", "type", "shape")])
def test_only_numbers_are_read(dtype: str, keys: tuple[Any, ...]) -> None:
    with pytest.raises(Malformed, match="type"):
        unpack(msgpack.packb(dict(zip(keys, (True, bytes(8), dtype, [1]), strict=True))))


@pytest.mark.parametrize("dtype", ["|O", "<c8", "|V8", "<U3", "nonsense", "", 3, None, ["<f4"]])
def test_only_scalars_that_are_numbers_are_read(dtype: object) -> None:
    with pytest.raises(Malformed):
        unpack(msgpack.packb({b"__npgeneric__": True, b"data": 1, b"dtype": dtype}))


class Trap:
    """Would say so if it were ever unpickled."""

    sprung = False

    def __reduce__(self) -> tuple[Callable[[], None], tuple[()]]:
        return spring, ()


def spring() -> None:
    Trap.sprung = True


def test_nothing_is_unpickled() -> None:
    file = io.BytesIO()
    np.save(file, np.array([Trap()], dtype=object), allow_pickle=True)
    pickled = pickle.dumps(Trap())
    for message in (
        {"__ndarray_class__": True, "as_npy": file.getvalue()},
        {"__ndarray_class__": True, "as_npy": pickled},
        {b"nd": True, b"type": "|O", b"kind": b"O", b"shape": [1], b"data": pickled},
        {b"__ndarray__": True, b"dtype": "|O", b"shape": [1], b"data": pickled},
        {b"__npgeneric__": True, b"dtype": "|O", b"data": pickled},
    ):
        with pytest.raises(Malformed):
            unpack(msgpack.packb(message))
    with pytest.raises(Malformed):
        unpack(pickled)
    assert not Trap.sprung


def npy_header(shape: str) -> bytes:
    header = f"{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}".encode()
    padded = header.ljust(118) + b"\n"
    return b"\x93NUMPY\x01\x00" + len(padded).to_bytes(2, "little") + padded


SHAPES: list[object] = [
    [2**40], [2**31, 2**31], [-1], [1, -1], [2**62] * 8, [1] * 9, ["1"], [1.0], [True], 1, None, {},
]  # fmt: skip


@pytest.mark.parametrize(
    "message",
    [
        *({b"__ndarray__": True, b"data": bytes(8), b"dtype": "<f8", b"shape": shape} for shape in SHAPES),
        {b"__ndarray__": True, b"data": b"", b"dtype": "<f8", b"shape": [2**40]},
        {b"__ndarray__": True, b"data": "text", b"dtype": "<f8", b"shape": [1]},
        {"__ndarray_class__": True, "as_npy": npy_header("(1099511627776,)") + bytes(8)},
        {"__ndarray_class__": True, "as_npy": npy_header("(-1,)") + bytes(8)},
        {"__ndarray_class__": True, "as_npy": npy_header("__import__('os')")},
        {"__ndarray_class__": True, "as_npy": b"\x93NUMPY"},
        {"__ndarray_class__": True},
    ],
)
def test_shapes_that_do_not_fit_their_data_are_refused_without_making_room(message: object) -> None:
    data = msgpack.packb(message)
    tracemalloc.start()
    try:
        with pytest.raises(Malformed):
            unpack(data)
        assert tracemalloc.get_traced_memory()[1] < 2**20
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    "data", [b"", b"\xc1", b"\x81", b"\xdd\xff\xff\xff\xff", b"\xc6\xff\xff\xff\xff", b"\x93" * 5000, b"a" * 3]
)
def test_what_is_no_message_is_refused_and_quoted(data: bytes) -> None:
    with pytest.raises(Malformed, match="no msgpack message"):
        unpack(data)


def test_a_message_may_be_deep_or_is_refused() -> None:
    """msgpack has a bound of its own on how deep."""
    message: Any = 1
    for _ in range(100):
        message = {"a": [message]}
    assert unpack(msgpack.packb(message)) == message
    with pytest.raises(Malformed):
        unpack(b"\x91" * 100_000 + b"\x01")


@pytest.mark.parametrize("one", [{}, [], {"a": 1}, [[]]])
def test_more_maps_and_lists_than_any_message_has_are_refused(one: object) -> None:
    """Each is a byte on the wire, but not in memory."""
    with pytest.raises(Malformed, match=f"more than {MAX_CONTAINERS} maps and lists"):
        unpack(msgpack.packb([one] * MAX_CONTAINERS))
    with pytest.raises(Malformed, match=f"more than {MAX_CONTAINERS} maps and lists"):
        unpack(msgpack.packb([[one] * 1000] * 100))
    many = [one] * (MAX_CONTAINERS // 2 - 1)
    assert unpack(msgpack.packb(many)) == many


def test_a_longer_list_than_any_message_has_is_refused_before_room_is_made() -> None:
    assert unpack(msgpack.packb([1] * MAX_ITEMS)) == [1] * MAX_ITEMS
    long = msgpack.packb([1] * (MAX_ITEMS + 1))
    tracemalloc.start()
    try:
        with pytest.raises(Malformed, match="no msgpack message"):
            unpack(long)
        assert tracemalloc.get_traced_memory()[1] < 2**20
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    "value",
    [
        {"format": "gif", "data": b"GIF89a"}, {"format": "png", "data": "text"}, {"format": "png"}, {},
        {"format": "png", "data": b""}, {"format": "png", "data": b"\x89PNG\r\n\x1a\n" + bytes(40)},
        {"format": "jpeg", "data": b"\xff\xd8\xff" + bytes(40)}, {"format": "jpeg", "data": bytes(100)},
        {"format": "raw", "data": bytes(5), "dtype": "|u1", "shape": [2, 3]},
    ],
)  # fmt: skip
def test_what_is_no_picture_is_refused(value: dict[str, Any]) -> None:
    with pytest.raises(Malformed):
        unpack(msgpack.packb({"__image__": True, **value}))


@pytest.mark.parametrize("form", ["png", "jpeg"])
def test_broken_pictures_are_refused_or_read(form: str) -> None:
    """As decoders do: what is whole of a picture may be shown."""
    _, data = picture(form)
    for broken in fuzzed([data], count=400):
        try:
            read = unpack(msgpack.packb({"__image__": True, "format": form, "data": broken}))
        except Malformed:
            continue
        assert read.dtype == np.uint8 and read.ndim == 3 and read.shape[2] == 3


def black(height: int, width: int) -> bytes:
    """A PNG of a few bytes for each thousand pixels."""
    header = width.to_bytes(4) + height.to_bytes(4) + bytes([8, 2, 0, 0, 0])
    parts = [(b"IHDR", header), (b"IDAT", zlib.compress(bytes(height * (1 + 3 * width)))), (b"IEND", b"")]
    chunks = [len(data).to_bytes(4) + name + data + zlib.crc32(name + data).to_bytes(4) for name, data in parts]
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunks)


def test_a_picture_larger_than_any_camera_is_refused() -> None:
    assert decode_picture(black(30, 20), "png").shape == (30, 20, 3)
    with pytest.raises(Malformed, match="no png picture"):
        decode_picture(black(MAX_PIXELS // 8192, 8193), "png")


@given(value=st.one_of(PLAIN, ARRAYS))
def test_a_quotation_is_short(value: object) -> None:
    assert len(quote(value)) < 250
