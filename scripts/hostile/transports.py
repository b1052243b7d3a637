"""Ways to speak to a served wire without its client: whole messages, and bytes below them."""

from __future__ import annotations

import contextlib
import os
import socket
import struct
import threading
import time
from collections.abc import Iterator
from typing import Protocol

from websockets.frames import Frame, Opcode
from websockets.server import ServerProtocol

WITHIN_S = 10.0
READ_BYTES = 2**16
UPGRADE = (
    "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n{more}\r\n"
)
# Of ZeroMQ's own greeting: the signature, version 3.1, no security, and what follows it, a peer that deals.
ZMTP = b"\xff" + b"\x00" * 8 + b"\x7f\x03\x01NULL" + b"\x00" * 16 + b"\x00" * 32
READY = b"\x05READY\x0bSocket-Type\x00\x00\x00\x06DEALER\x08Identity\x00\x00\x00\x00"


class Silent(Exception):
    """The server neither answered nor closed."""


class Transport(Protocol):
    """How messages of a protocol are framed."""

    name: str

    def split(self, stream: bytes) -> list[bytes]:
        """The messages in what a client sent."""

    def say(self, port: int, messages: list[bytes], key: str | None) -> bytes:
        """Send them on a connection of their own, and return what came back; raises Silent if nothing lives there."""

    def opening(self, key: str | None) -> bytes:
        """What a client sends before its first message."""

    def frame(self, message: bytes) -> bytes:
        """A message as bytes, to be cut off and bent."""

    def huge(self, size: int) -> bytes:
        """The beginning of a message that says that it has this size."""


def connect(port: int) -> socket.socket:
    return socket.create_connection(("127.0.0.1", port), timeout=WITHIN_S)


def drop(peer: socket.socket) -> None:
    """End it without a farewell, so that no port waits for the network."""
    with contextlib.suppress(OSError):
        peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    peer.close()


def listen_until(peer: socket.socket, mark: bytes, within_s: float = WITHIN_S) -> bytes:
    """What comes until the mark, or until the other side closes."""
    end, said = time.monotonic() + within_s, b""
    while mark not in said:
        peer.settimeout(max(end - time.monotonic(), 0.01))
        try:
            part = peer.recv(READ_BYTES)
        except TimeoutError:
            raise Silent(f"nothing more came within {within_s:g} s, after {said[:60]!r}") from None
        except OSError:
            return said
        if not part:
            return said
        said += part
    return said


class WebSockets:
    name = "websocket"
    # A ping with these letters; the pong has them too.
    PING = b"alive?"

    def split(self, stream: bytes) -> list[bytes]:
        protocol = ServerProtocol(max_size=None)
        protocol.receive_data(stream)
        frames = [event for event in protocol.events_received() if isinstance(event, Frame)]
        return [bytes(frame.data) for frame in frames if frame.opcode in (Opcode.TEXT, Opcode.BINARY)]

    def say(self, port: int, messages: list[bytes], key: str | None) -> bytes:
        peer = connect(port)
        try:
            peer.sendall(self.opening(key))
            said = listen_until(peer, b"\r\n\r\n")
            if b" 101 " not in said[:20]:
                return said
            with contextlib.suppress(OSError):
                peer.sendall(b"".join(map(self.frame, messages)) + self.frame_of(0x9, self.PING))
            return said + listen_until(peer, self.PING)
        finally:
            drop(peer)

    def opening(self, key: str | None, more: str = "") -> bytes:
        return UPGRADE.format(more=more + (f"Authorization: Api-Key {key}\r\n" if key else "")).encode()

    def frame(self, message: bytes) -> bytes:
        return self.frame_of(0x2, message)

    def frame_of(self, opcode: int, data: bytes, *, flags: int = 0x80) -> bytes:
        """Masked with zeros, which are as good as any."""
        size = len(data)
        head = bytes([flags | opcode])
        if size < 126:
            head += bytes([0x80 | size])
        else:
            head += b"\xfe" + struct.pack("!H", size) if size < 2**16 else b"\xff" + struct.pack("!Q", size)
        return head + b"\x00" * 4 + data

    def huge(self, size: int) -> bytes:
        return b"\x82\xff" + struct.pack("!Q", size) + b"\x00" * 4


