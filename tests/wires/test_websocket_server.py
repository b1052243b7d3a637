"""The server's end of a websocket, against clients of the library's own and some that keep no protocol."""

from __future__ import annotations

import asyncio
import socket
import struct
import threading
import time
from collections.abc import Callable, Hashable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from urllib.request import urlopen

import pytest
from websockets.exceptions import ConnectionClosed, ConnectionClosedError, InvalidStatus
from websockets.sync.client import connect

from robodx.errors import UserError
from robodx.wires import websocket_server
from robodx.wires.websocket_server import serve_websockets

HANDSHAKE = (
    b"GET / HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
    b"Sec-WebSocket-Key: MDEyMzQ1Njc4OWFiY2RlZg==\r\n"
)


class Echo:
    """Greets, answers with what came, and fails when told to."""

    def __init__(self, session: Hashable, left: list[Hashable]) -> None:
        self._session, self._left = session, left

    def greet(self) -> bytes:
        return b"hello"

    def answer(self, frame: bytes | str) -> bytes | str | None:
        if frame == "fail":
            return "a traceback"
        if frame == "slow":
            time.sleep(0.6)
        return None if frame == "nothing" else b"text " + frame.encode() if isinstance(frame, str) else frame

    def leave(self) -> None:
        self._left.append(self._session)


@pytest.fixture
def left() -> list[Hashable]:
    return []


@pytest.fixture
def port(left: list[Hashable]) -> Iterator[int]:
    with serving(left) as port:
        yield port


@contextmanager
def serving(left: list[Hashable], key: str | None = None) -> Iterator[int]:
    ready = threading.Event()
    known: list[tuple[int, Callable[[], object]]] = []

    def on_ready(port: int) -> None:
        loop, task = asyncio.get_running_loop(), asyncio.current_task()
        assert task is not None
        known.append((port, lambda: loop.call_soon_threadsafe(task.cancel)))
        ready.set()

    def target() -> None:
        with suppress(asyncio.CancelledError):
            serve_websockets(lambda session: Echo(session, left), "127.0.0.1", 0, on_ready, health="/health", key=key)

    thread = threading.Thread(target=target)
    thread.start()
    assert ready.wait(10)
    try:
        yield known[0][0]
    finally:
        known[0][1]()
        thread.join(10)


def url(port: int) -> str:
    return f"ws://127.0.0.1:{port}"


def test_whole_messages_pieces_texts_and_pings(port: int) -> None:
    with connect(url(port), max_size=None) as client:
        assert client.recv() == b"hello"
        client.send(bytes(3 * 2**20))
        assert client.recv() == bytes(3 * 2**20)
        client.send([b"in ", b"three ", b"pieces"])
        assert client.recv() == b"in three pieces"
        client.send("nothing")
        assert client.ping().wait(5)
        client.send("words")
        assert client.recv() == b"text words"


def test_a_failure_is_told_before_the_end(port: int) -> None:
    with connect(url(port)) as client:
        client.recv()
        client.send("fail")
        # Under way already when the server gives up: they must not cost the client the reason.
        with suppress(ConnectionClosed):
            for _ in range(20):
                client.send(bytes(2**16))
        assert client.recv() == "a traceback"
        with pytest.raises(ConnectionClosedError, match="1011"):
            client.recv()


def test_a_session_is_left_however_it_ends(port: int, left: list[Hashable]) -> None:
    with connect(url(port)) as client:
        client.recv()
    with connect(url(port)) as rude:
        rude.recv()
        rude.socket.shutdown(socket.SHUT_RDWR)
    deadline = time.monotonic() + 10
    while len(left) < 2 and time.monotonic() < deadline:
        time.sleep(0.01)
    assert len(set(left)) == 2


