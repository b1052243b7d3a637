"""What a few bytes from the other end may cost: little work, little memory, and an error of a line."""

from __future__ import annotations

import json
import re
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import msgpack
import numpy as np
import pytest

from robodx.compatibility.checking import _short
from robodx.errors import UserError
from robodx.policy_contract import ActionChunk, EpisodeStart, Observation, PolicySpec
from robodx.spaces import InvalidAction
from robodx.wires import lerobot_server, messages
from robodx.wires.agreement import mismatches
from robodx.wires.base import Address, ServerInfo, WireError
from robodx.wires.calibrations import read_cameras
from robodx.wires.gr00t_forms import read_observation
from robodx.wires.messages import Malformed, encode_as_npy, encode_with_bytes, encode_with_text, flatten, pack, unpack
from robodx.wires.openpi_variants import Plain
from robodx.wires.preset import Preset
from robodx.wires.preset_files import read_preset
from robodx.wires.protocols import gr00t, openpi, vla_eval
from robodx.wires.protocols.openvla import read_reply
from robodx.wires.quoting import quote
from robodx.wires.serving import Endpoint
from tests.wires.test_messages import black, npy_header

# A few thousand letters stand for the megabytes that an attacker sends: neither is a type of numbers.
LONG = ",".join(["f4"] * 2000)
LONGEST_ERROR = 1000


def as_json(dtype: str) -> Any:
    return read_reply(json.dumps({"__numpy__": "", "dtype": dtype, "shape": [1]}).encode(), "there")


def npy(dtype: str) -> bytes:
    header = repr({"descr": dtype, "fortran_order": False, "shape": (1,)}).encode()
    return b"\x93NUMPY\x02\x00" + len(header).to_bytes(4, "little") + header


READERS: dict[str, Callable[[str], Any]] = {
    "openpi": lambda dtype: unpack(msgpack.packb({b"__ndarray__": True, b"data": b"", b"dtype": dtype, b"shape": [1]})),
    "a scalar": lambda dtype: unpack(msgpack.packb({b"__npgeneric__": True, b"data": 1, b"dtype": dtype})),
    "bytes": lambda dtype: unpack(msgpack.packb({b"nd": True, b"data": b"", b"type": dtype.encode(), b"shape": [1]})),
    "vla-eval": lambda dtype: unpack(msgpack.packb({"__ndarray__": 1, "data": b"", "dtype": dtype, "shape": [1]})),
    "a raw picture": lambda dtype: unpack(
        msgpack.packb({"__image__": 1, "format": "raw", "data": b"", "dtype": dtype, "shape": [1]})
    ),
    "gr00t": lambda dtype: unpack(msgpack.packb({"__ndarray_class__": True, "as_npy": npy(dtype)})),
    "openvla": as_json,
    "lerobot": lambda dtype: lerobot_server.unpack(
        msgpack.packb({"a": {b"__ndarray__": True, b"data": b"", b"dtype": dtype, b"shape": [1]}})
    ),
    "a scalar of lerobot": lambda dtype: lerobot_server.unpack(
        msgpack.packb({"a": {b"__npgeneric__": True, b"data": 1, b"dtype": dtype}})
    ),
}


@pytest.mark.parametrize("reader", READERS)
def test_numpy_never_parses_a_long_type(reader: str, monkeypatch: pytest.MonkeyPatch) -> None:
    parsed: list[object] = []
    real = np.dtype

    def noted(*args: Any) -> Any:
        parsed.append(args[0])
        return real(*args)

    monkeypatch.setattr(np, "dtype", noted)
    with pytest.raises((Malformed, WireError, lerobot_server.Refused)) as refused:
        READERS[reader](LONG)
    assert not [one for one in parsed if isinstance(one, str) and len(one) > 1000]
    assert len(str(refused.value)) < LONGEST_ERROR


@contextmanager
def little_memory(most_bytes: int = 2**20) -> Iterator[None]:
    tracemalloc.start()
    try:
        yield
        assert tracemalloc.get_traced_memory()[1] < most_bytes
    finally:
        tracemalloc.stop()


# Quotations.


class Untouched:
    """A value behind others, of which enough was seen."""

    def __repr__(self) -> str:
        raise AssertionError("it is not to be looked at")


