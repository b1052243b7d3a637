"""GR00T's inference servers: ZeroMQ, msgpack, one request and one reply at a time. N1.5, N1.6 and N1.7."""

from __future__ import annotations

import hmac
import os
import socket
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import msgpack

from robodx.errors import Stop, UserError
from robodx.registry import UnknownName, unknown
from robodx.wires.base import (
    API_KEY,
    Address,
    Closed,
    Names,
    Reply,
    Request,
    ServerInfo,
    Unreachable,
    Wire,
    WireError,
    failure_of,
    wait_for,
)
from robodx.wires.gr00t_forms import FORMS, Form, read_actions, read_observation, write_actions, write_observation
from robodx.wires.gr00t_modality import as_config, read_config, server_info
from robodx.wires.messages import MAX_NAME, Malformed, encode_as_npy, pack, unpack
from robodx.wires.pipelining import ask_ahead
from robodx.wires.preset import Preset, keys_of
from robodx.wires.protocols.base import protocol
from robodx.wires.quoting import complaint, quote
from robodx.wires.serving import Endpoint

if TYPE_CHECKING:
    import zmq

    from robodx.wires.zeromq import Dealer

PORT = 5555
# Clients do not say goodbye: the one unheard of for longest is then given up.
MAX_CLIENTS = 1024
# Requests of a client that are read before they are answered; what else it sends waits on its own side.
MAX_WAITING = 4
# Less than elsewhere, since ZeroMQ bounds neither the clients nor what all of them send together.
MAX_FRAME_BYTES = 64 * 2**20


# Of a request: its endpoint, data and token, and what other clients may add.
MAX_FIELDS = 16


class Refused(WireError):
    """The server answered that it could not; the connection is whole."""


