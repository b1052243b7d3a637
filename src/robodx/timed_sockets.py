"""Sockets with a deadline and a number of bytes for all that is read: Python's own time limit is for one pause."""

from __future__ import annotations

import socket
import ssl
import time
from typing import Any


class TooMuch(OSError):
    """The other side sent more than may be read."""


class TimedSocket(socket.socket):
    """Limited by `limit`; after that moment each call raises TimeoutError."""

    _end_s = 0.0
    _most_bytes = _left_bytes = 0

    def limit(self, end_s: float, most_bytes: int) -> None:
        """Until a moment of `time.monotonic`, and so many bytes."""
        self._end_s, self._most_bytes, self._left_bytes = end_s, most_bytes, most_bytes

    def recv_into(self, buffer: Any, nbytes: int | None = None, flags: int = 0) -> int:
        self._wait_no_longer()
        count = super().recv_into(buffer, nbytes or 0, flags)
        self._left_bytes -= count
        if self._left_bytes < 0:
            raise TooMuch(f"an answer of more than {self._most_bytes / 2**20:.0f} MiB")
        return count

    def send(self, data: Any, flags: int = 0) -> int:
        self._wait_no_longer()
        return super().send(data, flags)

    def sendall(self, data: Any, flags: int = 0) -> None:
        self._wait_no_longer()
        super().sendall(data, flags)

    def _wait_no_longer(self) -> None:
        left_s = self._end_s - time.monotonic()
        if left_s <= 0:
            raise TimeoutError("timed out")
        self.settimeout(left_s)


class TimedTlsSocket(TimedSocket, ssl.SSLSocket):
    """The same with TLS: the `sslsocket_class` of a context."""


def timed(plain: socket.socket) -> TimedSocket:
    """The connection of a plain socket, which is of no more use."""
    return TimedSocket(plain.family, plain.type, plain.proto, fileno=plain.detach())
