"""OpenVLA's REST wire, against servers on real sockets, sane and not."""

from __future__ import annotations

import base64
import contextlib
import json
import socket
import threading
import time
import tracemalloc
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.typing import NDArray

from robodx.errors import UserError
from robodx.policy_contract import ActionChunk, EpisodeStart, make_policy
from robodx.records.trial import Trial
from robodx.running.rollout import rollout
from robodx.spaces import InvalidAction
from robodx.wires.base import Address, Unreachable, WireError
from robodx.wires.messages import MAX_REPLY_BYTES
from robodx.wires.preset import BadPreset, Preset
from robodx.wires.preset_files import find_preset
from robodx.wires.protocols.openvla import IN_FLIGHT, OpenVla, encode, read_reply
from robodx.wires.remote import RemotePolicy
from tests.wires.fuzzing import fuzzed, judge, observation, tally
from tests.wires.ipv6 import needs_ipv6

PRESET = find_preset("openvla")
# The smallest picture, where it is the replies that are looked at.
TINY = replace(PRESET, images={"image": replace(PRESET.images["image"], height=4, width=4)})
ACTION = [0.01, -0.02, 0.03, 0.1, -0.1, 0.2, 1.0]
CLIENTS: list[RemotePolicy] = []


def remote(port: int, preset: Preset = TINY, *, timeout_s: float = 5.0, **options: str) -> RemotePolicy:
    address = Address("127.0.0.1", port, "/act", timeout_s=timeout_s, connect_s=1.0, options=options)
    CLIENTS.append(RemotePolicy(OpenVla(address), preset))
    return CLIENTS[-1]


def close_clients() -> None:
    while CLIENTS:
        CLIENTS.pop().close()


def ask(policy: RemotePolicy, *instructions: str) -> Sequence[ActionChunk | Exception]:
    seen = observation(policy)
    return policy.act([replace(seen, episode_id=words, instruction=words) for words in instructions])


def failed(policy: RemotePolicy, words: str, kind: type[Exception] = WireError) -> None:
    (answer,) = ask(policy, "e")
    assert isinstance(answer, kind), repr(answer)
    assert words in str(answer), str(answer)


# Servers that do what a test says.


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    answer: Callable[[Handler, Any], object]
    connections: set[Any]

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        type(self).connections.add(self.client_address)
        said = type(self).answer(self, json.loads(body))
        if said is not None:
            self.say(json.dumps(said, default=encode).encode())

    def say(self, body: bytes, status: int = 200) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None: ...


class Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: object, client_address: object) -> None:
        """Clients that break off are what some of the tests are about."""


class ServerV6(Server):
    address_family = socket.AF_INET6


@contextmanager
def scripted(
    answer: Callable[[Any, Any], object], port: int = 0, host: str = "127.0.0.1"
) -> Iterator[tuple[int, set[Any]]]:
    """A server as OpenVLA's, and the connections that were made to it."""
    connections: set[Any] = set()
    kind = type("Scripted", (Handler,), {"answer": answer, "connections": connections})
    with (ServerV6 if ":" in host else Server)((host, port), kind) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        try:
            yield server.server_address[1], connections
        finally:
            close_clients()
            server.shutdown()
            thread.join()