class Gr00t:
    """A connection to a server; requests of several episodes follow each other without waiting."""

    names = Names(
        image="video.{}",
        depth="video.depth_{}",
        state="state.{}",
        prompt="annotation.human.action.task_description",
        actions="action.actions",
    )

    def __init__(self, address: Address) -> None:
        version = address.options.get("version")
        if version is not None and version not in FORMS:
            raise UnknownName(unknown("version", version, FORMS))
        self.address = address
        self._form: Form | None = FORMS[version] if version else None
        self._dealer: Dealer | None = None
        self.losses = 0

    def describe(self) -> ServerInfo:
        try:
            reply = self._call("get_modality_config")
            config = read_config(reply)
        except Refused as error:
            # Not every server has it.
            reply, config = {"get_modality_config": str(error)}, None
        except WireError as error:
            # There is no episode yet that could end as an error.
            raise Unreachable(f"the server at {self.address} does not say what it is: {error}") from error
        if self._form is None:
            if config is None:
                versions = " or ".join(f"?version={name}" for name in FORMS)
                raise UserError(f"the server at {self.address} does not report its GR00T version: add {versions}")
            self._form = FORMS["n1.5" if config.is_n1_5 else "n1.6"]
        return server_info(reply, config)

    def start(self, episode_id: str, instruction: str) -> None:
        """A lost server is noticed here, before anything is simulated. From N1.6 on it is told of the new episode."""
        if self._known_form().has_batch:
            try:
                try:
                    self._call("reset", {"options": None})
                except Closed:
                    # It went away since the last episode, which may show only now.
                    self._call("reset", {"options": None})
            except Refused as error:
                if "nknown endpoint" not in str(error):
                    raise
        else:
            self._connected()

    def ask(self, requests: Sequence[tuple[str, Request]]) -> list[Reply | WireError]:
        """What the server refuses is one request's error; once the connection is lost, the rest err alike."""
        return ask_ahead(
            len(requests), lambda index: self._send(requests[index][1]), self._receive,
            connect=self._connected, lose=self._lose,
        )  # fmt: skip

    def finish(self, episode_id: str) -> None: ...

    def close(self) -> None:
        if self._dealer is not None:
            self._dealer.close()
            self._dealer = None

    def _send(self, request: Request) -> None:
        assert self._dealer is not None
        self._dealer.send(self._message("get_action", write_observation(self._known_form(), request)))

    def _receive(self, _: None) -> Reply | WireError:
        assert self._dealer is not None
        data = self._dealer.receive(self.address.timeout_s)
        try:
            return read_actions(self._read(data))
        except WireError as error:
            return error
        except Malformed as error:
            return WireError(f"the reply of {self.address} is {error}")

    def _lose(self) -> None:
        self.losses += 1
        self.close()

    def _call(self, endpoint: str, data: Mapping[str, Any] | None = None) -> Any:
        try:
            dealer = self._connected()
            dealer.send(self._message(endpoint, data))
            return self._read(dealer.receive(self.address.timeout_s))
        except Refused:
            raise
        except BaseException:
            self._lose()
            raise

    def _message(self, endpoint: str, data: Mapping[str, Any] | None = None) -> bytes:
        key = os.environ.get(API_KEY)
        return pack(
            {
                "endpoint": endpoint,
                **({"data": data} if data is not None else {}),
                **({"api_token": key} if key else {}),
            },
            encode_as_npy,
        )

    def _read(self, data: bytes) -> Any:
        try:
            reply = unpack(data)
        except Malformed as error:
            raise WireError(f"the reply of {self.address} is {error}") from error
        if not isinstance(reply, Mapping) or "error" not in reply:
            return reply
        problem = reply["error"] if isinstance(reply["error"], str) else quote(reply["error"])
        if "nauthorized" in problem:
            raise Stop(f"the server at {self.address} requires its API token in {API_KEY}: {quote(problem)}")
        if "'video." in problem and self._form == FORMS["n1.6"]:
            problem += " (a server with --use-sim-policy-wrapper needs ?version=n1.6-sim)"
        raise failure_of(self.address, problem, Refused)

    def _known_form(self) -> Form:
        if self._form is None:
            self.describe()
        assert self._form is not None
        return self._form

    def _connected(self) -> Dealer:
        if self._dealer is not None and not self._dealer.is_quiet:
            # Closed, or something came that nobody waits for any more.
            self._lose()
        if self._dealer is None:
            self._dealer = wait_for(self._open, self.address)
        return self._dealer

    def _open(self, within_s: float) -> Dealer:
        from robodx.wires.zeromq import Dealer

        dealer = Dealer(self.address, within_s)
        try:
            dealer.send(self._message("ping"))
            with suppress(Refused):
                self._read(dealer.receive(max(within_s, self.address.timeout_s)))
        except WireError as error:
            dealer.close()
            raise OSError(f"it is no GR00T server: {error}") from error
        except BaseException:
            dealer.close()
            raise
        return dealer


def serve(endpoint: Endpoint, host: str, port: int, on_ready: Callable[[int], None]) -> None:
    """Serve until interrupted; `on_ready` is told the port once it is open."""
    import zmq

    from robodx.wires.zeromq import limit_silence

    server = _Server(endpoint, os.environ.get(API_KEY))
    context = zmq.Context()
    # A router, which knows its clients apart and lets them ask ahead; to requesters it looks like a replier.
    router = context.socket(zmq.ROUTER)
    try:
        router.setsockopt(zmq.LINGER, 0)
        router.setsockopt(zmq.MAXMSGSIZE, MAX_FRAME_BYTES)
        router.setsockopt(zmq.RCVHWM, MAX_WAITING)
        limit_silence(router)
        _bind(router, host, port)
        on_ready(int(router.getsockopt_string(zmq.LAST_ENDPOINT).rpartition(":")[2]))
        while True:
            client, *frames = router.recv_multipart()
            # Before the empty frame stands the way back; without one it is no request.
            if b"" not in frames:
                continue
            split = frames.index(b"") + 1
            reply = server.answer(client, b"".join(frames[split:]))
            # A client that does not read its replies loses them.
            with suppress(zmq.Again):
                router.send_multipart([client, *frames[:split], reply], flags=zmq.DONTWAIT)
    finally:
        router.close(0)
        context.term()