def test_what_is_no_websocket_and_what_is_too_large_ends_that_connection_alone(port: int) -> None:
    for nonsense in (b"\x00\xff" * 100, b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", b"POST / HTTP/1.0\r\n\r\n"):
        with socket.create_connection(("127.0.0.1", port), timeout=5) as raw:
            raw.sendall(nonsense)
            raw.shutdown(socket.SHUT_WR)
            while raw.recv(2**16):
                pass
    with connect(url(port)) as client:
        client.recv()
        # A frame of a gigabyte, of which nothing more comes.
        client.socket.sendall(b"\x82\xff" + struct.pack(">Q", 2**30) + b"mask")
        with pytest.raises(ConnectionClosedError, match="1009"):
            client.recv(timeout=5)
    with connect(url(port)) as client:
        assert client.recv() == b"hello"


def test_a_message_in_endless_pieces_ends_that_connection_alone(port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(websocket_server, "MAX_PIECES", 100)
    with connect(url(port)) as client:
        client.recv()
        client.send([b"x"] * 99)
        assert client.recv() == b"x" * 99
        # Of no size at all, so that no bound on bytes is ever met.
        with suppress(ConnectionClosed):
            client.send([b""] * 200)
        with pytest.raises(ConnectionClosedError, match=r"1009.*pieces"):
            client.recv(timeout=5)
    with connect(url(port)) as client:
        assert client.recv() == b"hello"


def test_without_the_key_there_is_only_health(left: list[Hashable]) -> None:
    right = b"Authorization: Api-Key secret\r\n"
    wrong = [
        b"", b"Authorization: Api-Key Secret\r\n", b"Authorization: Bearer secret\r\n", b"Authorization: secret\r\n",
        b"Authorization: Api-Key \xff\r\n", b"Authorization:\r\n", 2 * right,
    ]  # fmt: skip
    with serving(left, key="secret") as port:
        for head, status in [*((head, b"401 Unauthorized") for head in wrong), (right, b"101 Switching Protocols")]:
            with socket.create_connection(("127.0.0.1", port), timeout=5) as raw:
                raw.sendall(HANDSHAKE + head + b"\r\n")
                assert raw.recv(2**16).startswith(b"HTTP/1.1 " + status)
        with pytest.raises(InvalidStatus, match="401"), connect(url(port)):
            pass
        with urlopen(f"http://127.0.0.1:{port}/health", timeout=5) as answer:
            assert answer.status == 200


def test_a_key_that_no_header_can_hold_is_told_before_the_port_is_open() -> None:
    def on_ready(port: int) -> None:
        raise AssertionError(f"{port} is open")

    with pytest.raises(UserError, match="ROBODX_API_KEY must be plain ASCII"):
        serve_websockets(lambda session: Echo(session, []), "127.0.0.1", 0, on_ready, health="/health", key="sécret")


def test_a_client_that_reads_nothing_is_not_read_from(port: int) -> None:
    with connect(url(port), max_queue=1) as client:
        client.recv()
        client.socket.settimeout(1)
        # Echoed without end, if the server kept all that its client does not fetch.
        frame = b"\x82\xff" + struct.pack(">Q", 2**20) + bytes(4) + bytes(2**20)
        sent = 0
        with suppress(TimeoutError):
            while sent < 200:
                client.socket.sendall(frame)
                sent += 1
        assert sent < 200
        client.socket.close()


def test_a_taken_port_is_told(port: int) -> None:
    with pytest.raises(UserError, match=f"cannot serve at 127.0.0.1:{port}"):
        serve_websockets(lambda session: Echo(session, []), "127.0.0.1", port, print, health="/health")


# Clients that keep no protocol, or whom nobody asked.


@contextmanager
def raw(port: int, *said: bytes) -> Iterator[socket.socket]:
    """A client that says this in one breath, and then nothing."""
    with socket.create_connection(("127.0.0.1", port), timeout=5) as client:
        client.sendall(b"".join(said))
        yield client


def masked(text: bytes, opcode: int = 1) -> bytes:
    return bytes([0x80 | opcode, 0x80 | len(text)]) + bytes(4) + text


def heard(client: socket.socket) -> bytes:
    """All that the server says until it has said its last."""
    parts = []
    with suppress(ConnectionResetError):
        while part := client.recv(2**16):
            parts.append(part)
    return b"".join(parts)


def is_gone(client: socket.socket) -> bool:
    """Whether the server has let go of the connection, and does not only say nothing more."""
    deadline = time.monotonic() + 5
    with suppress(OSError):
        while time.monotonic() < deadline:
            client.sendall(b"x")
            time.sleep(0.02)
    return time.monotonic() < deadline


@pytest.mark.parametrize("said", [b"", b"GET / HT", HANDSHAKE, b"\x16\x03\x01\x02"], ids=["", "half", "no end", "TLS"])
def test_who_does_not_say_what_it_is_in_time_is_let_go(
    said: bytes, left: list[Hashable], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(websocket_server, "HANDSHAKE_S", 0.1)
    with serving(left) as port, connect(url(port)) as known:
        with raw(port, said) as client:
            assert heard(client) == b""
        assert known.recv() == b"hello", "and who did is not"


def test_who_was_kept_waiting_by_the_policy_is_not_let_go(
    left: list[Hashable], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(websocket_server, "HANDSHAKE_S", 0.1)
    with serving(left) as port, connect(url(port)) as busy, raw(port) as early:
        busy.send("slow")
        time.sleep(0.05)
        early.sendall(HANDSHAKE + b"\r\n")
        with raw(port, HANDSHAKE, b"\r\n") as late:
            assert all(client.recv(2**12).startswith(b"HTTP/1.1 101") for client in (early, late))


@pytest.mark.parametrize(
    "said",
    [
        (b"no request\r\n\r\n",),
        (HANDSHAKE, b"Origin: http://a.page\r\n\r\n"),
        (b"GET /health HTTP/1.1\r\n\r\n",),
        (HANDSHAKE, b"\r\n", masked(b"fail")),
        (HANDSHAKE, b"\r\n", b"\xff\xff\xff"),
    ],
    ids=["no request", "refused", "health", "an error", "no frame"],
)
def test_after_the_last_word_the_connection_ends_whatever_the_client_does(
    said: tuple[bytes, ...], left: list[Hashable], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(websocket_server, "GOODBYE_S", 0.1)
    with serving(left) as port, raw(port, *said) as client:
        assert is_gone(client)


def test_what_is_said_in_one_breath_with_the_handshake_is_heard(
    port: int, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(websocket_server, "GOODBYE_S", 0.05)
    with raw(port, HANDSHAKE, b"\r\n", masked(b"hi"), masked(b"fail")) as client:
        assert b"text hi" in heard(client)
    for nonsense in (b"\xff\xff\xff", masked(b"", 9), masked(b"", 8), masked(b"fail") + b"\xff"):
        for handshake in (HANDSHAKE, HANDSHAKE.replace(b"GET", b"PUT"), HANDSHAKE.replace(b"13", b"12")):
            with raw(port, handshake, b"\r\n", nonsense) as client:
                client.shutdown(socket.SHUT_WR)
                heard(client)
    assert not caplog.records, "nothing is told of it"


@pytest.mark.parametrize(
    ("host", "origin", "is_answered"),
    [
        (b"127.0.0.1:8000", None, True),
        (b"127.0.0.1:8000", b"http://127.0.0.1:8000", True),
        (b"localhost:8000", b"http://localhost:8000", True),
        (b"[::1]:8000", b"http://[::1]:8000", True),
        (b"127.0.0.1:8000", b"http://127.0.0.1:3000", False),
        (b"127.0.0.1:8000", b"https://a.page", False),
        (b"a.page:8000", b"http://a.page:8000", False),
        (b"127.0.0.1:8000", b"null", False),
        (b"127.0.0.1:8000", b"", False),
        (b"127.0.0.1:8000", b"http://[", False),
        (b"[::1]:8000", b"http://[::1]:8000", True),
        (b"[::1].a.page:8000", b"http://[::1].a.page:8000", False),
        (b"127.0.0.1:8000", b"http://127.0.0.1:8000\r\nOrigin: https://a.page", False),
    ],
)
def test_a_page_in_a_browser_is_not_answered(port: int, host: bytes, origin: bytes | None, is_answered: bool) -> None:
    head = HANDSHAKE.replace(b"Host: x", b"Host: " + host)
    with raw(port, head, b"" if origin is None else b"Origin: " + origin + b"\r\n", b"\r\n") as client:
        assert client.recv(2**12).startswith(b"HTTP/1.1 101" if is_answered else b"HTTP/1.1 403 Forbidden")


def test_who_has_the_key_may_say_any_origin(left: list[Hashable]) -> None:
    with serving(left, key="secret") as port, raw(
        port, HANDSHAKE, b"Origin: http://gpu-box.lab:8000\r\nAuthorization: Api-Key secret\r\n\r\n"
    ) as client:  # fmt: skip
        assert client.recv(2**12).startswith(b"HTTP/1.1 101")


def test_silence_keeps_nobody_out_and_there_is_an_end_to_connections(
    left: list[Hashable], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(websocket_server, "most_connections", lambda: 3)
    with serving(left) as port, ExitStack() as stack:
        silent = [stack.enter_context(raw(port)) for _ in range(6)]
        with connect(url(port)) as first, connect(url(port)) as second, connect(url(port)) as third:
            assert [one.recv() for one in (first, second, third)] == [b"hello"] * 3
            assert all(heard(one) == b"" for one in silent)
            with raw(port) as fourth:
                assert heard(fourth).startswith(b"HTTP/1.1 503 Too Many Connections")


def test_unfinished_messages_are_bounded_together_and_the_largest_goes_first(
    left: list[Hashable], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(websocket_server, "MAX_WAITING_BYTES", 2**20)
    begun = b"\x82\xff" + struct.pack(">Q", 2**24) + bytes(4)
    with serving(left) as port, connect(url(port)) as modest, connect(url(port)) as greedy:
        modest.recv(), greedy.recv()
        modest.socket.sendall(begun + bytes(2**18))
        greedy.socket.sendall(begun + bytes(2**19))
        with suppress(OSError):
            greedy.socket.sendall(bytes(2**19))
        with pytest.raises(ConnectionClosedError, match=r"1009.*unfinished requests"):
            greedy.recv(timeout=5)
        modest.socket.sendall(bytes(2**18))
        assert modest.ping().wait(0.05) is False, "its message is still under way"
        with connect(url(port)) as another:
            another.recv()
            another.send(bytes(2**18))
            assert another.recv() == bytes(2**18)
        modest.socket.close()
