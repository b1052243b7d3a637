"""vla-eval's websocket protocol: numbered msgpack messages, a hello each way, one episode at a time on a connection."""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import cache, partial
from importlib.metadata import version
from typing import Any, NamedTuple

import numpy as np

from robodx.errors import Stop, UserError
from robodx.wires.base import API_KEY, Address, Names, Reply, Request, ServerInfo, Wire, WireError, failure_of, wait_for
from robodx.wires.messages import Malformed, check_name, encode_with_text, flatten, nest, pack, unpack
from robodx.wires.preset import EPISODE
from robodx.wires.protocols.base import protocol
from robodx.wires.quoting import complaint, quote
from robodx.wires.serving import Endpoint, Last
from robodx.wires.vla_eval_specs import PROMPT, STATES, contradictions, draft, outputs

PORT = 8000
PROTOCOL_VERSION = 1
# How long those are still waited for whose server has just let another's time run out: what came is taken, no more.
GRACE_S = 0.05


class _Message(NamedTuple):
    type: str
    payload: Mapping[str, Any]
    seq: int


class VlaEval:
    """Connections to a server: each has one episode at a time, and is used again for a later one."""

    losses = 0
    names = Names(prompt=PROMPT)

    def __init__(self, address: Address) -> None:
        if (declared := address.options.get("declared")) not in (None, "ignore"):
            raise UserError(f'?declared= takes "ignore", for a server whose greeting is wrong, not "{declared}"')
        self.address = address
        self._free: list[_Connection] = []
        self._busy: dict[str, _Connection] = {}
        self._instructions: dict[str, str] = {}

    def describe(self) -> ServerInfo:
        connection = self._take()
        self._free.append(connection)
        hello = connection.greeting
        own = hello.get(EPISODE)
        preset = own.get("preset") if isinstance(own, Mapping) else None
        if isinstance(preset, Mapping):
            return ServerInfo(about=hello, preset=preset)
        if self.address.options.get("declared") == "ignore":
            return ServerInfo(about=hello, draft=draft(hello))
        return ServerInfo(
            about=hello, draft=draft(hello), outputs=outputs(hello), contradictions=partial(contradictions, hello)
        )

    def start(self, episode_id: str, instruction: str) -> None:
        self.finish(episode_id)
        self._instructions[episode_id] = instruction
        self._connection_of(episode_id)

    def ask(self, requests: Sequence[tuple[str, Request]]) -> list[Reply | WireError]:
        """All are sent before the first reply is waited for; an error closes the connection of its episode alone."""
        try:
            sent = [self._send(episode_id, request) for episode_id, request in requests]
            # A server may answer one after the other: each reply gives the next as long again.
            end = time.monotonic() + self.address.timeout_s
            replies: list[Reply | WireError] = []
            for (episode_id, _), seq in zip(requests, sent, strict=True):
                reply = seq if isinstance(seq, WireError) else self._receive(episode_id, seq, end)
                if not isinstance(reply, WireError):
                    end = time.monotonic() + self.address.timeout_s
                replies.append(reply)
        except BaseException:
            self.close()
            raise
        return replies

    def finish(self, episode_id: str) -> None:
        self._instructions.pop(episode_id, None)
        connection = self._busy.pop(episode_id, None)
        if connection is None:
            return
        try:
            connection.send("episode_end", {})
        except WireError:
            connection.close()
        else:
            self._free.append(connection)

    def close(self) -> None:
        for connection in (*self._free, *self._busy.values()):
            connection.close()
        self._free.clear()
        self._busy.clear()

    def _send(self, episode_id: str, request: Request) -> int | WireError:
        try:
            return self._connection_of(episode_id).send("observation", _with_both_states(nest(request)))
        except WireError as error:
            self._drop(episode_id)
            return error

    def _receive(self, episode_id: str, seq: int, end: float) -> Reply | WireError:
        try:
            connection = self._busy.get(episode_id)
            if connection is None:
                raise WireError(f"the connection to {self.address} is closed")
            return flatten(connection.receive_action(seq, max(end, time.monotonic() + GRACE_S)))
        except (WireError, Malformed) as error:
            self._drop(episode_id)
            return error if isinstance(error, WireError) else WireError(f"the server at {self.address} sent {error}")

    def _drop(self, episode_id: str) -> None:
        """What still comes on such a connection could not be told from a right answer."""
        connection = self._busy.pop(episode_id, None)
        if connection is not None:
            connection.close()

    def _connection_of(self, episode_id: str) -> _Connection:
        """The episode's; if it has none, one on which it is begun."""
        connection = self._busy.get(episode_id)
        if connection is None:
            connection = self._busy[episode_id] = self._take()
            try:
                connection.begin(self._instructions.get(episode_id, ""))
            except WireError:
                self._drop(episode_id)
                raise
        return connection

    def _take(self) -> _Connection:
        while self._free:
            connection = self._free.pop()
            if connection.is_alive:
                return connection
            connection.close()
        return wait_for(lambda within_s: _Connection(self.address, within_s), self.address)


