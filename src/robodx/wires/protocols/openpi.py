"""openpi's websocket protocol: msgpack, a first frame that says what the server is, then request and reply in turn."""

from __future__ import annotations

import os
import time
import traceback
from collections.abc import Callable, Hashable, Sequence
from typing import TYPE_CHECKING, Any

from robodx.errors import Stop
from robodx.output import shortened
from robodx.wires.base import (
    API_KEY,
    TRACEBACK,
    Address,
    Names,
    Reply,
    Request,
    ServerInfo,
    Wire,
    WireError,
    failure_of,
    wait_for,
)
from robodx.wires.messages import Malformed, encode_with_bytes, flatten, nest, pack, unpack
from robodx.wires.openpi_variants import (
    OPTIONS,
    Plain,
    RequestFailed,
    Variant,
    as_map,
    check_options,
    variant_of,
)
from robodx.wires.pipelining import Ended, ask_ahead
from robodx.wires.preset import EPISODE
from robodx.wires.protocols.base import protocol
from robodx.wires.quoting import MAX_LINE, quote
from robodx.wires.serving import Endpoint

if TYPE_CHECKING:
    from robodx.wires.websocket import WebSocket

PORT = 8000
# Of a traceback that a client is sent.
MAX_LINES = 400


class OpenPi:
    """A connection to a server; requests of several episodes follow each other without waiting."""

    names = Names()

    def __init__(self, address: Address) -> None:
        check_options(address)
        self.address = address
        self._socket: WebSocket | None = None
        self._variant: Variant = Plain({}, address)
        self._count = 0
        self.losses = 0
        # The episode of a server that has no names for them.
        self._only: str | None = None

    def describe(self) -> ServerInfo:
        self._connected()
        return self._variant.server_info()

    def start(self, episode_id: str, instruction: str) -> None:
        """Most servers know no episodes. But a lost one should be noticed here, before anything is simulated."""
        socket = self._connected()
        message = self._variant.reset(episode_id)
        if message is None:
            return
        if not self._variant.tells_episodes_apart and self._only is not None:
            raise Stop(
                f"the server at {self.address} keeps one episode at a time (it takes resets, but no session_id), and "
                "another is under way: run with --batch 1, and with one worker a server"
            )
        try:
            socket.send(pack(message, encode_with_bytes), self.address.timeout_s)
            frame = socket.receive(self.address.timeout_s)
            # A text is how these servers say that all is well, and how they say that nothing is.
            if isinstance(frame, str) and TRACEBACK in frame:
                raise failure_of(self.address, frame, WireError)
        except BaseException:
            self._lose()
            raise
        if not self._variant.tells_episodes_apart:
            self._only = episode_id

    def ask(self, requests: Sequence[tuple[str, Request]]) -> list[Reply | WireError]:
        """What the server says of one request is that one's alone. After any other error the rest err alike.

        A server that fails says so in a text and closes: what it had not looked at yet is sent again.
        """
        return ask_ahead(
            len(requests), lambda index: self._send(*requests[index]), self._receive,
            connect=self._connected, lose=self._lose,
        )  # fmt: skip

    def finish(self, episode_id: str) -> None:
        if self._only == episode_id:
            self._only = None

    def close(self) -> None:
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def _send(self, episode_id: str, request: Request) -> int:
        assert self._socket is not None
        self._count += 1
        message = self._variant.wrap(request, episode_id, self._count)
        self._socket.send(pack(message, encode_with_bytes), self.address.timeout_s)
        return self._count

    def _receive(self, number: int) -> Reply | WireError:
        assert self._socket is not None
        frame = self._socket.receive(self.address.timeout_s)
        if isinstance(frame, str):
            self.close()
            raise Ended(failure_of(self.address, frame, WireError))
        try:
            return self._variant.unwrap(_read(frame, f"the reply of {self.address}"), number)
        except RequestFailed as error:
            return error
        except Malformed as error:
            return RequestFailed(f"the reply of {self.address} is {error}")

    def _lose(self) -> None:
        """With what the server remembered: no episode can go on."""
        self.losses += 1
        self._only = None
        self.close()

    def _connected(self) -> WebSocket:
        # Closed meanwhile, or something came that nobody asked for: the next reply could be taken for another's.
        if self._socket is not None and not self._socket.is_idle:
            self._lose()
        if self._socket is None:
            self._socket = wait_for(self._open, self.address)
        return self._socket

    def _open(self, within_s: float) -> WebSocket:
        from robodx.wires.websocket import WebSocket

        end = time.monotonic() + max(within_s, self.address.timeout_s)
        socket = WebSocket(self.address, within_s)
        try:
            frame = socket.receive(end - time.monotonic())
            if isinstance(frame, str):
                raise WireError(f"it begins with the text {quote(frame)}")
            greeting = as_map(_read(frame, "its first frame"), "its first frame")
            self._variant = variant_of(greeting, self.address)
        except WireError as error:
            socket.close()
            raise OSError(f"it is no openpi server: {error}") from error
        except BaseException:
            socket.close()
            raise
        return socket


def _read(frame: bytes, what: str) -> Any:
    try:
        return unpack(frame)
    except Malformed as error:
        raise RequestFailed(f"{what} is {error}") from error


def serve(endpoint: Endpoint, host: str, port: int, on_ready: Callable[[int], None]) -> None:
    """Serve until interrupted; `on_ready` is told the port once it is open."""
    from robodx.wires.websocket_server import serve_websockets

    serve_websockets(
        lambda session: _Client(endpoint, session), host, port, on_ready,
        health="/healthz", key=os.environ.get(API_KEY),
    )  # fmt: skip


class _Client:
    """What the server knows of one connection."""

    def __init__(self, endpoint: Endpoint, session: Hashable) -> None:
        self._endpoint, self._session = endpoint, session

    def greet(self) -> bytes:
        return pack(self._endpoint.about, encode_with_bytes)

    def answer(self, frame: bytes | str) -> bytes | str:
        try:
            return pack(nest(self._endpoint.answer(self._session, flatten_request(frame))), encode_with_bytes)
        except (Exception, Stop):
            # As openpi does: the traceback as text, and the end. The last lines name the error.
            return "\n".join(shortened(line, MAX_LINE) for line in traceback.format_exc().splitlines()[-MAX_LINES:])

    def leave(self) -> None:
        self._endpoint.leave(self._session)


def flatten_request(frame: bytes | str) -> Request:
    """A client's request; what RoboDx tells of the episode stays a map."""
    message = dict(as_map(_read(frame, "the request"), "the request")) if isinstance(frame, bytes) else {}
    if not message:
        raise ValueError(f"a request must be a map in a binary frame, not {quote(frame)}")
    info = message.pop(EPISODE, None)
    return {**flatten(message), **({EPISODE: info} if info is not None else {})}


@protocol("openpi", port=PORT, names=OpenPi.names, serve=serve)
def openpi(place: str) -> Wire:
    """An openpi server (π0, π0-FAST, π0.5), or one of its RoboArena and StarVLA variants."""
    return OpenPi(Address.parse("openpi", place, port=PORT, takes=OPTIONS))
