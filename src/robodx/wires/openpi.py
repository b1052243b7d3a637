"""openpi's websocket protocol: msgpack, a first frame that says what the server is, then request and reply in turn."""

from __future__ import annotations

import asyncio
import os
import traceback
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from robodx.wires.base import API_KEY, Address, Names, Reply, Request, Told, WireError, wait_for
from robodx.wires.messages import MAX_REQUEST_BYTES, Malformed, encode_with_bytes, flatten, nest, pack, quote, unpack
from robodx.wires.preset import EPISODE
from robodx.wires.serving import Endpoint
from robodx.wires.websocket import WebSocket

PORT = 8000
# Requests under way before the first reply is waited for: enough to keep a server busy, little enough for its buffers.
IN_FLIGHT = 8


class OpenPi:
    """A connection to a server; requests of several episodes follow each other without waiting."""

    names = Names()

    def __init__(self, address: Address) -> None:
        self.address = address
        self._socket: WebSocket | None = None
        self._greeting: Mapping[str, Any] = {}

    def describe(self) -> Told:
        self._connected()
        own = self._greeting.get(EPISODE)
        preset = own.get("preset") if isinstance(own, Mapping) else None
        return Told(about=self._greeting, preset=preset)

    def start(self, episode_id: str, instruction: str) -> None:
        """The protocol knows no episodes. But a lost server should be noticed here, before anything is simulated."""
        self._connected()

    def ask(self, requests: Sequence[tuple[str, Request]]) -> list[Reply | WireError]:
        """After an error nothing that follows on the connection can be told apart: the rest err alike."""
        replies: list[Reply | WireError] = []
        sent = 0
        try:
            socket = self._connected()
            while len(replies) < len(requests):
                while sent < len(requests) and sent - len(replies) < IN_FLIGHT:
                    socket.send(pack(self._wrap(requests[sent][1]), encode_with_bytes), self.address.timeout_s)
                    sent += 1
                replies.append(self._unwrap(socket.receive(self.address.timeout_s)))
        except WireError as error:
            self.close()
            replies += [error] * (len(requests) - len(replies))
        except BaseException:
            self.close()
            raise
        return replies

    def finish(self, episode_id: str) -> None: ...

    def close(self) -> None:
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def _wrap(self, request: Request) -> Mapping[str, Any]:
        return nest(request)

    def _unwrap(self, frame: bytes | str) -> Reply:
        if isinstance(frame, str):
            raise WireError(f"the policy server at {self.address} failed:\n{frame.strip()[-2000:]}")
        return flatten(_read_map(frame, f"the reply of {self.address}"))

    def _connected(self) -> WebSocket:
        if self._socket is None:
            self._socket = wait_for(self._open, self.address)
        return self._socket

    def _open(self, within_s: float) -> WebSocket:
        key = os.environ.get(API_KEY)
        headers = {"Authorization": f"Api-Key {key}"} if key else {}
        socket = WebSocket(self.address, within_s, headers=headers)
        try:
            frame = socket.receive(within_s)
            if isinstance(frame, str):
                raise WireError(f"it begins with the text {quote(frame)}")
            self._greeting = _read_map(frame, "its first frame")
        except WireError as error:
            socket.close()
            raise OSError(f"it is no openpi server: {error}") from error
        except BaseException:
            socket.close()
            raise
        return socket


def _read_map(frame: bytes, what: str) -> Mapping[str, Any]:
    try:
        message = unpack(frame)
    except Malformed as error:
        raise WireError(f"{what} is {error}") from error
    if not isinstance(message, dict) or not all(isinstance(key, str) for key in message):
        raise WireError(f"{what} is {quote(message)}, not a map of names")
    return message


def serve(endpoint: Endpoint, host: str, port: int, on_ready: Callable[[int], None]) -> None:
    """Serve until interrupted; `on_ready` is told the port once it is open."""
    asyncio.run(_serve(endpoint, host, port, on_ready))


async def _serve(endpoint: Endpoint, host: str, port: int, on_ready: Callable[[int], None]) -> None:
    from websockets.asyncio.server import ServerConnection
    from websockets.asyncio.server import serve as serve_websocket
    from websockets.exceptions import ConnectionClosed
    from websockets.http11 import Request as HttpRequest
    from websockets.http11 import Response

    def health(connection: ServerConnection, request: HttpRequest) -> Response | None:
        return connection.respond(200, "OK\n") if request.path == "/healthz" else None

    async def handle(connection: ServerConnection) -> None:
        session = connection.id
        try:
            await connection.send(pack(endpoint.about, encode_with_bytes))
            async for frame in connection:
                try:
                    reply = endpoint.answer(session, flatten_request(frame))
                except Exception:
                    # As openpi does: the traceback as text, and the end.
                    await connection.send(traceback.format_exc())
                    await connection.close(1011, "the policy failed; see the text frame before this")
                    return
                await connection.send(pack(nest(reply), encode_with_bytes))
        except ConnectionClosed:
            pass
        finally:
            endpoint.leave(session)

    # No compression, which costs more than it saves, and no pings, which a busy policy could not answer.
    async with serve_websocket(
        handle, host, port, compression=None, max_size=MAX_REQUEST_BYTES, ping_interval=None, process_request=health
    ) as server:
        on_ready(next(iter(server.sockets)).getsockname()[1])
        await server.serve_forever()


def flatten_request(frame: bytes | str) -> Request:
    """A client's request; what RoboDx tells of the episode stays a map."""
    message = dict(_read_map(frame, "the request")) if isinstance(frame, bytes) else {}
    if not message:
        raise ValueError(f"a request must be a map in a binary frame, not {quote(frame)}")
    told = message.pop(EPISODE, None)
    return {**flatten(message), **({EPISODE: told} if told is not None else {})}