class _Connection:
    """A websocket with its count of messages, after the hello."""

    def __init__(self, address: Address, within_s: float) -> None:
        from robodx.wires.websocket import WebSocket

        self._address, self._seq, self._begun = address, 0, 0
        end = time.monotonic() + max(within_s, address.timeout_s)
        self._socket = WebSocket(address, within_s)
        try:
            seq = self.send("hello", {"harness_version": _own_version(), "protocol_version": PROTOCOL_VERSION})
            hello = self._receive(end)
            if hello.type != "hello" or hello.seq != seq or "protocol_version" not in hello.payload:
                raise WireError(f"its answer to a hello is {quote(hello)}")
        except WireError as error:
            self.close()
            raise OSError(f"it is no vla-eval server: {error}") from error
        except BaseException:
            self.close()
            raise
        theirs = hello.payload["protocol_version"]
        if theirs != PROTOCOL_VERSION:
            self.close()
            raise UserError(
                f"the server at {address} speaks version {quote(theirs)} of vla-eval's protocol, "
                f"RoboDx version {PROTOCOL_VERSION}"
            )
        self.greeting = hello.payload

    @property
    def is_alive(self) -> bool:
        return self._socket.is_alive

    def begin(self, instruction: str) -> None:
        """It is not answered; if the server fails at it, an error comes in place of the first action."""
        self._begun = self.send("episode_start", {"task": {"name": instruction}})

    def send(self, kind: str, payload: Mapping[str, Any]) -> int:
        self._seq += 1
        self._socket.send(_pack(kind, payload, self._seq), self._address.timeout_s)
        return self._seq

    def receive_action(self, seq: int, end: float) -> Mapping[str, Any]:
        """The answer to the observation of that number."""
        while True:
            message = self._receive(end)
            # Late words to the episode that had the connection before.
            if message.seq < self._begun:
                continue
            if message.type == "error":
                said = message.payload.get("error", message.payload)
                text = said if isinstance(said, str) else quote(said)
                raise failure_of(self._address, text, WireError)
            if message.type != "action" or message.seq != seq:
                raise WireError(f"the server at {self._address} answered {seq} with {quote(message)}")
            return message.payload

    def close(self) -> None:
        self._socket.close()

    def _receive(self, end: float) -> _Message:
        frame = self._socket.receive(end - time.monotonic())
        try:
            return _read(frame)
        except ValueError as error:
            raise WireError(f"the server at {self._address} sent {error}") from error


@cache
def _own_version() -> str:
    return f"robodx {version('robodx')}"


def _pack(kind: str, payload: Mapping[str, Any], seq: int) -> bytes:
    return pack({"type": kind, "payload": payload, "seq": seq, "timestamp": time.time()}, encode_with_text)


def _read(frame: bytes | str) -> _Message:
    message = unpack(frame) if isinstance(frame, bytes) else None
    if not isinstance(message, dict):
        raise Malformed(f"{quote(frame)}, which is no message")
    kind, payload, seq = message.get("type"), message.get("payload"), message.get("seq")
    if not isinstance(kind, str) or not isinstance(payload, dict) or type(seq) is not int:
        raise Malformed(f"{quote(message)}, not a message with a type, a payload and a seq")
    return _Message(kind, payload, seq)


