"""A websocket that is written and read by deadlines, on the library's own protocol and one plain socket.

The library's threaded client hands every frame from thread to thread, which costs more than a call on the loopback.
"""

from __future__ import annotations

import os
import socket
import time
from collections import deque

from websockets.client import ClientProtocol
from websockets.exceptions import InvalidHandshake, WebSocketException
from websockets.frames import Frame, Opcode
from websockets.http11 import Response
from websockets.protocol import State
from websockets.uri import parse_uri

from robodx.errors import UserError
from robodx.wires.base import API_KEY, Address, Unreachable, WireError
from robodx.wires.messages import MAX_REPLY_BYTES

READ_BYTES = 2**18
# Of one message: empty ones would be without end and yet of no size.
MAX_PIECES = 2**16
DATA = (Opcode.TEXT, Opcode.BINARY, Opcode.CONT)
REFUSALS = (401, 403)


class WebSocket:
    """One connection. After any error it is of no more use: close it and open another."""

    def __init__(self, address: Address, within_s: float) -> None:
        self._address, self._frames = address, deque[Frame]()
        self._protocol = ClientProtocol(parse_uri(f"ws://{address}{address.path or '/'}"), max_size=MAX_REPLY_BYTES)
        self._socket = socket.create_connection((address.host, address.port), timeout=within_s)
        # Of what is waited for now: at first the handshake, then a call.
        self._patience_s = max(within_s, address.timeout_s)
        end = time.monotonic() + self._patience_s
        try:
            self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            request = self._protocol.connect()
            if key := os.environ.get(API_KEY):
                request.headers["Authorization"] = authorization(key)
            self._protocol.send_request(request)
            self._write(end)
            while self._protocol.state is State.CONNECTING:
                self._read(end)
        except (WireError, WebSocketException) as error:
            self.close()
            # A server that is starting or stopping: worth another attempt, as one that is not there.
            raise OSError(str(error)) from error
        except BaseException:
            self.close()
            raise
        if self._protocol.handshake_exc is not None:
            self.close()
            raise OSError(f"it speaks no websocket: {self._protocol.handshake_exc}")
        self._patience_s = address.timeout_s

    def send(self, data: bytes, within_s: float) -> None:
        if self._protocol.state is not State.OPEN:
            raise WireError(self._why_closed())
        self._protocol.send_binary(data)
        self._write(time.monotonic() + within_s)

    def receive(self, within_s: float) -> bytes | str:
        """The next message: bytes, or the text that some servers send in place of an answer."""
        end = time.monotonic() + within_s
        parts: list[bytes] = []
        size, is_text = 0, False
        while True:
            while not self._frames:
                if self._protocol.state is not State.OPEN:
                    raise WireError(self._why_closed())
                self._read(end)
            frame = self._frames.popleft()
            if frame.opcode is not Opcode.CONT:
                parts, size, is_text = [], 0, frame.opcode is Opcode.TEXT
            parts.append(bytes(frame.data))
            size += len(parts[-1])
            if size > MAX_REPLY_BYTES:
                raise WireError(f"the server at {self._address} sent more than {MAX_REPLY_BYTES >> 20} MiB")
            if len(parts) > MAX_PIECES:
                raise WireError(f"the server at {self._address} sent a message in more than {MAX_PIECES} pieces")
            if frame.fin:
                whole = parts[0] if len(parts) == 1 else b"".join(parts)
                return whole.decode("utf-8", "replace") if is_text else whole
            # Pieces may be there faster than they are read.
            if time.monotonic() > end:
                raise WireError(self._address.late(self._patience_s))

    @property
    def is_alive(self) -> bool:
        """Whether the server still holds its end, as far as can be known without asking it."""
        self._socket.settimeout(0)
        try:
            if not self._socket.recv(1, socket.MSG_PEEK):
                return False
            self._read(time.monotonic() + 1)
        except BlockingIOError:
            pass  # nothing came, as is usual between requests
        except (OSError, WireError):
            return False
        return self._protocol.state is State.OPEN

    @property
    def is_idle(self) -> bool:
        """Whether it is alive and nothing has come that was not asked for."""
        return self.is_alive and not self._frames

    def close(self) -> None:
        """At once: a server that hangs is not waited for."""
        try:
            if self._protocol.state is State.OPEN:
                self._protocol.send_close(1000)
                self._write(time.monotonic() + 0.2)
        except (OSError, WireError):
            pass
        self._socket.close()

    def _read(self, end: float) -> None:
        left = end - time.monotonic()
        if left <= 0:
            raise WireError(self._address.late(self._patience_s))
        self._socket.settimeout(left)
        try:
            data = self._socket.recv(READ_BYTES)
        except TimeoutError as error:
            raise WireError(self._address.late(self._patience_s)) from error
        except OSError as error:
            raise WireError(f"the connection to {self._address} broke: {error}") from error
        if data:
            self._protocol.receive_data(data)
        else:
            self._protocol.receive_eof()
        for event in self._protocol.events_received():
            # What the protocol answers by itself, such as a ping, is nothing that came unasked.
            if isinstance(event, Frame) and event.opcode in DATA:
                self._frames.append(event)
            elif isinstance(event, Response) and self._protocol.handshake_exc is not None:
                if event.status_code in REFUSALS:
                    raise Unreachable(self._why_refused(event))
                raise InvalidHandshake(f"it answers {event.status_code} {event.reason_phrase[:80]}, no websocket")
        # Answers to pings and to a close, which the protocol made by itself.
        self._write(end)
        if not data and self._protocol.state is State.OPEN:
            raise WireError(self._why_closed())

    def _write(self, end: float) -> None:
        for data in self._protocol.data_to_send():
            if not data:
                continue
            self._socket.settimeout(max(end - time.monotonic(), 0.001))
            try:
                self._socket.sendall(data)
            except TimeoutError as error:
                raise WireError(self._address.late(doing="took no request")) from error
            except OSError as error:
                raise WireError(f"the connection to {self._address} broke: {error}") from error

    def _why_refused(self, response: Response) -> str:
        known = f"{API_KEY} is not the key that it wants" if os.environ.get(API_KEY) else f"{API_KEY} must be its key"
        reason = response.reason_phrase[:80]
        return f"the server at {self._address} refuses the connection ({response.status_code} {reason}): {known}"

    def _why_closed(self) -> str:
        close = self._protocol.close_rcvd
        why = f" with code {close.code} {close.reason}".rstrip() if close else ""
        broken = self._protocol.parser_exc
        return f"the server at {self._address} closed the connection{why}{f' ({broken})' if broken else ''}"


def authorization(key: str) -> str:
    """The header's value, in the form of openpi's client."""
    if not (key.isascii() and key.isprintable()):
        raise UserError(f"{API_KEY} must be plain ASCII to be sent over a websocket, and is not")
    return f"Api-Key {key}"
