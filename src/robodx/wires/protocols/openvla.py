"""OpenVLA's REST protocol: a POST of JSON for each query, arrays in the form of json-numpy."""

from __future__ import annotations

import base64
import binascii
import json
import select
import socket
import time
from collections.abc import Mapping, Sequence
from http.client import HTTPConnection, HTTPException, HTTPResponse
from typing import Any

import numpy as np

from robodx.timed_sockets import TimedSocket, TooMuch, timed
from robodx.wires.base import Address, Names, Reply, Request, ServerInfo, Wire, WireError, wait_for
from robodx.wires.messages import MAX_CONTAINERS, MAX_REPLY_BYTES, Malformed, flatten, nest, rebuild
from robodx.wires.pipelining import ask_ahead
from robodx.wires.protocols.base import protocol
from robodx.wires.quoting import quote

PORT, PATH = 8000, "/act"
OPTIONS = ("unnorm_key",)
# Connections with a request each: while the server infers for one, the next is there already.
IN_FLIGHT = 2
READ_BYTES = 2**16
# On top of a reply's own bytes: its headers, and the sizes of its chunks.
MAX_ENVELOPE_BYTES = 2**20
# What reading a bad answer raises, in the library and below it.
BROKEN = (OSError, HTTPException, ValueError)


class TimedOut(WireError):
    """The server hangs: others need not be asked to know it."""


class OpenVla:
    """Several connections to one server, each with one request at a time: HTTP answers in turn."""

    losses = 0
    names = Names()

    def __init__(self, address: Address) -> None:
        self.address = address
        self._lines = [_Line(address) for _ in range(IN_FLIGHT)]

    def describe(self) -> ServerInfo:
        """Nothing is said of pictures and actions. An instruction is what all of these servers take."""
        self._lines[0].open()
        return ServerInfo(inputs={"instruction": None})

    def start(self, episode_id: str, instruction: str) -> None:
        """The protocol knows no episodes. But a lost server should be noticed here, before anything is simulated."""
        self._lines[0].open()

    def ask(self, requests: Sequence[tuple[str, Request]]) -> list[Reply | WireError]:
        """An error is that of its own request, unless the server hangs: then the rest err alike."""
        return ask_ahead(
            len(requests), lambda index: self._send(index, requests[index][1]), self._receive,
            connect=self._lines[0].open, lose=self.close, in_flight=IN_FLIGHT,
        )  # fmt: skip

    def finish(self, episode_id: str) -> None: ...

    def close(self) -> None:
        for line in self._lines:
            line.close()

    def _send(self, index: int, request: Request) -> _Line | WireError:
        """The connection that now has the request, or why none has."""
        line = self._lines[index % IN_FLIGHT]
        try:
            line.send(self._body(request))
        except WireError as error:
            return error
        return line

    def _receive(self, sent: _Line | WireError) -> Reply | WireError:
        try:
            if isinstance(sent, WireError):
                raise sent
            return read_reply(sent.receive(), str(self.address))
        except TimedOut:
            raise
        except WireError as error:
            return error

    def _body(self, request: Request) -> bytes:
        return json.dumps({**nest(request), **self.address.options}, default=encode).encode()