def _with_both_states(payload: dict[str, Any]) -> dict[str, Any]:
    for name, other in (STATES, STATES[::-1]):
        if isinstance(payload.get(name), np.ndarray):
            payload.setdefault(other, payload[name])
    return payload


class _Client:
    """What the server knows of one connection."""

    def __init__(self, endpoint: Endpoint, session: Hashable) -> None:
        self._endpoint, self._session = endpoint, session
        # Of a chunk that clients other than RoboDx are given one by one, as their benchmarks expect.
        self._left: deque[dict[str, Any]] = deque()
        # What RoboDx calls the episode under way.
        self._episode_id: str | None = None

    def greet(self) -> None:
        """The client speaks first."""

    def answer(self, frame: bytes | str) -> bytes | Last | None:
        seq = 0
        try:
            kind, payload, seq = _read(frame)
            if kind == "hello":
                return _pack("hello", self._hello(), seq)
            if kind in ("episode_start", "episode_end"):
                self._end_episode()
                self._endpoint.restart(self._session)
                return None
            if kind == "observation":
                return _pack("action", nest(self._act(payload)), seq)
            raise ValueError(f"a message of type {quote(kind)}")
        except Malformed as error:
            # What follows could not be understood either.
            return Last(_pack("error", {"error": complaint(error)}, seq))
        # As vla-eval does: the error as a message, and the connection stays.
        except (Exception, Stop) as error:
            return _pack("error", {"error": complaint(error)}, seq)

    def leave(self) -> None:
        self._end_episode()
        self._endpoint.leave(self._session)

    def _end_episode(self) -> None:
        self._left.clear()
        if self._episode_id is not None:
            self._endpoint.finish(self._episode_id)
            self._episode_id = None

    def _hello(self) -> dict[str, Any]:
        preset = self._endpoint.preset
        # The two words by which vla-eval's benchmarks send more than one picture.
        needs = {
            "send_wrist_image": any(picture.camera == "wrist" for picture in preset.images.values()),
            "send_state": bool(preset.state),
        }
        return {
            "harness_version": _own_version(),
            "protocol_version": PROTOCOL_VERSION,
            "model_server": "RoboDx",
            "capabilities": {},
            "observation_params": {name: True for name, is_needed in needs.items() if is_needed},
            **self._endpoint.about,
        }

    def _act(self, payload: Mapping[str, Any]) -> dict[str, Any]:
        rest = dict(payload)
        info = rest.pop(EPISODE, None)
        if info is not None:
            self._episode_id = check_name(str(info.get("episode_id"))) if isinstance(info, Mapping) else None
            return self._endpoint.answer(self._session, {**flatten(rest), EPISODE: info})
        if not self._left:
            reply = self._endpoint.answer(self._session, flatten(_with_both_states(rest)))
            length = min(map(len, reply.values()))
            for index in range(min(self._endpoint.preset.replan or length, length)):
                self._left.append({key: block[index] for key, block in reply.items()})
        return self._left.popleft()


def serve(endpoint: Endpoint, host: str, port: int, on_ready: Callable[[int], None]) -> None:
    """Serve until interrupted; `on_ready` is told the port once it is open."""
    from robodx.wires.websocket_server import serve_websockets

    serve_websockets(
        lambda session: _Client(endpoint, session), host, port, on_ready,
        health="/health", key=os.environ.get(API_KEY),
    )  # fmt: skip


@protocol("vla-eval", port=PORT, names=VlaEval.names, serve=serve)
def vla_eval(place: str) -> Wire:
    """Any model server of the vla-eval harness (OpenVLA, OFT, X-VLA, CogACT, …).

    ?declared=ignore is for a server whose greeting is wrong.
    """
    return VlaEval(Address.parse("vla-eval", place, port=PORT, takes=("declared",)))
