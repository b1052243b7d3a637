"""The server's end of a websocket, on the library's own protocol and an event loop's callbacks.

The library's own server wakes a task for every message, which costs more than a call on the loopback.
"""

from __future__ import annotations

import asyncio
import hmac
from collections.abc import Callable, Hashable
from http import HTTPStatus
from typing import Protocol

from websockets.frames import CloseCode, Frame, Opcode
from websockets.http11 import Request as HttpRequest
from websockets.protocol import State
from websockets.server import ServerProtocol

from robodx.errors import UserError
from robodx.wires.messages import MAX_REQUEST_BYTES
from robodx.wires.websocket import MAX_PIECES, authorization

CLOSED = "the policy failed; see the text frame before this"


class Session(Protocol):
    """What a server's protocol does with one client."""

    def greet(self) -> bytes | None:
        """What the client is told first."""

    def answer(self, frame: bytes | str) -> bytes | str | None:
        """The reply, if there is one. A text says that the server failed; the connection is then closed."""

    def leave(self) -> None: ...


def serve_websockets(
    open_session: Callable[[Hashable], Session],
    host: str,
    port: int,
    on_ready: Callable[[int], None],
    *,
    health: str,
    key: str | None = None,
) -> None:
    """Serve until interrupted; `on_ready` is told the port once it is open, and `GET health` is answered with 200.

    With a key, all else is answered with 401 unless it says it.
    """
    peers: set[_Peer] = set()
    expected = authorization(key) if key else None
    asyncio.run(_serve(lambda: _Peer(open_session, health, expected, peers), host, port, on_ready, peers))


async def _serve(
    make_peer: Callable[[], _Peer], host: str, port: int, on_ready: Callable[[int], None], peers: set[_Peer]
) -> None:
    loop = asyncio.get_running_loop()
    try:
        server = await loop.create_server(make_peer, host, port)
    except OSError as error:
        raise UserError(f"cannot serve at {host}:{port}: {error}") from error
    try:
        async with server:
            on_ready(server.sockets[0].getsockname()[1])
            await server.serve_forever()
    finally:
        for peer in peers:
            peer.dismiss()
        await asyncio.sleep(0)  # in which the connections are lost


class _Peer(asyncio.Protocol):
    """A connection. A policy answers one request at a time, so that there is nothing to wait for in between."""

    _transport: asyncio.Transport

    def __init__(
        self, open_session: Callable[[Hashable], Session], health: str, expected: str | None, peers: set[_Peer]
    ) -> None:
        self._open_session, self._health, self._peers = open_session, health, peers
        self._expected = expected
        self._protocol = ServerProtocol(max_size=MAX_REQUEST_BYTES)
        self._session: Session | None = None
        self._parts: list[bytes] = []
        self._is_text = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._peers.add(self)

    def data_received(self, data: bytes) -> None:
        self._protocol.receive_data(data)
        self._go_on()

    def eof_received(self) -> None:
        self._protocol.receive_eof()
        self._go_on()

    def connection_lost(self, error: Exception | None) -> None:
        self._peers.discard(self)
        if self._session is not None:
            self._session.leave()

    def dismiss(self) -> None:
        """The server stops: clients are told, and not waited for."""
        if self._protocol.state is State.OPEN:
            self._protocol.send_close(CloseCode.GOING_AWAY)
            self._go_on()
        self._transport.abort()

    # A client that sends without reading what it is answered is not read from, until it does.

    def pause_writing(self) -> None:
        self._transport.pause_reading()

    def resume_writing(self) -> None:
        self._transport.resume_reading()

    def _go_on(self) -> None:
        for event in self._protocol.events_received():
            if isinstance(event, HttpRequest):
                self._shake_hands(event)
            elif isinstance(event, Frame) and self._protocol.state is State.OPEN:
                self._take(event)
        for data in self._protocol.data_to_send():
            if data:
                self._transport.write(data)
            # The library's word for the end: what the client still sends is read, and no more.
            elif self._transport.can_write_eof():
                self._transport.write_eof()
        if self._protocol.state is State.CLOSED:
            self._transport.close()

    def _shake_hands(self, request: HttpRequest) -> None:
        if request.path == self._health:
            self._protocol.send_response(self._protocol.reject(HTTPStatus.OK, "OK\n"))
            return
        if not self._knows_key(request):
            refusal = self._protocol.reject(HTTPStatus.UNAUTHORIZED, "Unauthorized: say Authorization: Api-Key KEY\n")
            self._protocol.send_response(refusal)
            return
        self._protocol.send_response(self._protocol.accept(request))
        if self._protocol.state is State.OPEN:
            self._session = self._open_session(self._protocol.id)
            greeting = self._session.greet()
            if greeting is not None:
                self._protocol.send_binary(greeting)

    def _knows_key(self, request: HttpRequest) -> bool:
        if self._expected is None:
            return True
        said = request.headers.get_all("Authorization")
        return len(said) == 1 and hmac.compare_digest(said[0].encode("utf-8", "replace"), self._expected.encode())

    def _take(self, frame: Frame) -> None:
        if frame.opcode in (Opcode.TEXT, Opcode.BINARY):
            self._parts, self._is_text = [], frame.opcode is Opcode.TEXT
        elif frame.opcode is not Opcode.CONT:
            return
        self._parts.append(bytes(frame.data))
        if len(self._parts) > MAX_PIECES:
            self._parts = []
            self._protocol.fail(CloseCode.MESSAGE_TOO_BIG, f"a message in more than {MAX_PIECES} pieces")
            return
        if not frame.fin:
            return
        whole = b"".join(self._parts) if len(self._parts) > 1 else self._parts[0]
        self._parts = []
        assert self._session is not None
        reply = self._session.answer(whole.decode("utf-8", "replace") if self._is_text else whole)
        if isinstance(reply, str):
            self._protocol.send_text(reply.encode())
            self._protocol.send_close(CloseCode.INTERNAL_ERROR, CLOSED)
        elif reply is not None:
            self._protocol.send_binary(reply)