def test_no_more_of_a_value_is_looked_at_than_is_quoted() -> None:
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    for value in (["a" * 200, Untouched()], {"a" * 200: Untouched()}, ({"b": [0] * 100}, Untouched()), deep):
        assert len(quote(value)) <= 120
    long = {"a": "b" * 5_000_000}
    with little_memory():
        quote(long)


@pytest.mark.parametrize("value", [(1,), (1, 2), [], {}, (), {"a": [1, None]}, ["x", b"y"], [{"a": {}}], 1.5])
def test_what_is_short_is_quoted_as_it_is(value: object) -> None:
    assert quote(value) == repr(value)


# Names.


@pytest.mark.parametrize(
    "read",
    [
        flatten,
        lambda message: lerobot_server.unpack(msgpack.packb(message)),
        lambda message: read_observation({"observation": {"state": {}, **message}}),
    ],
)
def test_a_long_name_is_not_repeated_for_each_value_in_its_map(read: Callable[[Any], Any]) -> None:
    with little_memory(2**21), pytest.raises(ValueError, match=r"a name of 1000\d letters") as refused:
        read({"a" * 10_000: {str(index): ["x"] for index in range(1000)}})
    assert len(str(refused.value)) < LONGEST_ERROR


def test_a_preset_of_a_server_cannot_have_keys_that_take_hours_to_compare() -> None:
    dots = {"name": "n" * 10_000, "images": {"." * 20_000: {"camera": "front"}}}
    space = {"name": "n" * 10_000, "actions": {"space": "s" * 10_000}}
    contents: list[Any] = [dots, space, {"f" * 10_000: 1}, {1: 1}]
    for content in contents:
        with pytest.raises(UserError) as refused:
            read_preset(content)
        assert len(str(refused.value)) < LONGEST_ERROR


def test_what_a_server_needs_is_named_up_to_a_point() -> None:
    many = {f"{index}{'k' * 10_000}": None for index in range(50)}
    wrong = mismatches(Preset("mine"), ServerInfo(inputs=many, outputs=dict(many)))
    assert len(wrong) == 21 and wrong[-1] == "and 31 more" and max(map(len, wrong)) < LONGEST_ERROR


# Arrays.


def test_texts_among_the_actions_are_refused_before_room_is_made_for_the_longest() -> None:
    texts = ["a" * 5000, *[""] * 1000]
    with little_memory(), pytest.raises(InvalidAction, match="of type str, not numbers"):
        Preset("mine").chunk({"actions": [texts]})
    pictured = read_preset({"name": "mine", "images": {"view": {"camera": "front"}}, "prompt": ""})
    with little_memory(), pytest.raises(ValueError, match="view must be a picture"):
        pictured.observation({"view": texts}, episode_id="one", step=0, time_s=0.0)


@pytest.mark.parametrize(
    ("actions", "why"),
    [
        (np.zeros((2**40, 0)), "at least one action"),
        (np.zeros((200_000, 7), np.uint8), "200000 actions, but a chunk has at most 100000"),
    ],
)
def test_a_chunk_longer_than_any_is_refused(actions: Any, why: str) -> None:
    with pytest.raises(InvalidAction, match=why):
        Preset("mine").chunk({"actions": actions})


@pytest.mark.parametrize("shape", [[0, 2**40], [2**28] * 7 + [0], [2**20, 2**20, 0], [10**4000], [0] * 9])
def test_an_array_without_data_has_no_enormous_shape(shape: list[int]) -> None:
    with pytest.raises(WireError, match="an array of shape") as refused:
        read_reply(json.dumps({"__numpy__": "", "dtype": "<f4", "shape": shape}).encode(), "there")
    assert len(str(refused.value)) < LONGEST_ERROR


def test_a_header_of_an_array_is_no_longer_than_any() -> None:
    assert unpack(msgpack.packb({"__ndarray_class__": True, "as_npy": npy_header("(1,)") + bytes(8)})).shape == (1,)
    with pytest.raises(Malformed, match="its header has 5166 bytes"):
        unpack(msgpack.packb({"__ndarray_class__": True, "as_npy": npy_header(f"({'1, ' * 1700})")}))


