"""The server's end of a websocket, on the library's own protocol and an event loop's callbacks.

The library's own server wakes a task for every message, which costs more than a call on the loopback.
"""

from __future__ import annotations

import asyncio
import hmac
import ipaddress
import math
import socket
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any, Protocol

from websockets.frames import CloseCode, Frame, Opcode
from websockets.http11 import Request as HttpRequest
from websockets.protocol import State
from websockets.server import ServerProtocol

from robodx.errors import UserError
from robodx.hosts import host_name
from robodx.output import print_aside
from robodx.wires.messages import MAX_REQUEST_BYTES
from robodx.wires.serving import HANDSHAKE_S, Last, most_connections, watch_for_silence
from robodx.wires.websocket import MAX_PIECES, authorization

CLOSED = "the policy failed; see the frame before this"
# Of all clients' unfinished requests together: one of the largest size fits.
MAX_WAITING_BYTES = MAX_REQUEST_BYTES
# Below this a client need not be counted.
FEW_BYTES = 2**16
# How long a client has to take what it was told last.
GOODBYE_S = 5.0
# A policy may have kept the loop from reading what has long been sent: it is read in this time.
GLANCE_S = 0.2
TELL_EVERY_S = 10.0
FULL = b"HTTP/1.1 503 Too Many Connections\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"