class _Line:
    """One connection, kept for the next request. After an error another is opened."""

    def __init__(self, address: Address) -> None:
        self._address = address
        self._socket: TimedSocket | None = None
        self._http: HTTPConnection | None = None
        # Sent and not yet answered.
        self._body = b""
        self._is_fresh = True

    def open(self) -> HTTPConnection:
        # Servers close what has been silent for some seconds.
        if self._socket is not None and select.select([self._socket], [], [], 0)[0]:
            self.close()
        if self._http is None:
            self._socket = wait_for(self._connect, self._address)
            self._http = HTTPConnection(self._address.host, self._address.port)
            self._http.sock = self._socket
            self._is_fresh = True
        return self._http

    def send(self, body: bytes) -> None:
        http = self.open()
        assert self._socket is not None
        self._body = body
        self._limit()
        headers = {"Content-Type": "application/json", "Accept": "application/json"}
        try:
            http.request("POST", self._address.path or PATH, body, headers)
        except TimeoutError as error:
            self.close()
            raise TimedOut(self._address.late(doing="took no request")) from error
        except BROKEN as error:
            self.close()
            if self._is_fresh or not isinstance(error, ConnectionError):
                raise WireError(f"the connection to {self._address} broke: {error}") from error
            self.send(body)

    def receive(self) -> bytes:
        """The body of the answer to what was sent."""
        try:
            return self._read()
        except ConnectionError as error:
            self.close()
            if self._is_fresh:
                raise WireError(f"the server at {self._address} closed the connection: {error}") from error
        except TimeoutError as error:
            self.close()
            raise TimedOut(self._address.late()) from error
        except BROKEN as error:
            self.close()
            raise WireError(
                f"the server at {self._address} sent no answer of HTTP: {type(error).__name__}: {error}"
            ) from error
        except BaseException:
            self.close()
            raise
        # It closed in the moment in which it was asked, before it answered anything: worth a new connection.
        self.send(self._body)
        return self.receive()

    def close(self) -> None:
        for opened in (self._http, self._socket):
            if opened is not None:
                opened.close()
        self._http = self._socket = None

    def _read(self) -> bytes:
        assert self._http is not None and self._socket is not None
        self._limit()
        response = self._http.getresponse()
        self._is_fresh = True
        with response:
            body = _read_body(response)
        self._is_fresh = False
        if response.will_close:
            self.close()
        if response.status != 200:
            raise WireError(
                f"the server at {self._address} answered {response.status} {response.reason[:80]}: {quote(body)}"
            )
        return body

    def _limit(self) -> None:
        assert self._socket is not None
        self._socket.limit(time.monotonic() + self._address.timeout_s, MAX_REPLY_BYTES + MAX_ENVELOPE_BYTES)

    def _connect(self, within_s: float) -> TimedSocket:
        plain = socket.create_connection((self._address.host, self._address.port), timeout=within_s)
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return timed(plain)


def _read_body(response: HTTPResponse) -> bytes:
    """All of it, if it is no more than a reply may be; one that says that it is larger is not read at all."""
    too_large = TooMuch(f"an answer of more than {MAX_REPLY_BYTES >> 20} MiB")
    if response.length is not None and response.length > MAX_REPLY_BYTES:
        raise too_large
    parts: list[bytes] = []
    size = 0
    while part := response.read(READ_BYTES):
        parts.append(part)
        size += len(part)
        if size > MAX_REPLY_BYTES:
            raise too_large
    if response.length:
        raise OSError(f"an answer that ends {response.length} bytes early")
    return b"".join(parts)


def read_reply(body: bytes, where: str) -> Reply:
    """The actions as a list or an array, alone or in a map."""
    # Each is a few bytes here and a hundred in memory.
    if body.count(b"{") + body.count(b"[") > MAX_CONTAINERS:
        raise WireError(f"the reply of {where} has more than {MAX_CONTAINERS} maps and lists")
    try:
        message = json.loads(body, object_hook=_decode)
        if isinstance(message, Mapping):
            return flatten(message)
    except Malformed as error:
        raise WireError(f"the reply of {where} is {error}") from error
    except (ValueError, RecursionError) as error:
        raise WireError(f"the reply of {where} is {quote(body)}, which is no JSON: {error}") from error
    if isinstance(message, str) and message == "error":
        raise WireError(f'the policy server at {where} failed: it answers "error", and its log says why')
    if isinstance(message, list | np.ndarray):
        return {"actions": message}
    raise WireError(f"the reply of {where} is {quote(message)}, neither actions nor a map")


def encode(value: Any) -> Any:
    """The form of json-numpy."""
    if isinstance(value, np.ndarray):
        data = base64.b64encode(np.ascontiguousarray(value).tobytes()).decode()
        return {"__numpy__": data, "dtype": value.dtype.str, "shape": list(value.shape)}
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"a {type(value).__name__} cannot be sent")


def _decode(value: dict[str, Any]) -> Any:
    if "__numpy__" not in value:
        return value
    text = value["__numpy__"]
    if not isinstance(text, str):
        raise Malformed(f"an array whose data are {quote(text)}")
    try:
        data = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError) as error:
        raise Malformed(f"an array whose data are no base64: {error}") from error
    return rebuild(data, value.get("dtype"), value.get("shape"))


@protocol("openvla+http", takes="//HOST:PORT/act", port=PORT)
def openvla(place: str) -> Wire:
    """A server with OpenVLA's REST protocol; ?unnorm_key=NAME chooses the action statistics."""
    return OpenVla(Address.parse("openvla+http", place, port=PORT, takes=OPTIONS))