def test_pictures_of_a_message_are_together_no_larger_than_any(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(messages, "MAX_MESSAGE_PIXELS", 5000)
    one = {"__image__": True, "format": "png", "data": black(30, 20)}
    assert len(unpack(msgpack.packb([one] * 2))) == 2
    with pytest.raises(Malformed, match="no png picture"):
        unpack(msgpack.packb([one] * 9))


def test_a_request_to_lerobot_has_no_more_maps_and_lists_than_any() -> None:
    many = msgpack.packb({"a": [[]] * lerobot_server.MAX_ITEMS})
    with pytest.raises(lerobot_server.Refused, match="more than 100000 maps and lists"):
        lerobot_server.unpack(many)
    with pytest.raises(ValueError, match="max_array_len"):
        lerobot_server.unpack(msgpack.packb({"a": [1] * (lerobot_server.MAX_ITEMS + 1)}))


# Servers.


class Still:
    spec = PolicySpec(state=("ee_pose",), uses_language=False)

    def reset(self, starts: Any) -> None: ...

    def act(self, observations: Any) -> list[ActionChunk]:
        return [np.zeros((1, 7), np.float32) for _ in observations]

    def finish(self, ids: Any) -> None: ...


START = EpisodeStart("one", 0, "task", "panda", 0, 0, "stack")
POSE = np.array([0, 0, 0, 1, 0, 0, 0], np.float32)


def request_of(endpoint: Endpoint, **told: Any) -> dict[str, Any]:
    seen = Observation("one", 0, 0.0, "stack", {"ee_pose": POSE}, {})
    request = dict(endpoint.preset.request(seen, START))
    return {**request, "robodx": {**request["robodx"], **told}}


def answer_of_openpi(endpoint: Endpoint, request: dict[str, Any]) -> str:
    said = openpi._Client(endpoint, "client").answer(pack(request, encode_with_bytes))
    return said if isinstance(said, str) else repr(unpack(said))


def answer_of_vla_eval(endpoint: Endpoint, request: dict[str, Any]) -> str:
    message = {"type": "observation", "payload": request, "seq": 1}
    said = vla_eval._Client(endpoint, "client").answer(pack(message, encode_with_text))
    return repr(said)


def answer_of_gr00t(endpoint: Endpoint, request: dict[str, Any]) -> str:
    data = {key: value if key == "robodx" else value[None] for key, value in request.items()}
    message = pack({"endpoint": "get_action", "data": data}, encode_as_npy)
    return repr(unpack(gr00t._Server(endpoint, None).answer(b"client", message)))


@pytest.mark.parametrize(
    ("serve", "names"),
    [
        (answer_of_openpi, openpi.OpenPi.names), (answer_of_vla_eval, vla_eval.VlaEval.names),
        (answer_of_gr00t, gr00t.Gr00t.names),
    ],
)  # fmt: skip
def test_a_client_is_told_its_mistake_in_a_few_words(serve: Callable[..., str], names: Any) -> None:
    endpoint = Endpoint(Still(), names=names)
    assert "action" in serve(endpoint, request_of(endpoint))
    told: tuple[dict[str, Any], ...] = (
        {"time_s": "x" * 100_000}, {"episode_id": "x" * 100_000}, {"cameras": {"y" * 100_000: 1}}, {"task": "t" * 201},
        {"cameras": {"front": {"frame": "x" * 100_000}}}, {"cameras": {"front": {"frame": "base", "fovy_deg": "x"}}},
    )  # fmt: skip
    for one in told:
        said = serve(endpoint, request_of(endpoint, **one))
        assert re.search("rror|Malformed", said) and len(said) < 20_000
    # Whatever a client calls its episodes, the names that are kept are short.
    assert list(endpoint._episodes) == ["one"]


def test_a_camera_s_mistake_is_quoted_up_to_a_point() -> None:
    for camera in ({"frame": "x" * 10_000}, {"frame": "base", "fovy_deg": "1" * 10_000}):
        with pytest.raises(ValueError, match="the camera front cannot be read") as refused:
            read_cameras({"front": camera})
        assert len(str(refused.value)) < LONGEST_ERROR


def test_gr00ts_server_reads_nothing_of_a_request_before_its_key(monkeypatch: pytest.MonkeyPatch) -> None:
    key = "k" * 300
    server = gr00t._Server(Endpoint(Still(), names=gr00t.Gr00t.names), key)
    read: list[bytes] = []

    def noted(data: bytes) -> Any:
        read.append(data)
        return unpack(data)

    monkeypatch.setattr(gr00t, "unpack", noted)

    def said(message: bytes) -> Any:
        return msgpack.unpackb(server.answer(b"client", message))

    unauthorized = {"error": "Unauthorized: Invalid API token"}
    data = {"a": [{"__ndarray_class__": True, "as_npy": npy(LONG)}] * 3}
    for token in ({}, {"api_token": "wrong"}, {"api_token": None}, {"api_token": ["x"]}, {"api_token": key.encode()}):
        assert said(msgpack.packb({"endpoint": "ping", "data": data, **token})) == unauthorized
    many = {str(index): 0 for index in range(1000)}
    deep = b"\x81\xa1a" + b"\x91" * 100_000
    for message in (b"", b"\xc1", b"\x93", b"\xdf\xff\xff\xff\xff", deep, msgpack.packb({**many, "api_token": key})):
        assert said(message) == unauthorized
    assert not read
    # Wherever it stands.
    for request in ({"endpoint": "ping", "data": {"a": [1]}, "api_token": key}, {"api_token": key, "endpoint": "ping"}):
        assert said(msgpack.packb(request))["status"] == "ok"
    assert len(read) == 2


# Clients.


class Says:
    """The other end of a wire, which has one thing to say."""

    def __init__(self, message: object) -> None:
        self._message = message

    def receive(self, within_s: float) -> Any:
        return self._message

    def receive_action(self, seq: int, end: float) -> Any:
        return self._message

    def close(self) -> None: ...


def reply_of_openpi(message: object) -> object:
    wire: Any = openpi.OpenPi(Address("there", 1))
    wire._socket = Says(msgpack.packb(message))
    return wire._receive(1)


def reply_of_gr00t(message: object) -> object:
    wire: Any = gr00t.Gr00t(Address("there", 1))
    wire._dealer = Says(msgpack.packb(message))
    return wire._receive(None)


def reply_of_vla_eval(message: object) -> object:
    wire: Any = vla_eval.VlaEval(Address("there", 1))
    wire._busy["one"] = Says(message)
    return wire._receive("one", 1, 0.0)


def reply_of_openvla(message: object) -> object:
    try:
        return read_reply(json.dumps(message).encode(), "there:1")
    except WireError as error:
        return error


@pytest.mark.parametrize("reply", [reply_of_openpi, reply_of_gr00t, reply_of_vla_eval, reply_of_openvla])
def test_a_reply_with_a_name_of_any_length_is_an_error_of_that_episode(reply: Callable[[object], object]) -> None:
    error = reply({"actions": {"n" * 10_000: {str(index): 0 for index in range(1000)}}})
    assert isinstance(error, WireError) and "there:1" in str(error) and len(str(error)) < LONGEST_ERROR


@pytest.mark.parametrize("preset", [["a"], "a", 1, None])
def test_a_greeting_whose_preset_is_no_map_has_none(preset: object) -> None:
    assert Plain({"robodx": {"preset": preset}}, Address("there", 1)).server_info().preset is None


def test_a_greeting_with_names_that_are_no_texts_is_shown() -> None:
    """msgpack has such maps, and JSON has not."""
    assert _short({"a": {b"k": 1, "b": 2}}) == '{"a": {"b": 2}}'


def test_what_a_server_of_vla_eval_says_of_its_failure_is_quoted_up_to_a_point() -> None:
    connection = vla_eval._Connection.__new__(vla_eval._Connection)
    connection._address, connection._begun = Address("host", 1), 0
    failure = vla_eval._Message("error", {"error": ["x" * 200, Untouched()]}, 1)
    connection._receive = lambda end: failure  # type: ignore[method-assign]
    with pytest.raises(WireError, match=re.escape("failed: ['xxx")):
        connection.receive_action(1, 0.0)