class ZeroMq:
    name = "zeromq"

    def split(self, stream: bytes) -> list[bytes]:
        """Those after the greeting that are no commands; of several frames the last."""
        found: list[bytes] = []
        at = len(ZMTP)
        while at + 2 <= len(stream):
            flags = stream[at]
            width = 8 if flags & 2 else 1
            size = int.from_bytes(stream[at + 1 : at + 1 + width], "big")
            at += 1 + width
            if not flags & 5:
                found.append(stream[at : at + size])
            at += size
        return found

    def say(self, port: int, messages: list[bytes], key: str | None) -> bytes:
        """Each is answered; the key is in the messages themselves."""
        peer = connect(port)
        try:
            peer.sendall(self.opening(key))
            replies, said = _Replies(peer), b""
            for message in messages:
                with contextlib.suppress(OSError):
                    peer.sendall(self.frame(message))
                said = replies.next()
            return said
        finally:
            drop(peer)

    def opening(self, key: str | None) -> bytes:
        return ZMTP + bytes([0x04, len(READY)]) + READY

    def frame(self, message: bytes) -> bytes:
        """After the empty frame that requests begin with."""
        return b"\x01\x00\x02" + struct.pack("!Q", len(message)) + message

    def huge(self, size: int) -> bytes:
        return b"\x01\x00\x02" + struct.pack("!Q", size)


class _Replies:
    """What a server of ZeroMQ sends on a connection, after its greeting."""

    def __init__(self, peer: socket.socket) -> None:
        self._peer, self._left = peer, b""
        self._end = time.monotonic() + WITHIN_S
        self._read(len(ZMTP))

    def next(self) -> bytes:
        """The last frame of the next message; empty if the other side closes."""
        self._end = time.monotonic() + WITHIN_S
        while head := self._read(1):
            size = int.from_bytes(self._read(8 if head[0] & 2 else 1), "big")
            data = self._read(size)
            if not head[0] & 5:
                return data
        return b""

    def _read(self, size: int) -> bytes:
        while len(self._left) < size:
            self._peer.settimeout(max(self._end - time.monotonic(), 0.01))
            try:
                part = self._peer.recv(READ_BYTES)
            except TimeoutError:
                raise Silent(f"no reply within {WITHIN_S:g} s") from None
            except OSError:
                part = b""
            if not part:
                self._left = b""
                return b""
            self._left += part
        data, self._left = self._left[:size], self._left[size:]
        return data


class Lines:
    """Any other protocol, taken for one of lines."""

    name = "lines"

    def split(self, stream: bytes) -> list[bytes]:
        return stream.splitlines() or [stream]

    def say(self, port: int, messages: list[bytes], key: str | None) -> bytes:
        peer = connect(port)
        try:
            with contextlib.suppress(OSError):
                peer.sendall(b"".join(map(self.frame, messages)))
            return listen_until(peer, b"\n")
        finally:
            drop(peer)

    def opening(self, key: str | None) -> bytes:
        return b""

    def frame(self, message: bytes) -> bytes:
        return message.replace(b"\n", b" ") + b"\n"

    def huge(self, size: int) -> bytes:
        return b'{"a": "'


def transport_of(port: int) -> Transport:
    """What is spoken at a port: ZeroMQ greets at once, a websocket's server answers an upgrade."""
    peer = connect(port)
    try:
        peer.settimeout(1.0)
        with contextlib.suppress(TimeoutError):
            return ZeroMq() if peer.recv(1) == b"\xff" else Lines()
        peer.sendall(WebSockets().opening(os.environ.get("ROBODX_API_KEY")))
        peer.settimeout(WITHIN_S)
        return WebSockets() if peer.recv(8) == b"HTTP/1.1" else Lines()
    finally:
        drop(peer)


@contextlib.contextmanager
def recorded(port: int) -> Iterator[tuple[int, list[bytearray]]]:
    """A port that leads to another, and all that clients send there, by connection."""
    door = socket.create_server(("127.0.0.1", 0))
    streams: list[bytearray] = []

    def pump(source: socket.socket, sink: socket.socket, copy: bytearray | None) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(READ_BYTES):
                if copy is not None:
                    copy += data
                sink.sendall(data)
        for end in (source, sink):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def accept() -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = door.accept()
                server = socket.create_connection(("127.0.0.1", port))
                streams.append(bytearray())
                threading.Thread(target=pump, args=(client, server, streams[-1]), daemon=True).start()
                threading.Thread(target=pump, args=(server, client, None), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    try:
        yield door.getsockname()[1], streams
    finally:
        door.close()