@contextmanager
def raw(reply: Callable[[], bytes | None], *, then_close: bool = True) -> Iterator[int]:
    """A server below HTTP: reads a request, says the bytes, and closes or waits to be closed; None only waits."""
    listening = socket.create_server(("127.0.0.1", 0))
    listening.settimeout(0.05)
    done = threading.Event()

    def serve_one(connection: socket.socket) -> None:
        with connection, contextlib.suppress(OSError):
            connection.settimeout(10)
            while not done.is_set():
                head = b""
                while b"\r\n\r\n" not in head:
                    if not (data := connection.recv(65536)):
                        return
                    head += data
                headers, _, body = head.partition(b"\r\n\r\n")
                length = int(headers.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
                while len(body) < length:
                    body += connection.recv(65536)
                if (said := reply()) is not None:
                    connection.sendall(said)
                    if then_close:
                        return

    def target() -> None:
        while not done.is_set():
            with contextlib.suppress(OSError):
                connection, _ = listening.accept()
                threading.Thread(target=serve_one, args=(connection,), daemon=True).start()

    thread = threading.Thread(target=target)
    thread.start()
    try:
        yield listening.getsockname()[1]
    finally:
        close_clients()
        done.set()
        thread.join()
        listening.close()


def http(body: bytes, *headers: str, status: str = "200 OK") -> bytes:
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", *headers]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


# What is said.


def test_a_query_is_what_openvlas_server_takes() -> None:
    requests: list[Any] = []

    def answer(_: Handler, request: Any) -> object:
        requests.append(request)
        return ACTION

    with scripted(answer) as (port, _):
        policy = make_policy(f"openvla+http://127.0.0.1:{port}/act?timeout=5&unnorm_key=bridge_orig", "openvla")
        assert isinstance(policy, RemotePolicy)
        CLIENTS.append(policy)
        seen = observation(policy)
        (chunk,) = policy.act([seen])
    (request,) = requests
    assert set(request) == {"image", "instruction", "unnorm_key"}
    assert request["instruction"] == seen.instruction and request["unnorm_key"] == "bridge_orig"
    image = request["image"]
    assert set(image) == {"__numpy__", "dtype", "shape"} and image["shape"] == [224, 224, 3] and image["dtype"] == "|u1"
    assert base64.b64decode(image["__numpy__"]) == seen.images["front"].tobytes()
    assert isinstance(chunk, np.ndarray) and chunk.shape == (1, 7)
    assert np.allclose(chunk[0, [0, 1, 2, 6]], [0.01, -0.02, 0.03, 1])


def test_without_a_key_none_is_sent_and_act_is_the_path() -> None:
    paths: list[tuple[str, Any]] = []

    def answer(handler: Handler, request: Any) -> object:
        paths.append((handler.path, set(request)))
        return ACTION

    with scripted(answer) as (port, _):
        policy = make_policy(f"openvla+http://127.0.0.1:{port}", "openvla")
        assert isinstance(policy, RemotePolicy)
        CLIENTS.append(policy)
        ask(policy, "x")
    assert paths == [("/act", {"image", "instruction"})]


@pytest.mark.parametrize(
    "said",
    [
        ACTION,
        [ACTION, ACTION],
        np.array(ACTION),
        np.array([ACTION], np.float32),
        [np.array(ACTION), np.array(ACTION)],
        {"actions": ACTION},
        {"actions": np.array(ACTION)},
    ],
)
def test_actions_come_as_lists_or_arrays(said: object) -> None:
    with scripted(lambda *_: said) as (port, _):
        (chunk,) = ask(remote(port), "x")
    assert isinstance(chunk, np.ndarray) and chunk.ndim == 2 and chunk.shape[1] == 7
    assert np.allclose(chunk[-1, :3], ACTION[:3])


@given(
    array=hnp.arrays(
        st.one_of(hnp.boolean_dtypes(), hnp.integer_dtypes(endianness="?"), hnp.floating_dtypes(endianness="?")),
        hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4),
    )
)
def test_arrays_in_the_form_of_json_numpy_are_read_back(array: NDArray[Any]) -> None:
    read = read_reply(json.dumps({"a": array}, default=encode).encode(), "here")["a"]
    assert read.dtype == array.dtype and read.shape == array.shape and read.tobytes() == array.tobytes()


def test_the_form_is_that_of_json_numpy() -> None:
    """As that library writes a float32 of 1.5 twice."""
    assert encode(np.array([1.5, 1.5], "<f4")) == {"__numpy__": "AADAPwAAwD8=", "dtype": "<f4", "shape": [2]}


def test_an_episode_runs_over_the_wire() -> None:
    lift = [0.0, 0.0, 0.01, 0.0, 0.0, 0.0, 1.0]
    with scripted(lambda *_: lift) as (port, connections):
        policy = make_policy(f"openvla+http://127.0.0.1:{port}", "openvla")
        assert isinstance(policy, RemotePolicy)
        CLIENTS.append(policy)
        (finished,) = rollout([Trial("control/stack_cube", 2, "openvla", 0)], policy)
    assert finished.episode.outcome == "timeout" and finished.trajectory is not None
    tool = finished.trajectory.tool_in_world[:, 0, :3]
    assert tool[-1, 2] - tool[0, 2] > 0.1
    assert len(connections) == 1, "one connection is kept"


# Several at once.


def test_as_many_as_there_are_connections_are_under_way() -> None:
    together = threading.Barrier(IN_FLIGHT)

    def answer(_: Handler, request: Any) -> object:
        together.wait(5)
        return [len(request["instruction"]) / 1000, *ACTION[1:]]

    with scripted(answer) as (port, connections):
        chunks = ask(remote(port), *("x" * (i + 1) for i in range(6)))
    assert [round(float(chunk[0, 0]) * 1000) for chunk in chunks if isinstance(chunk, np.ndarray)] == [*range(1, 7)]
    assert len(connections) == IN_FLIGHT


