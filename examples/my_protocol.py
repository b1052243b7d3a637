"""A protocol of your own: robodx serve random --protocol json-lines --plugin examples/my_protocol.py"""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Sequence
from socketserver import StreamRequestHandler, ThreadingTCPServer
from typing import Any

import numpy as np

from robodx.wires.base import Address, Names, Reply, Request, ServerInfo, Wire, WireError, wait_for
from robodx.wires.pipelining import ask_ahead
from robodx.wires.preset import EPISODE
from robodx.wires.protocols.base import protocol
from robodx.wires.serving import Endpoint

PORT = 8500


def write(message: object) -> bytes:
    def plain(array: np.ndarray[Any, Any]) -> dict[str, Any]:
        return {"dtype": array.dtype.str, "values": array.tolist()}

    return json.dumps(message, default=plain).encode() + b"\n"


def read(line: bytes) -> Any:
    def rebuild(value: dict[str, Any]) -> Any:
        return np.array(value["values"], value["dtype"]) if value.keys() == {"dtype", "values"} else value

    return json.loads(line, object_hook=rebuild)


class JsonLines:
    """The client's wire: one connection, a line for a request and a line for its reply."""

    names = Names()

    def __init__(self, address: Address) -> None:
        self.address, self.losses = address, 0
        self._socket: socket.socket | None = None

    def describe(self) -> ServerInfo:
        greeting = self._connected()
        return ServerInfo(about=greeting, preset=greeting[EPISODE]["preset"])

    def start(self, episode_id: str, instruction: str) -> None:
        self._connected()

    def ask(self, requests: Sequence[tuple[str, Request]]) -> list[Reply | WireError]:
        return ask_ahead(
            len(requests), lambda index: self._send(requests[index][1]), self._receive,
            connect=self._connected, lose=self._lose,
        )  # fmt: skip

    def finish(self, episode_id: str) -> None: ...

    def close(self) -> None:
        if self._socket is not None:
            self._lines.close()
            self._socket.close()
            self._socket = None

    def _connected(self) -> Any:
        if self._socket is None:
            self._greeting = wait_for(self._open, self.address)
        return self._greeting

    def _open(self, within_s: float) -> Any:
        opened = socket.create_connection((self.address.host, self.address.port), timeout=within_s)
        opened.settimeout(self.address.timeout_s)
        self._lines = opened.makefile("rb")
        greeting = self._lines.readline()
        if not greeting:
            raise EOFError("it says nothing")
        self._socket = opened
        return read(greeting)

    def _send(self, request: Request) -> None:
        assert self._socket is not None
        try:
            self._socket.sendall(write(request))
        except OSError as error:
            raise WireError(f"the connection to {self.address} broke: {error}") from error

    def _receive(self, _: None) -> Reply | WireError:
        try:
            reply: Any = read(self._lines.readline())
        except (OSError, ValueError) as error:
            raise WireError(f"the server at {self.address} closed the connection: {error}") from error
        return WireError(reply["error"]) if "error" in reply else reply

    def _lose(self) -> None:
        self.losses += 1
        self.close()


def serve(endpoint: Endpoint, host: str, port: int, on_ready: Callable[[int], None]) -> None:
    """The server: until interrupted, a session for each connection, one request at a time among all of them."""
    turn = threading.Lock()

    class Handler(StreamRequestHandler):
        def handle(self) -> None:
            self.wfile.write(write(endpoint.about))
            for line in self.rfile:
                with turn:
                    self.wfile.write(write(self.answer(line)))
            with turn:
                endpoint.leave(self.client_address)

        def answer(self, line: bytes) -> object:
            try:
                return endpoint.answer(self.client_address, read(line))
            except Exception as error:
                return {"error": f"{type(error).__name__}: {error}"}

    class Server(ThreadingTCPServer):
        allow_reuse_address = daemon_threads = True

    with Server((host, port), Handler) as server:
        on_ready(server.server_address[1])
        server.serve_forever()


@protocol("json-lines", port=PORT, names=JsonLines.names, serve=serve)
def json_lines(place: str) -> Wire:
    """A server that speaks lines of JSON."""
    return JsonLines(Address.parse("json-lines", place, port=PORT))