def _bind(router: zmq.Socket[bytes], host: str, port: int) -> None:
    import zmq

    try:
        # ZeroMQ binds to addresses and not to names.
        family, _, _, _, place = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
        is_v6 = family == socket.AF_INET6
        router.setsockopt(zmq.IPV6, is_v6)
        router.bind(f"tcp://[{place[0]}]:{port}" if is_v6 else f"tcp://{place[0]}:{port}")
    except (OSError, zmq.ZMQError) as error:
        raise UserError(f"cannot serve at {host}:{port}: {error}") from error


class _Server:
    """What is answered to whom."""

    def __init__(self, endpoint: Endpoint, key: str | None) -> None:
        _check_names(endpoint.preset)
        self._endpoint, self._key = endpoint, key
        # How many episodes at a time each client has asked for.
        self._clients: OrderedDict[bytes, int] = OrderedDict()

    def answer(self, client: bytes, data: bytes) -> bytes:
        """Whatever comes, there is a reply to it."""
        try:
            # Before anything else is read of it.
            if self._key and not _has_token(data, self._key):
                return pack({"error": "Unauthorized: Invalid API token"}, encode_as_npy)
            return pack(self._answer(client, unpack(data)), encode_as_npy)
        except (Exception, Stop) as error:
            return pack({"error": complaint(error)}, encode_as_npy)

    def _answer(self, client: bytes, request: object) -> object:
        if not isinstance(request, Mapping):
            raise ValueError(f"a request must be a map, not {quote(request)}")
        name, data = request.get("endpoint", "get_action"), request.get("data")
        if name == "ping":
            return {"status": "ok", "message": "Server is running"}
        if name == "get_modality_config":
            return as_config(self._endpoint.preset, self._endpoint.about)
        if name == "reset":
            for row in range(self._clients.get(client, 0)):
                self._endpoint.restart((client, row))
            return {}
        if name == "get_action":
            form, rows = read_observation(data)
            self._remember(client, len(rows))
            return write_actions(form, [self._endpoint.answer((client, row), one) for row, one in enumerate(rows)])
        if name == "kill":
            return {"error": "clients cannot stop this server"}
        return {"error": f"Unknown endpoint: {quote(name)}"}

    def _remember(self, client: bytes, rows: int) -> None:
        self._clients[client] = max(rows, self._clients.get(client, 0))
        self._clients.move_to_end(client)
        if len(self._clients) > MAX_CLIENTS:
            oldest, count = self._clients.popitem(last=False)
            for row in range(count):
                self._endpoint.leave((oldest, row))


def _has_token(data: bytes, key: str) -> bool:
    """Whether a request has the key in it. All else is skipped: nothing of it is built or decoded."""
    longest, size = max(MAX_NAME, len(key.encode())), len(data)
    unpacker = msgpack.Unpacker(
        max_buffer_size=0, max_str_len=longest, max_bin_len=size, max_array_len=size, max_map_len=size, max_ext_len=size
    )
    try:
        unpacker.feed(data)
        for _ in range(min(unpacker.read_map_header(), MAX_FIELDS)):
            if unpacker.unpack() != "api_token":
                unpacker.skip()
                continue
            token = unpacker.unpack()
            return isinstance(token, str) and hmac.compare_digest(token.encode(), key.encode())
    except (ValueError, msgpack.UnpackException):
        pass
    return False


def _check_names(preset: Preset) -> None:
    """GR00T's forms tell pictures, state and actions apart by their names."""
    state = [name for key in preset.state for name in keys_of(key)]
    for modality, keys in (("video", preset.images), ("state", state), ("action", preset.actions.keys)):
        for key in keys:
            if not key.startswith(f"{modality}."):
                raise UserError(
                    f'the preset {preset.name} cannot be served as GR00T: it calls "{key}" what must be {modality}.NAME'
                )


@protocol("gr00t", port=PORT, names=Gr00t.names, serve=serve)
def gr00t(place: str) -> Wire:
    """An inference server of GR00T N1.5, N1.6 or N1.7."""
    return Gr00t(Address.parse("gr00t", place, port=PORT, takes=("version",)))