def test_an_error_hits_only_the_episode_it_is_of() -> None:
    def answer(handler: Handler, request: Any) -> object:
        words = request["instruction"]
        if words == "422":
            handler.say(b'{"detail": "no such field"}', 422)
            return None
        if words == "gone":
            handler.close_connection = True
            return None
        return {"error": "error", "garbled": {"__numpy__": "!", "dtype": "<f4", "shape": []}, "wide": [0.0] * 8}.get(
            words, ACTION
        )

    names = ["a", "error", "b", "422", "c", "gone", "d", "garbled", "wide", "e"]
    with scripted(answer) as (port, _):
        answers = dict(zip(names, ask(remote(port), *names), strict=True))
    assert all(isinstance(answers[name], np.ndarray) for name in "abcde")
    assert "its log says why" in str(answers["error"]) and isinstance(answers["error"], WireError)
    assert "422" in str(answers["422"]) and "no such field" in str(answers["422"])
    assert isinstance(answers["gone"], WireError) and "closed the connection" in str(answers["gone"])
    assert "base64" in str(answers["garbled"])
    assert isinstance(answers["wide"], InvalidAction)


# Faults.


def test_a_server_that_is_not_there_is_named() -> None:
    port = free_port()
    with pytest.raises(Unreachable, match=f"127.0.0.1:{port} after 0.3 s"):
        make_policy(f"openvla+http://127.0.0.1:{port}/act?connect=0.3", "openvla")


def test_conventions_must_be_said_and_must_be_openvlas() -> None:
    with scripted(lambda *_: ACTION) as (port, _):
        with pytest.raises(UserError, match=r"give --preset with one of .*openvla"):
            make_policy(f"openvla+http://127.0.0.1:{port}/act")
        with pytest.raises(BadPreset, match="needs instruction"):
            make_policy(f"openvla+http://127.0.0.1:{port}/act", "droid")
        with pytest.raises(UserError, match='no option "key"'):
            make_policy(f"openvla+http://127.0.0.1:{port}/act?key=3", "openvla")


def test_a_server_that_hangs_meets_the_deadline_once_for_all() -> None:
    seen: list[int] = []
    with raw(lambda: seen.append(1)) as port:
        answers = ask(remote(port, timeout_s=0.3), *"abcdefgh")
    assert len(seen) <= IN_FLIGHT, "the others are not asked in vain"
    assert all(isinstance(one, WireError) and "did not answer in time" in str(one) for one in answers)


def test_a_server_that_trickles_meets_the_deadline() -> None:
    """Each byte comes soon after the last, but the answer never ends."""

    def answer(handler: Handler, _: Any) -> object:
        handler.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")
        for _ in range(100):
            handler.wfile.write(b" ")
            time.sleep(0.02)
        return None

    with scripted(answer) as (port, _):
        failed(remote(port, timeout_s=0.3), "did not answer in time")


def test_a_connection_that_the_server_has_given_up_meanwhile_is_opened_again() -> None:
    """As uvicorn does after five seconds of silence: no episode may be lost for it."""

    def answer(handler: Handler, _: Any) -> object:
        handler.close_connection = True
        return ACTION

    with scripted(answer) as (port, connections):
        policy = remote(port)
        for _ in range(3):
            assert isinstance(ask(policy, "x")[0], np.ndarray)
            time.sleep(0.05)
        assert len(connections) == 3


def test_a_connection_given_up_in_the_moment_of_asking_is_opened_again() -> None:
    """The close is seen only when the answer is waited for."""
    calls: list[int] = []

    def answer(handler: Handler, _: Any) -> object:
        calls.append(1)
        if len(calls) == 2:
            handler.close_connection = True
            return None
        return ACTION

    with scripted(answer) as (port, _):
        policy = remote(port)
        assert isinstance(ask(policy, "x")[0], np.ndarray)
        assert isinstance(ask(policy, "x")[0], np.ndarray)
    assert len(calls) == 3