class Session(Protocol):
    """What a server's protocol does with one client."""

    def greet(self) -> bytes | None:
        """What the client is told first."""

    def answer(self, frame: bytes | str) -> bytes | str | Last | None:
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

    With a key, all else is answered with 401 unless it says it. Web pages are answered with 403.
    """
    house = _House(open_session, health, authorization(key) if key else None, most_connections())
    asyncio.run(_serve(house, host, port, on_ready))


async def _serve(house: _House, host: str, port: int, on_ready: Callable[[int], None]) -> None:
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(house.tell)
    try:
        server = await loop.create_server(lambda: _Peer(house), host, port)
    except OSError as error:
        raise UserError(f"cannot serve at {host}:{port}: {error}") from error
    try:
        async with server:
            on_ready(server.sockets[0].getsockname()[1])
            await server.serve_forever()
    finally:
        for peer in list(house.peers):
            peer.dismiss()
        await asyncio.sleep(0)  # in which the connections are lost


@dataclass(eq=False)
class _House:
    """What all connections share."""

    open_session: Callable[[Hashable], Session]
    health: str
    # Of the header with the key.
    expected: str | None
    most: int
    told_s: float = -math.inf
    # In the order in which they came.
    peers: dict[_Peer, None] = field(default_factory=dict)

    def admit(self, peer: _Peer) -> bool:
        """Of too many the one goes that has been silent for longest, so that silence keeps nobody out."""
        if len(self.peers) >= self.most:
            silent = next((one for one in self.peers if not one.is_known), None)
            if silent is None:
                return False
            silent.abort()
        self.peers[peer] = None
        return True

    def tell(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """What the system refuses is told in a line, and not at once again: it comes many times a second."""
        error = context.get("exception")
        if not isinstance(error, OSError):
            loop.default_exception_handler(context)
        elif loop.time() - self.told_s > TELL_EVERY_S:
            self.told_s = loop.time()
            print_aside(f"robodx serve: {context['message']}: {error}")

    def make_room(self) -> None:
        """Whoever holds the most unread bytes is told to go, until all hold no more than they may."""
        while sum(peer.held_bytes for peer in self.peers) > MAX_WAITING_BYTES:
            greatest = max(self.peers, key=lambda peer: peer.held_bytes)
            greatest.refuse_message()
            if greatest.held_bytes:
                greatest.abort()


class _Peer(asyncio.Protocol):
    """A connection. A policy answers one request at a time, so that there is nothing to wait for in between."""

    _transport: asyncio.Transport

    def __init__(self, house: _House) -> None:
        self._house = house
        self._protocol = ServerProtocol(max_size=MAX_REQUEST_BYTES)
        self._session: Session | None = None
        self._parts: list[bytes] = []
        self._parts_bytes = 0
        self._is_text = False
        self._is_leaving = False
        self._timer: asyncio.TimerHandle | None = None

    @property
    def is_known(self) -> bool:
        """Whether it has shaken hands, with the key if there is one."""
        return self._session is not None

    @property
    def held_bytes(self) -> int:
        return len(self._protocol.reader.buffer) + self._parts_bytes

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        if not self._house.admit(self):
            self._is_leaving = True
            transport.write(FULL)
            transport.close()
            return
        watch_for_silence(transport.get_extra_info("socket"))
        self._alarm(HANDSHAKE_S, lambda: self._alarm(GLANCE_S, self.abort))

    def data_received(self, data: bytes) -> None:
        if self not in self._house.peers:
            return
        # The handshake line by line: what follows it in the same breath is read once it has been answered.
        while data and self._protocol.state is State.CONNECTING and not self._is_leaving:
            line = data[: data.find(b"\n") + 1 or len(data)]
            data = data[len(line) :]
            self._protocol.receive_data(line)
            self._go_on()
        if data:
            self._protocol.receive_data(data)
            self._go_on()
        if self.held_bytes > FEW_BYTES:
            self._house.make_room()

    def eof_received(self) -> None:
        if self in self._house.peers:
            self._protocol.receive_eof()
            self._go_on()

    def connection_lost(self, error: Exception | None) -> None:
        self._silence()
        self._house.peers.pop(self, None)
        if self._session is not None:
            self._session.leave()

    def dismiss(self) -> None:
        """The server stops: clients are told, and not waited for."""
        if self._protocol.state is State.OPEN:
            self._protocol.send_close(CloseCode.GOING_AWAY)
            self._go_on()
        self.abort()

    def abort(self) -> None:
        self._house.peers.pop(self, None)
        self._transport.abort()

    def refuse_message(self) -> None:
        self._forget_parts()
        self._protocol.fail(
            CloseCode.MESSAGE_TOO_BIG, f"unfinished requests of more than {MAX_WAITING_BYTES >> 20} MiB are waiting"
        )
        self._go_on()

    # A client that sends without reading what it is answered is not read from, until it does.

    def pause_writing(self) -> None:
        self._transport.pause_reading()

    def resume_writing(self) -> None:
        self._transport.resume_reading()

    def _alarm(self, after_s: float, then: Callable[[], None]) -> None:
        self._silence()
        self._timer = asyncio.get_running_loop().call_later(after_s, then)

    def _silence(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

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
        # Whatever the client does or does not do about it, the connection then ends.
        if not self._is_leaving and (self._protocol.close_expected() or self._protocol.state is State.CLOSED):
            self._is_leaving = True
            self._alarm(GOODBYE_S, self.abort)

    def _shake_hands(self, request: HttpRequest) -> None:
        if request.path == self._house.health:
            self._protocol.send_response(self._protocol.reject(HTTPStatus.OK, "OK\n"))
        elif not self._knows_key(request):
            refusal = self._protocol.reject(HTTPStatus.UNAUTHORIZED, "Unauthorized: say Authorization: Api-Key KEY\n")
            self._protocol.send_response(refusal)
        # No page has a key: browsers let none send it with the request for a websocket.
        elif self._house.expected is None and not _is_from_here(request):
            refusal = self._protocol.reject(HTTPStatus.FORBIDDEN, "Forbidden: web pages are not answered\n")
            self._protocol.send_response(refusal)
        else:
            self._protocol.send_response(self._protocol.accept(request))
        if self._protocol.state is State.OPEN:
            self._silence()
            self._session = self._house.open_session(self._protocol.id)
            greeting = self._session.greet()
            if greeting is not None:
                self._protocol.send_binary(greeting)

    def _knows_key(self, request: HttpRequest) -> bool:
        expected = self._house.expected
        if expected is None:
            return True
        said = request.headers.get_all("Authorization")
        return len(said) == 1 and hmac.compare_digest(said[0].encode("utf-8", "replace"), expected.encode())

    def _take(self, frame: Frame) -> None:
        if frame.opcode in (Opcode.TEXT, Opcode.BINARY):
            self._forget_parts()
            self._is_text = frame.opcode is Opcode.TEXT
        elif frame.opcode is not Opcode.CONT:
            return
        self._parts.append(bytes(frame.data))
        self._parts_bytes += len(frame.data)
        if len(self._parts) > MAX_PIECES:
            self._forget_parts()
            self._protocol.fail(CloseCode.MESSAGE_TOO_BIG, f"a message in more than {MAX_PIECES} pieces")
            return
        if not frame.fin:
            return
        whole = b"".join(self._parts) if len(self._parts) > 1 else self._parts[0]
        self._forget_parts()
        assert self._session is not None
        reply = self._session.answer(whole.decode("utf-8", "replace") if self._is_text else whole)
        if isinstance(reply, str):
            self._protocol.send_text(reply.encode("utf-8", "replace"))
        elif reply is not None:
            self._protocol.send_binary(reply.reply if isinstance(reply, Last) else reply)
        if isinstance(reply, str | Last):
            self._protocol.send_close(CloseCode.INTERNAL_ERROR, CLOSED)

    def _forget_parts(self) -> None:
        self._parts, self._parts_bytes = [], 0


def _is_from_here(request: HttpRequest) -> bool:
    """Browsers tell which page asks, and pages from anywhere may ask what listens on one's own machine.

    Other clients tell nothing, or the address that they were given; a name in it could be the page's own.
    """
    said, hosts = request.headers.get_all("Origin"), request.headers.get_all("Host")
    if not said:
        return True
    origin = said[0].lower().partition("://")[2].partition("/")[0]
    if len(said) > 1 or len(hosts) != 1 or origin != hosts[0].lower():
        return False
    name = host_name(origin)
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return name in ("localhost", socket.gethostname().lower())
    return True