def test_a_server_that_dies_and_comes_back_serves_the_next_episode() -> None:
    port = 0
    policy: RemotePolicy | None = None
    for _ in range(2):
        with scripted(lambda *_: ACTION, port) as (port, _):
            policy = policy or remote(port)
            CLIENTS.append(policy)
            policy.reset([EpisodeStart("e", 0, "", "", 0, 0, "x")])
            assert isinstance(ask(policy, "e")[0], np.ndarray)
    assert policy is not None
    with pytest.raises(Unreachable):
        policy.reset([EpisodeStart("e", 0, "", "", 0, 0, "x")])


@pytest.mark.parametrize(
    ("said", "words", "kind"),
    [
        (http(b'"error"'), "its log says why", WireError),
        (http(b'"left"'), "'left', neither actions nor a map", WireError),
        (http(b"7"), "neither actions nor a map", WireError),
        (http(b"null"), "neither", WireError),
        (http(b"<html>"), "no JSON", WireError),
        (http(b""), "no JSON", WireError),
        (http(b"\xff\xfe\x00"), "no JSON", WireError),
        (http(b"[" * 90_000), "no JSON", WireError),
        (http(b"[" * 200_000), "more than 100000 maps and lists", WireError),
        (http(b"[" + b"{}," * 100_000 + b"{}]"), "more than 100000 maps and lists", WireError),
        (http(b"[" + b"9" * 5000 + b"]"), "no JSON", WireError),
        (http(b"{}"), "has no actions", WireError),
        (http(b"[]"), "at least one action", InvalidAction),
        (http(b"[[]]"), "(1, 0)", InvalidAction),
        (http(b"[NaN, 0, 0, 0, 0, 0, 0]"), "not finite", InvalidAction),
        (http(b"[1e999, 0, 0, 0, 0, 0, 0]"), "not finite", InvalidAction),
        (http(b"[1, 2, 3]"), "(3,)", InvalidAction),
        (http(b'["a", "b"]'), "not numbers", InvalidAction),
        (http(b"[[1, 2], [3]]"), "uneven", InvalidAction),
        (http(b'{"__numpy__": "AAAA", "dtype": "|O", "shape": [1]}'), "type '|O'", WireError),
        (http(b'{"__numpy__": "AAAA", "dtype": "<f8", "shape": [1099511627776]}'), "1099511627776", WireError),
        (http(b'{"__numpy__": 3, "dtype": "<f8", "shape": [1]}'), "an array whose data are 3", WireError),
        (http(b'{"__numpy__": ""}'), "an array of type None", WireError),
        (http(b"Internal Server Error", status="500 Oops"), "500 Oops", WireError),
        (http(b"", "Location: /other", status="307 Elsewhere"), "307", WireError),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\n[1, 2", "early", WireError),
        (b"SSH-2.0-OpenSSH\r\n", "no answer of HTTP", WireError),
        (b"\x00" * 100, "no answer of HTTP", WireError),
        (b"HTTP/1.1 200 OK\r\n" + b"a: b\r\n" * 1000 + b"\r\n", "no answer of HTTP", WireError),
        (b"HTTP/1.1 200 OK\r\n" + b"a" * 100_000, "no answer of HTTP", WireError),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", "no answer of HTTP", WireError),
        (b"", "closed the connection", WireError),
    ],
)
def test_what_is_no_answer_is_quoted(said: bytes, words: str, kind: type[Exception]) -> None:
    with raw(lambda: said) as port:
        failed(remote(port), words, kind)


def test_chunked_answers_are_read() -> None:
    body = json.dumps(ACTION).encode()
    chunks = b"".join(b"%x\r\n%b\r\n" % (len(part), part) for part in (body[:5], body[5:]))
    with raw(lambda: b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + chunks + b"0\r\n\r\n") as port:
        assert isinstance(ask(remote(port), "x")[0], np.ndarray)


@pytest.mark.parametrize(
    ("head", "piece"),
    [
        ("Content-Length: 1073741824", b"1" * 2**20),
        # Read to the end, which never comes.
        ("Connection: close", b"1" * 2**20),
        ("Content-Length: -1", b"1" * 2**20),
        ("Transfer-Encoding: chunked", b"100000\r\n" + b"1" * 2**20 + b"\r\n"),
        # Chunks that are hardly more than their sizes.
        ("Transfer-Encoding: chunked", b"1\r\n1\r\n" * 2**17),
        ("Transfer-Encoding: chunked", b"-5\r\n" * 2**18),
    ],
)
def test_an_answer_of_a_gigabyte_is_refused_and_not_kept(head: str, piece: bytes) -> None:
    def answer(handler: Handler, _: Any) -> object:
        with contextlib.suppress(OSError):
            handler.wfile.write(f"HTTP/1.1 200 OK\r\n{head}\r\n\r\n".encode())
            for _ in range(1024):
                handler.wfile.write(piece)
        handler.close_connection = True
        return None

    with scripted(answer) as (port, _):
        policy = remote(port, timeout_s=2)
        policy.wire.describe()
        tracemalloc.start()
        try:
            (said,) = ask(policy, "e")
            assert isinstance(said, WireError), repr(said)
            assert tracemalloc.get_traced_memory()[1] < 4 * MAX_REPLY_BYTES
        finally:
            tracemalloc.stop()


def test_headers_without_end_are_refused() -> None:
    def answer(handler: Handler, _: Any) -> object:
        with contextlib.suppress(OSError):
            for _ in range(2**20):
                handler.wfile.write(b"HTTP/1.1 100 Continue\r\n\r\n" * 1000)
        return None

    with scripted(answer) as (port, _):
        (said,) = ask(remote(port, timeout_s=20), "e")
        assert isinstance(said, WireError)


# Whatever a server may send.


def made_up(rng: np.random.Generator) -> bytes:
    """JSON that is almost an action."""
    numbers: list[Any] = [
        0,
        1,
        -1.5,
        1e300,
        1e-300,
        float("nan"),
        float("inf"),
        2**70,
        True,
        None,
        "1",
        [],
        {},
        [0.0] * 7,
    ]
    likely = [0.01, -0.02, 0.03, 1]

    def number() -> Any:
        return numbers[int(rng.integers(len(numbers)))] if rng.random() < 0.05 else likely[int(rng.integers(4))]

    row = [number() for _ in range(int(rng.choice([7, 7, 7, 6, 8, 0, 1])))]
    said = [row, [row] * int(rng.integers(3)), {"actions": row}, {"action": row}, [row, row[1:]], row and row[0]]
    return json.dumps(said[int(rng.integers(len(said)))]).encode()


def test_thousands_of_answers_that_no_sane_server_sends(fuzz_count: int) -> None:
    """Half of them are broken answers, sound HTTP around a broken body or broken HTTP, and half are made up."""
    bodies = [
        json.dumps(said, default=encode).encode()
        for said in (ACTION, [ACTION] * 3, np.array(ACTION), {"actions": np.array([ACTION])}, "error")
    ]
    chunks = b"%x\r\n%b\r\n0\r\n\r\n" % (len(bodies[0]), bodies[0])
    whole = [*map(http, bodies), b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + chunks]
    rng = np.random.default_rng(0)
    answers: list[bytes] = []
    pairs = zip(
        fuzzed(bodies, count=fuzz_count // 2, seed=1), fuzzed(whole, count=fuzz_count // 2, seed=2), strict=True
    )
    for index, (body, answer) in enumerate(pairs):
        # What `fuzzed` makes up is no JSON.
        answers += [http(body if index % 2 == 0 else made_up(rng)), answer]
    said = iter(answers)
    with raw(lambda: next(said)) as port:
        policy = remote(port, timeout_s=5)
        outcomes = tally(policy, observation(policy), fuzz_count)
    assert sum(outcomes.values()) == fuzz_count and next(said, None) is None
    assert min(outcomes["valid"], outcomes["InvalidAction"]) > fuzz_count / 100
    assert outcomes["WireError"] > fuzz_count / 10


def test_broken_answers_on_a_connection_that_stays_open_hang_no_longer_than_the_deadline() -> None:
    said = iter(fuzzed([http(json.dumps(ACTION).encode())], count=60, seed=3))
    with raw(lambda: next(said), then_close=False) as port:
        policy = remote(port, timeout_s=0.1)
        seen = observation(policy)
        outcomes = [judge(policy, seen) for _ in range(40)]
    assert "WireError" in outcomes


@needs_ipv6
def test_a_server_at_an_address_of_ipv6_is_reached() -> None:
    hosts: list[str] = []

    def answer(handler: Handler, _: Any) -> object:
        hosts.append(handler.headers["Host"])
        return ACTION

    with scripted(answer, host="::1") as (port, _):
        policy = make_policy(f"openvla+http://[::1]:{port}/act?connect=2", "openvla")
        assert isinstance(policy, RemotePolicy)
        CLIENTS.append(policy)
        assert isinstance(ask(policy, "e")[0], np.ndarray)
    assert hosts == [f"[::1]:{port}"]
