"""The openpi wire and its variants, against servers of ours and some that no one should write."""

from __future__ import annotations

import contextlib
import logging
import socket
import struct
import threading
import time
import traceback
import tracemalloc
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect as connect_websocket
from websockets.sync.server import ServerConnection
from websockets.sync.server import serve as serve_websocket

from robodx.errors import Stop, UserError
from robodx.policy_contract import ActionChunk, CameraRequest, EpisodeStart, Observation, PolicySpec, make_policy
from robodx.records.trial import Trial
from robodx.registry import UnknownName
from robodx.running.request import Request
from robodx.running.rollout import rollout
from robodx.running.run import run
from robodx.spaces import InvalidAction
from robodx.wires import websocket
from robodx.wires.agreement import mismatches
from robodx.wires.base import API_KEY, WORKER, Address, Unreachable, WireError, failure_of
from robodx.wires.messages import MAX_REPLY_BYTES, encode_with_bytes, pack, unpack
from robodx.wires.pipelining import IN_FLIGHT
from robodx.wires.preset import BadPreset, Preset, native
from robodx.wires.preset_files import as_toml, find_preset, read_preset
from robodx.wires.protocols.openpi import OpenPi, serve
from robodx.wires.remote import RemotePolicy, connect
from robodx.wires.serving import Endpoint
from robodx.wires.websocket import MAX_PIECES, WebSocket
from tests.serving import in_a_thread
from tests.serving import served as served_by_command
from tests.wires.fuzzing import fuzzed, judge, observation, tally
from tests.wires.ipv6 import needs_ipv6

TASK = "control/stack_cube"
DROID = find_preset("droid")
CHUNK = np.linspace(-0.9, 0.9, 80, dtype=np.float32).reshape(10, 8)
# Servers that break off say so, which is what some of the tests are about.
QUIET = logging.getLogger("tests.openpi")
QUIET.addHandler(logging.NullHandler())
QUIET.propagate = False
FAILURE = "Traceback (most recent call last):\n  …\nRuntimeError: out of memory"


# Closed before the servers are.
CLIENTS: list[RemotePolicy] = []


def wire(
    port: int, *, timeout_s: float = 5.0, connect_s: float = 1.0, options: Mapping[str, str] | None = None
) -> OpenPi:
    return OpenPi(Address("127.0.0.1", port, timeout_s=timeout_s, connect_s=connect_s, options=options or {}))


def remote(
    port: int, preset: Preset = DROID, *, timeout_s: float = 5.0, options: Mapping[str, str] | None = None
) -> RemotePolicy:
    CLIENTS.append(RemotePolicy(wire(port, timeout_s=timeout_s, options=options), preset))
    return CLIENTS[-1]


def named(port: int, options: str = "timeout=5", preset: str | None = None) -> RemotePolicy:
    """As on the command line."""
    policy = make_policy(f"openpi://127.0.0.1:{port}?{options}", preset)
    assert isinstance(policy, RemotePolicy)
    CLIENTS.append(policy)
    return policy


def close_clients() -> None:
    while CLIENTS:
        CLIENTS.pop().close()


def start(episode_id: str = "episode") -> EpisodeStart:
    return EpisodeStart(episode_id, 0, TASK, "panda", 0, 0, "stack the cubes")


def ask(policy: RemotePolicy, *instructions: str) -> Sequence[ActionChunk | Exception]:
    """A query for each instruction, of an episode of that name."""
    seen = observation(policy)
    return policy.act([replace(seen, episode_id=words, instruction=words) for words in instructions])


def failed(policy: RemotePolicy, words: str, kind: type[Exception] = WireError) -> None:
    (answer,) = ask(policy, "e")
    assert type(answer) is kind or isinstance(answer, kind), repr(answer)
    assert words in str(answer), str(answer)


# Servers that do what a test says.

Answer = Callable[[Any, ServerConnection], bytes | str | None]


def reply(actions: object = CHUNK) -> bytes:
    return pack({"actions": actions, "server_timing": {"infer_ms": 1.5}}, encode_with_bytes)


@contextmanager
def scripted(
    answer: Answer, greeting: object = None, port: int = 0, *, ping_s: float | None = None, greets_after_s: float = 0.0
) -> Iterator[int]:
    """A server on a real socket that greets as openpi's do and leaves the rest to `answer`."""

    def handle(connection: ServerConnection) -> None:
        with contextlib.suppress(ConnectionClosed, OSError):
            time.sleep(greets_after_s)
            connection.send(pack({} if greeting is None else greeting, encode_with_bytes))
            for frame in connection:
                assert isinstance(frame, bytes)
                if (said := answer(unpack(frame), connection)) is not None:
                    connection.send(said)

    with serve_websocket(
        handle, "127.0.0.1", port, compression=None, max_size=None, ping_interval=ping_s, logger=QUIET
    ) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield server.socket.getsockname()[1]
        finally:
            close_clients()
            server.shutdown()
            thread.join()


class Watching:
    """Answers with what it sees; refuses one instruction."""

    spec = PolicySpec(
        cameras=(CameraRequest("front", 16, 12),), state=("gripper_opening", "joint_positions"), hz=10.0, replan=2
    )

    def __init__(self) -> None:
        self.seen: list[Observation] = []
        self.begun: list[str] = []
        self.ended: list[str] = []

    def reset(self, starts: Sequence[EpisodeStart]) -> None:
        self.begun += [start.episode_id for start in starts]

    def act(self, observations: Sequence[Observation]) -> Sequence[ActionChunk | Exception]:
        self.seen += observations
        return [self._answer(one) for one in observations]

    def finish(self, ids: Sequence[str]) -> None:
        self.ended += ids

    def _answer(self, seen: Observation) -> ActionChunk:
        if seen.instruction.startswith("refuse"):
            raise RuntimeError(f"{seen.instruction}: this one is refused")
        first = np.concatenate([seen.state["joint_positions"][:6], seen.state["gripper_opening"]])
        return np.stack([first, -first, first / 2]) * np.float32(len(seen.instruction))


@contextmanager
def served(policy: Watching, preset: Preset | None = None) -> Iterator[int]:
    """Our server, in a thread."""
    with in_a_thread(serve, Endpoint(policy, preset, OpenPi.names)) as port:
        try:
            yield port
        finally:
            close_clients()


@contextmanager
def in_another_process(policy: str, port: int = 0) -> Iterator[int]:
    with served_by_command(policy, "openpi", port=port) as server:
        try:
            yield server.port
        finally:
            close_clients()


# Ours to ours.


def test_what_is_seen_and_answered_is_the_same_on_both_ends() -> None:
    watching = Watching()
    with served(watching) as port:
        policy = named(port)
        assert policy.spec == replace(watching.spec, action_width=7), "no preset is needed: the server says its own"
        policy.reset([start("a"), start("b")])
        here = [
            replace(observation(policy), episode_id=id_, instruction=text) for id_, text in (("a", "x"), ("b", "yy"))
        ]
        chunks = policy.act(here)
        policy.finish(["a", "b"])
    assert [name.split("-")[0] for name in watching.begun] == ["a", "b"], "episodes are told apart over there"
    for sent, there, chunk in zip(here, watching.seen, chunks, strict=True):
        assert there.episode_id.startswith(f"{sent.episode_id}-")
        assert (there.step, there.instruction) == (sent.step, sent.instruction)
        assert np.array_equal(there.images["front"], sent.images["front"])
        for part, numbers in sent.state.items():
            assert np.array_equal(there.state[part], numbers)
        assert isinstance(chunk, np.ndarray) and np.array_equal(chunk, watching._answer(sent))


def test_a_trial_that_is_tried_again_begins_anew_at_the_policy() -> None:
    watching = Watching()
    with served(watching) as port:
        policy = named(port)
        for _ in range(2):
            policy.reset([start("a")])
            ask(policy, "a")
            policy.finish(["a"])
    assert len(set(watching.begun)) == 2


def test_a_client_that_knows_no_episodes_has_one_on_each_connection() -> None:
    watching = Watching()
    preset = replace(DROID, actions=find_preset("libero").actions, state={"joints": ("joint_positions",)})
    watching.spec = replace(preset.spec, state=("joint_positions",))
    watching._answer = lambda seen: np.zeros((3, 7), np.float32)  # type: ignore[method-assign]
    with served(watching, preset) as port:
        for _ in range(2):
            policy = remote(port, preset)
            ask(policy, "x")
            ask(policy, "x")
            policy.close()
        deadline = time.monotonic() + 5
        while len(watching.ended) < 2 and time.monotonic() < deadline:
            time.sleep(0.01)
    assert len(set(watching.begun)) == 2 and watching.ended == watching.begun
    assert [one.step for one in watching.seen] == [0, 3, 0, 3]


def test_a_failing_policy_answers_with_its_traceback_and_closes() -> None:
    with served(Watching()) as port, connect_websocket(f"ws://127.0.0.1:{port}", compression=None) as client:
        client.recv()
        client.send(pack({"nonsense": 1}, encode_with_bytes))
        text = client.recv()
        assert isinstance(text, str) and "Traceback" in text and "the request has no" in text
        with pytest.raises(ConnectionClosed) as closed:
            client.recv()
        assert closed.value.rcvd is not None and closed.value.rcvd.code == 1011


@pytest.mark.parametrize(
    "frame", ["text", b"\xc1", b"\x93\x01\x02\x03", b"\x80", pack({"robodx": 3}, encode_with_bytes)]
)
def test_our_server_refuses_what_is_no_request_and_lives_on(frame: bytes | str) -> None:
    watching = Watching()
    with served(watching) as port:
        with connect_websocket(f"ws://127.0.0.1:{port}", compression=None) as client:
            client.recv()
            client.send(frame)
            assert isinstance(client.recv(), str)
        (chunk,) = ask(remote(port, Endpoint(watching, names=OpenPi.names).preset), "x")
        assert isinstance(chunk, np.ndarray)


def test_our_server_says_that_it_is_healthy() -> None:
    with served(Watching()) as port, urllib.request.urlopen(f"http://127.0.0.1:{port}/healthz", timeout=5) as answer:
        assert answer.status == 200


def test_a_privileged_policy_is_not_served() -> None:
    with pytest.raises(UserError, match="cannot be served"):
        Endpoint(make_policy("expert"))


def test_replay_over_the_wire_is_replay_in_process(tmp_path: Path) -> None:
    run(Request((TASK,), "expert", 1), tmp_path / "run")
    trial = Trial(TASK, 2, "replay", 0)
    (local,) = rollout([trial], make_policy(f"replay:{tmp_path / 'run'}"))
    with in_another_process(f"replay:{tmp_path / 'run'}") as port:
        policy = named(port)
        (there,) = rollout([trial], policy)
    assert local.episode.success and there.episode.success
    assert there.episode.trajectory_hash == local.episode.trajectory_hash


def test_episodes_at_once_are_the_episodes_one_by_one(tmp_path: Path) -> None:
    run(Request((TASK,), "expert", 3), tmp_path / "run")
    trials = [Trial(TASK, 2, "replay", seed) for seed in range(3)]
    with in_another_process(f"replay:{tmp_path / 'run'}") as port:
        hashes = [
            {one.episode.seed: one.episode.trajectory_hash for one in rollout(trials, policy, batch=batch)}
            for batch in (1, 3)
            for policy in [named(port)]
        ]
    assert hashes[0] == hashes[1] and None not in hashes[0].values()


# Several at once.


def test_requests_follow_each_other_without_waiting() -> None:
    """The server answers only when as many as may be under way have come: a client that waits would hang."""
    held: list[Any] = []

    def answer(request: Any, connection: ServerConnection) -> None:
        held.append(request)
        if len(held) == IN_FLIGHT:
            for one in held:
                connection.send(reply(np.full((1, 8), len(one["prompt"]), np.float32) / 100))
            held.clear()

    with scripted(answer) as port:
        chunks = ask(remote(port), *("x" * (i + 1) for i in range(2 * IN_FLIGHT)))
    # A velocity of 1 is 3 rad/s.
    assert [round(float(chunk[0, 0]) * 100 / 3) for chunk in chunks if not isinstance(chunk, Exception)] == [
        *range(1, 2 * IN_FLIGHT + 1)
    ]


def test_an_error_hits_only_the_episode_it_is_of() -> None:
    with served(Watching()) as port:
        policy = named(port)
        names = ["a", "refuse 1", "b", "c", "refuse 2", "refuse 3", *"defghijk"]
        policy.reset([start(name) for name in names])
        answers = ask(policy, *names)
    for name, answer in zip(names, answers, strict=True):
        if name.startswith("refuse"):
            assert isinstance(answer, WireError) and f"{name}: this one is refused" in str(answer)
        else:
            assert isinstance(answer, np.ndarray) and np.isfinite(answer).all()


def test_a_garbled_reply_hits_only_the_episode_it_is_of() -> None:
    answers = {"garbled": b"\xc1", "wide": reply(np.zeros((2, 9))), "map": reply({})}
    with scripted(lambda request, _: answers.get(request["prompt"], reply())) as port:
        a, garbled, b, wide, odd, c = ask(remote(port), "a", "garbled", "b", "wide", "map", "c")
    assert all(isinstance(chunk, np.ndarray) for chunk in (a, b, c))
    assert isinstance(garbled, WireError) and "no msgpack message" in str(garbled)
    assert isinstance(wide, InvalidAction) and "(2, 9)" in str(wide)
    assert isinstance(odd, WireError) and "has no actions" in str(odd)


# Faults.


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def test_a_server_that_is_not_there_is_waited_for_and_named() -> None:
    port = free_port()
    with pytest.raises(Unreachable, match=rf"127\.0\.0\.1:{port} after 0\.5 s.*Is it running"):
        named(port, "connect=0.5")


def test_a_server_that_starts_late_is_waited_for() -> None:
    port = free_port()
    policy = RemotePolicy(wire(port, connect_s=20), DROID)
    CLIENTS.append(policy)
    answers: list[Any] = []
    asking = threading.Thread(target=lambda: answers.extend(ask(policy, "x")))
    asking.start()
    time.sleep(0.3)
    with scripted(lambda *_: reply(), port=port):
        asking.join(20)
    assert isinstance(answers[0], np.ndarray)


@contextmanager
def raw(serve_one: Callable[[socket.socket], None]) -> Iterator[int]:
    """A server below websockets: one connection after the other."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.settimeout(0.05)
        done = threading.Event()

        def target() -> None:
            while not done.is_set():
                with contextlib.suppress(OSError):
                    connection, _ = listening.accept()
                    with connection:
                        connection.settimeout(10)
                        serve_one(connection)

        thread = threading.Thread(target=target)
        thread.start()
        try:
            yield listening.getsockname()[1]
        finally:
            close_clients()
            done.set()
            thread.join()


@pytest.mark.parametrize(
    "said",
    [
        b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\n\r\nhello",
        b"SSH-2.0-OpenSSH\r\n",
        b"",
    ],
)
def test_a_server_that_refuses_or_speaks_something_else_is_named(said: bytes) -> None:
    def refuse(connection: socket.socket) -> None:
        connection.recv(4096)
        connection.sendall(said)

    with raw(refuse) as port, pytest.raises(Unreachable, match=f"127.0.0.1:{port}"):
        named(port, "connect=0.3")


@pytest.mark.parametrize("greeting", [["not", "a", "map"], {1: 2}, 7])
def test_a_websocket_that_does_not_greet_as_openpi_is_named(greeting: object) -> None:
    with scripted(lambda *_: None, greeting) as port, pytest.raises(Unreachable, match="it is no openpi server"):
        named(port, "connect=0.3")


def test_a_server_that_hangs_meets_the_deadline() -> None:
    done = threading.Event()

    def hang(_: Any, __: ServerConnection) -> None:
        done.wait(20)

    with scripted(hang) as port:
        policy = remote(port, timeout_s=0.3)
        answers = ask(policy, "a", "b", "c")
        assert all(isinstance(one, WireError) and "did not answer in time" in str(one) for one in answers)
        done.set()


def test_a_server_that_trickles_meets_the_deadline() -> None:
    """Bytes come all the time, but never an answer."""

    def trickle(_: Any, connection: ServerConnection) -> None:
        for _ in range(100):
            connection.socket.sendall(b"\x89\x00")  # a ping
            time.sleep(0.02)

    with scripted(trickle) as port:
        policy = remote(port, timeout_s=0.3)
        failed(policy, "did not answer in time")


def test_the_pings_of_a_server_between_two_calls_lose_nothing() -> None:
    with scripted(lambda *_: reply(), ping_s=0.1) as port:
        policy = remote(port)
        policy.reset([start("e")])
        for _ in range(3):
            assert isinstance(ask(policy, "e")[0], np.ndarray)
            time.sleep(0.35)
        assert policy.wire.losses == 0


def test_a_server_that_is_busy_is_not_taken_for_one_that_is_not_there() -> None:
    """Ours, like openpi's, does not look up before it has answered: a second client waits longer than to connect."""
    asked, go_on = threading.Event(), threading.Event()

    class Slow(Watching):
        def _answer(self, seen: Observation) -> ActionChunk:
            asked.set()
            go_on.wait(20)
            return super()._answer(seen)

    slow = Slow()
    with served(slow) as port:
        first, second = remote(port, native(slow.spec, OpenPi.names)), wire(port, timeout_s=20, connect_s=0.2)
        answers: list[Any] = []
        asking = threading.Thread(target=lambda: answers.extend(ask(first, "a")))
        asking.start()
        assert asked.wait(10)
        threading.Timer(1.0, go_on.set).start()
        assert second.describe().preset is not None
        second.close()
        asking.join()
    assert isinstance(answers[0], np.ndarray)


def test_a_server_that_greets_late_is_waited_for() -> None:
    with scripted(lambda *_: reply(), greets_after_s=0.8) as port:
        late = wire(port, connect_s=0.2)
        late.describe()
        late.close()


def test_a_server_that_never_speaks_is_named_with_the_time_that_it_was_given() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        with pytest.raises(Unreachable, match=r"after 1 s: the server at .* did not answer in time"):
            named(port, "connect=0.2&timeout=1")


def test_a_server_that_closes_mid_call_errs_and_the_next_call_works() -> None:
    calls: list[int] = []

    def answer(_: Any, connection: ServerConnection) -> bytes | None:
        calls.append(1)
        if len(calls) == 1:
            connection.close(1001, "going away")
            return None
        return reply()

    with scripted(answer) as port:
        policy = remote(port)
        failed(policy, "closed the connection with code 1001 going away")
        assert isinstance(ask(policy, "e")[0], np.ndarray)


def test_a_server_that_drops_the_connection_errs_and_the_next_call_works() -> None:
    calls: list[int] = []

    def answer(_: Any, connection: ServerConnection) -> bytes | None:
        calls.append(1)
        if len(calls) == 1:
            connection.socket.shutdown(socket.SHUT_RDWR)
            return None
        return reply()

    with scripted(answer) as port:
        policy = remote(port)
        failed(policy, "clos")
        assert isinstance(ask(policy, "e")[0], np.ndarray)


def test_a_text_is_a_failure_and_is_shown() -> None:
    with scripted(lambda *_: FAILURE) as port:
        policy = remote(port)
        (answer,) = ask(policy, "e")
    assert isinstance(answer, WireError)
    told = f"the policy server at 127.0.0.1:{port} failed: RuntimeError: out of memory. RoboDx sent "
    assert str(answer).startswith(told)
    kept = "".join(traceback.format_exception(answer))
    assert FAILURE in kept, "the records have all of it"
    assert told in kept.splitlines()[-1], "a terminal shows the last line: it says whose error it is"


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("no such plan", "no such plan"),
        ("out of plans\nmore of it", "out of plans"),
        (f"{FAILURE}\nDuring handling:\n{FAILURE.replace('out of memory', 'lost')}\ndetails", "RuntimeError: lost"),
        ("Traceback (most recent call last):\n  cut off", "it does not say why"),
        ("", "it does not say why"),
    ],
)
def test_what_a_server_says_of_its_failure_is_told_in_a_line(text: str, line: str) -> None:
    error = failure_of("here", text, WireError)
    assert str(error) == f"the policy server at here failed: {line}"
    assert str(error.__cause__ or "") == (text if "\n" in text else "")


@pytest.mark.parametrize(
    ("said", "words", "kind"),
    [
        (b"\xc1", "no msgpack message", WireError),
        (b"", "no msgpack message", WireError),
        (pack([1, 2], encode_with_bytes), "not a map of names", WireError),
        (pack({}, encode_with_bytes), "has no actions", WireError),
        (reply(np.full((1, 8), np.nan)), "not finite", InvalidAction),
        (reply(np.full((1, 8), np.inf)), "not finite", InvalidAction),
        (reply(np.zeros((10, 7))), "(10, 7)", InvalidAction),
        (reply(np.zeros((0, 8))), "at least one action", InvalidAction),
        (reply([]), "at least one action", InvalidAction),
        (reply("left"), "not numbers", InvalidAction),
        (reply([[1.0] * 8, [1.0]]), "uneven", InvalidAction),
    ],
)
def test_what_is_no_answer_is_quoted(said: bytes, words: str, kind: type[Exception]) -> None:
    with scripted(lambda *_: said) as port:
        policy = remote(port)
        failed(policy, words, kind)


def test_actions_may_be_a_plain_list_or_one_action() -> None:
    for actions in (CHUNK.tolist(), CHUNK[0].tolist(), CHUNK.astype(np.float64), CHUNK[0]):
        with scripted(lambda *_, actions=actions: reply(actions)) as port:
            policy = remote(port)
            (chunk,) = ask(policy, "e")
            assert isinstance(chunk, np.ndarray) and chunk.shape[1] == 8
            policy.close()


@pytest.mark.parametrize("claims", [2**30, 2**62])
def test_a_message_of_a_gigabyte_is_refused_and_not_read(claims: int) -> None:
    """Its size is known from its first bytes; as much as can be is sent nevertheless."""

    def flood(_: Any, connection: ServerConnection) -> None:
        connection.socket.sendall(b"\x82\x7f" + struct.pack("!Q", claims))
        with contextlib.suppress(OSError):
            for _ in range(2**30 // 2**20):
                connection.socket.sendall(bytes(2**20))

    with scripted(flood) as port:
        policy = remote(port)
        policy.wire.describe()
        tracemalloc.start()
        try:
            failed(policy, "exceeds")
            assert tracemalloc.get_traced_memory()[1] < 8 * 2**20
        finally:
            tracemalloc.stop()


def test_a_message_in_endless_pieces_is_refused() -> None:
    def flood(_: Any, connection: ServerConnection) -> None:
        piece = struct.pack("!BBQ", 0x00, 0x7F, 2**20) + bytes(2**20)
        with contextlib.suppress(OSError):
            connection.socket.sendall(b"\x02" + piece[1:])
            for _ in range(1024):
                connection.socket.sendall(piece)

    with scripted(flood) as port:
        policy = remote(port)
        policy.wire.describe()
        tracemalloc.start()
        try:
            (answer,) = ask(policy, "e")
            assert isinstance(answer, WireError) and ("exceeds" in str(answer) or "more than" in str(answer))
            assert tracemalloc.get_traced_memory()[1] < 3 * MAX_REPLY_BYTES
        finally:
            tracemalloc.stop()


def in_pieces(count: int) -> Answer:
    """An answer after so many pieces of nothing."""

    def answer(_: Any, connection: ServerConnection) -> None:
        with contextlib.suppress(OSError):
            connection.socket.sendall(b"\x02\x00")
            for _ in range(count // 1000):
                connection.socket.sendall(b"\x00\x00" * 1000)
            whole = reply()
            connection.socket.sendall(b"\x80\x7e" + struct.pack("!H", len(whole)) + whole)

    return answer


def test_a_message_in_more_pieces_than_it_can_have_is_refused() -> None:
    with scripted(in_pieces(1000)) as port:
        assert isinstance(ask(remote(port), "e")[0], np.ndarray)
    with scripted(in_pieces(MAX_PIECES + 1000)) as port:
        failed(remote(port, timeout_s=10), f"in more than {MAX_PIECES} pieces")


def test_pieces_that_come_faster_than_they_are_read_meet_the_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(websocket, "MAX_PIECES", 10**9)
    with scripted(in_pieces(10**6)) as port:
        policy = remote(port, timeout_s=0.3)
        policy.wire.describe()
        failed(policy, "did not answer in time")


def test_pieces_that_are_there_already_meet_the_deadline_too() -> None:
    def answer(_: Any, connection: ServerConnection) -> None:
        connection.socket.sendall(b"\x82\x01a" + b"\x02\x01b" + b"\x80\x01c" + b"\x82\x01d")

    with scripted(answer) as port:
        connection = WebSocket(Address("127.0.0.1", port), 5)
        connection.receive(5)
        connection.send(pack({}, encode_with_bytes), 5)
        assert connection.receive(5) == b"a"
        with pytest.raises(WireError, match="did not answer in time"):
            connection.receive(0)
        connection.close()


def test_what_nobody_asked_for_is_not_taken_for_an_answer() -> None:
    """A server that answers twice: the second answer is not that of the next request."""

    def answer(request: Any, connection: ServerConnection) -> None:
        value = np.full((1, 8), len(request["prompt"]), np.float32)
        connection.send(reply(value))
        connection.send(reply(value))

    with scripted(answer) as port:
        policy = remote(port)
        (first,) = ask(policy, "x")
        time.sleep(0.1)
        (second,) = ask(policy, "yy")
    assert not isinstance(first, Exception) and not isinstance(second, Exception)
    assert (first[0, 0], second[0, 0]) == (3.0, 6.0)


def test_a_server_that_dies_and_comes_back_serves_the_next_episode() -> None:
    policy: RemotePolicy | None = None
    port = 0
    for _ in range(2):
        with in_another_process("still", port) as port:
            policy = policy or connect(wire(port, connect_s=2), "openpi", None)
            policy.reset([start()])
            assert isinstance(policy.act([observation(policy)])[0], np.ndarray)
    assert policy is not None
    # Gone for good now: that is said, not tried for ever.
    with pytest.raises(Unreachable):
        policy.reset([start()])


def test_the_key_of_a_server_is_sent_and_is_no_part_of_the_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(API_KEY, "secret")
    keys: list[str | None] = []

    def answer(_: Any, connection: ServerConnection) -> bytes:
        assert connection.request is not None
        keys.append(connection.request.headers.get("Authorization"))
        return reply()

    with scripted(answer) as port:
        policy = remote(port)
        ask(policy, "x")
    assert keys == ["Api-Key secret"]


def test_our_server_wants_its_key_and_a_client_without_it_is_told_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(API_KEY, "secret")
    with served(Watching()) as port:
        assert isinstance(ask(named(port), "x")[0], np.ndarray)
        monkeypatch.setenv(API_KEY, "guess")
        with pytest.raises(Unreachable, match=f"refuses the connection .401 Unauthorized.: {API_KEY} is not the key"):
            named(port)
        monkeypatch.delenv(API_KEY)
        with pytest.raises(Unreachable, match=f"{API_KEY} must be its key$"):
            named(port)


@needs_ipv6
def test_a_server_at_an_address_of_ipv6_is_reached() -> None:
    def serve_v6(endpoint: Endpoint, _: str, port: int, on_ready: Callable[[int], None]) -> None:
        serve(endpoint, "::1", port, on_ready)

    with in_a_thread(serve_v6, Endpoint(Watching(), None, OpenPi.names)) as port:
        policy = make_policy(f"openpi://[::1]:{port}?connect=2")
        assert isinstance(policy, RemotePolicy)
        assert isinstance(ask(policy, "x")[0], np.ndarray)
        policy.close()


def test_addresses_of_ipv6_are_written_in_brackets(monkeypatch: pytest.MonkeyPatch) -> None:
    several = "//[::1]:8000,[fe80::2]:8001,host/path?timeout=3"
    for worker, text in enumerate(("[::1]:8000", "[fe80::2]:8001", "host:9")):
        monkeypatch.setenv(WORKER, str(worker))
        address = Address.parse("openpi", several, port=9)
        assert (str(address), address.path, address.timeout_s) == (text, "/path", 3)
    for wrong in ("//[::1", "//::1:8000", "//[zz]:1", "//:8000", "//", "host:8000"):
        monkeypatch.setenv(WORKER, "0")
        with pytest.raises(UserError, match="openpi:"):
            Address.parse("openpi", wrong)


def test_another_preset_than_our_server_says_is_refused_with_both_sides(tmp_path: Path) -> None:
    watching = Watching()
    own = native(watching.spec, OpenPi.names)
    other = replace(own, name="other", actions=replace(own.actions, gripper_open=0.0, gripper_closed=1.0))
    for preset in (own, other):
        (tmp_path / f"{preset.name}.toml").write_text(as_toml(preset.as_dict()))
    with served(watching) as port:
        named(port, preset=str(tmp_path / "native.toml"))
        with pytest.raises(BadPreset, match=r"gripper_open: 0\.0 in the preset, but 1\.0 at the server"):
            named(port, preset=str(tmp_path / "other.toml"))
        with pytest.raises(BadPreset, match="does not fit the server"):
            named(port, preset="droid")


# Whatever a server may send.


def test_thousands_of_replies_that_no_sane_server_sends(fuzz_count: int) -> None:
    valid = [reply(), reply(CHUNK.tolist()), reply(CHUNK.astype(np.float64)), reply(CHUNK[:1])]
    said = iter(fuzzed(valid, count=fuzz_count))
    with scripted(lambda *_: next(said)) as port:
        # The smallest pictures, since it is the replies that are looked at.
        preset = replace(DROID, images={})
        policy = remote(port, preset, timeout_s=5)
        outcomes = tally(policy, observation(policy), fuzz_count)
    assert sum(outcomes.values()) == fuzz_count and next(said, None) is None
    assert min(outcomes["valid"], outcomes["InvalidAction"]) > fuzz_count / 100
    assert outcomes["WireError"] > fuzz_count / 10


def test_bytes_that_are_no_websocket_are_errors() -> None:
    frame = b"\x82\x7e" + struct.pack("!H", len(reply())) + reply()
    said = iter(fuzzed([frame, b"\x81\x05hello", b"\x88\x02\x03\xe8"], count=300))

    def answer(_: Any, connection: ServerConnection) -> None:
        connection.socket.sendall(next(said))
        connection.socket.shutdown(socket.SHUT_RDWR)

    with scripted(answer) as port:
        policy = remote(port, replace(DROID, images={}), timeout_s=2)
        seen = observation(policy)
        outcomes = {judge(policy, seen) for _ in range(300)}
    assert "WireError" in outcomes


# RoboArena.

CONFIG: dict[str, Any] = {
    "image_resolution": [180, 320], "needs_wrist_camera": True, "n_external_cameras": 2, "needs_stereo_camera": False,
    "needs_session_id": True, "action_space": "joint_position",
}  # fmt: skip


@contextmanager
def roboarena(config: Mapping[str, Any], infer: Callable[[Any], object]) -> Iterator[tuple[int, list[Any]]]:
    """As RoboArena's own server: an endpoint in each request, a text for a reset."""
    requests: list[Any] = []

    def answer(request: Any, connection: ServerConnection) -> bytes | str | None:
        requests.append(request)
        try:
            endpoint = request.pop("endpoint")
            return "reset successful" if endpoint == "reset" else pack(infer(request), encode_with_bytes)
        except Exception:
            connection.send(traceback.format_exc())
            connection.close(1011)
            return None

    with scripted(answer, config) as port:
        yield port, requests


def test_roboarena_is_known_by_its_greeting_which_says_enough() -> None:
    actions = np.tile(np.array([0.1] * 7 + [0.2], np.float32), (24, 1))
    with roboarena(CONFIG, lambda _: actions) as (port, requests):
        policy = named(port)
        policy.reset([start("a")])
        (chunk,) = ask(policy, "a")
    assert not isinstance(chunk, Exception)
    assert chunk.shape == (24, 8) and np.allclose(chunk[:, :7], 0.1) and (chunk[:, 7] == 1).all(), "0.2 is open"
    assert (policy.spec.action_space, policy.spec.hz, policy.spec.replan) == ("joint", 15, None)
    assert {(one.name, one.height, one.width) for one in policy.spec.cameras} == {
        ("left", 180, 320), ("right", 180, 320), ("wrist", 180, 320),
    }  # fmt: skip
    reset, infer = requests
    assert reset["session_id"].startswith("a-")
    assert infer["session_id"] == reset["session_id"] and infer["prompt"] == "a"
    for key in ("exterior_image_1_left", "exterior_image_2_left", "wrist_image_left"):
        assert infer[f"observation/{key}"].shape == (180, 320, 3)
    widths = {"joint_position": (7,), "gripper_position": (1,), "cartesian_position": (6,)}
    assert {key: infer[f"observation/{key}"].shape for key in widths} == widths


def test_roboarenas_other_forms() -> None:
    """Velocities, a map around the actions, no wrist, a square with bands, cameras counted from 0, no session."""
    config = {
        **CONFIG, "image_resolution": (224, 224), "needs_wrist_camera": False, "n_external_cameras": 1,
        "needs_session_id": False, "action_space": "joint_velocity",
    }  # fmt: skip
    with roboarena(config, lambda _: {"actions": np.ones((2, 8))}) as (port, requests):
        policy = named(port, "timeout=5&first_camera=0")
        policy.reset([start("a")])
        (chunk,) = ask(policy, "a")
    assert not isinstance(chunk, Exception) and np.allclose(chunk, [[3] * 7 + [0]] * 2)
    assert requests[0] == {}
    picture = requests[1]["observation/exterior_image_0_left"]
    assert picture.shape == (224, 224, 3) and not picture[:49].any() and picture[60:160].any()
    assert "observation/wrist_image_left" not in requests[1] and "session_id" not in requests[1]


def test_roboarena_without_sessions_has_one_episode_at_a_time() -> None:
    refusals = iter([True, False, False, False])

    def answer(request: Any, connection: ServerConnection) -> bytes | str | None:
        if request["endpoint"] == "reset":
            return FAILURE if next(refusals) else "reset successful"
        if request["prompt"] == "lost":
            connection.socket.shutdown(socket.SHUT_RDWR)
            return None
        return reply()

    with scripted(answer, {**CONFIG, "needs_session_id": False}) as port:
        policy = named(port)
        with pytest.raises(WireError, match="out of memory"):
            policy.reset([start("refused")])
        policy.reset([start("a")])
        with pytest.raises(Stop, match=r"keeps one episode at a time.*--batch 1"):
            policy.reset([start("b")])
        assert isinstance(ask(policy, "a")[0], np.ndarray), "which is not concerned"
        policy.finish(["a"])
        policy.reset([start("lost")])
        assert isinstance(ask(policy, "lost")[0], WireError)
        policy.reset([start("c")])
        assert isinstance(ask(policy, "c")[0], np.ndarray)
    with roboarena(CONFIG, lambda _: CHUNK) as (port, _):
        policy = named(port)
        policy.reset([start("a"), start("b")])
        assert all(isinstance(chunk, np.ndarray) for chunk in ask(policy, "a", "b"))


def test_roboarena_failing_is_an_error_of_its_episode() -> None:
    def infer(request: Any) -> object:
        if request["prompt"] == "bad":
            raise RuntimeError("no such plan")
        return np.zeros((1, 8), np.float32)

    with roboarena(CONFIG, infer) as (port, _):
        policy = named(port)
        a, bad, b = ask(policy, "a", "bad", "b")
    assert isinstance(a, np.ndarray) and isinstance(b, np.ndarray)
    assert isinstance(bad, WireError) and "no such plan" in str(bad)


def test_roboarena_failing_to_reset_is_an_error() -> None:
    def answer(_: Any, connection: ServerConnection) -> None:
        connection.send(FAILURE)
        connection.close(1011)

    with scripted(answer, CONFIG) as port:
        policy = named(port)
        with pytest.raises(WireError, match="out of memory"):
            policy.reset([start("a")])


def test_a_preset_that_roboarenas_server_does_not_want_is_refused() -> None:
    with roboarena(CONFIG, lambda _: None) as (port, _), pytest.raises(BadPreset) as raised:
        named(port, preset="droid")
    assert "needs observation/exterior_image_2_left" in str(raised.value)
    assert "(224, 224, 3) in the preset, but the server wants (180, 320, 3)" in str(raised.value)


@pytest.mark.parametrize("change", [{"needs_stereo_camera": True}, {"action_space": "cartesian_velocity"}])
def test_roboarena_that_wants_what_is_not_known_gets_a_draft_only(change: Mapping[str, Any]) -> None:
    with roboarena({**CONFIG, **change}, lambda _: None) as (port, _):
        server_info = remote(port).wire.describe()
        assert server_info.preset is None and server_info.draft is not None
        assert read_preset(server_info.draft).actions.keys == {"actions": 8}
        with pytest.raises(UserError, match="does not declare all conventions"):
            named(port)


def test_roboarena_that_takes_any_size_is_sent_what_its_evaluators_send() -> None:
    with roboarena({**CONFIG, "image_resolution": None}, lambda _: None) as (port, _):
        policy = named(port)
    assert {(one.height, one.width) for one in policy.spec.cameras} == {(288, 512)}


@pytest.mark.parametrize(
    "change", [{"n_external_cameras": 5}, {"image_resolution": [0, 3]}, {"image_resolution": "big"}]
)
def test_roboarena_that_describes_itself_wrongly_is_told_so(change: Mapping[str, Any]) -> None:
    with roboarena({**CONFIG, **change}, lambda _: None) as (port, _), pytest.raises(UserError, match="outer cameras"):
        named(port)


# StarVLA.

STAR: dict[str, Any] = {"action_chunk_size": 8, "model_action_dim": 7, "available_unnorm_keys": ["franka"]}


def envelope(request: Any, **fields: Any) -> bytes:
    said = {"status": "ok", "ok": True, "type": "inference_result", "request_id": request["request_id"], **fields}
    return pack(said, encode_with_bytes)


@contextmanager
def starvla(answer: Callable[[Any], bytes]) -> Iterator[tuple[int, list[Any]]]:
    requests: list[Any] = []

    def remember(request: Any, _: ServerConnection) -> bytes:
        requests.append(request)
        return answer(request)

    with scripted(remember, STAR) as port:
        yield port, requests


def star_policy(port: int, options: Mapping[str, str] | None = None) -> RemotePolicy:
    server_info = remote(port).wire.describe()
    assert server_info.draft is not None and server_info.preset is None
    preset = read_preset(server_info.draft)
    assert mismatches(preset, server_info) == []
    return remote(port, preset, options=options)


def test_starvla_is_known_by_its_greeting_and_spoken_to_in_envelopes() -> None:
    actions = np.linspace(-0.02, 0.02, 56, dtype=np.float32).reshape(1, 8, 7)
    with starvla(lambda request: envelope(request, data={"actions": actions})) as (port, requests):
        policy = star_policy(port, {"unnorm_key": "franka"})
        policy.reset([start("a")])
        (chunk,) = ask(policy, "a")
    assert np.allclose(chunk, actions[0])  # type: ignore[arg-type]
    (request,) = requests
    assert request["type"] == "infer" and request["payload"]["unnorm_key"] == "franka"
    (example,) = request["payload"]["examples"]
    assert example["lang"] == "a" and [image.shape for image in example["image"]] == [(224, 224, 3)] * 2


def test_starvla_saying_that_it_failed_is_an_error_of_that_episode_alone() -> None:
    def answer(request: Any) -> bytes:
        if request["payload"]["examples"][0]["lang"] == "bad":
            return envelope(request, status="error", ok=False, error={"message": "no unnorm_key"})
        return envelope(request, data={"actions": np.zeros((1, 8, 7))})

    with starvla(answer) as (port, requests):
        policy = star_policy(port)
        a, bad, b = ask(policy, "a", "bad", "b")
    assert isinstance(a, np.ndarray) and isinstance(b, np.ndarray)
    assert isinstance(bad, WireError) and "no unnorm_key" in str(bad) and "'error'" in str(bad)
    assert len(requests) == 3 and len({request["request_id"] for request in requests}) == 3


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"request_id": "17", "data": {"actions": np.zeros((1, 8, 7))}}, "answered request '17'"),
        ({"request_id": None, "data": {"actions": np.zeros((1, 8, 7))}}, "answered request None"),
        ({}, "the data of"),
        ({"ok": "yes", "data": {"actions": np.zeros((1, 8, 7))}}, "(status 'ok') failed: None"),
        ({"data": {"normalized_actions": np.zeros((1, 8, 7))}}, "has no actions"),
    ],
)
def test_starvla_answering_something_else_is_an_error(fields: Mapping[str, Any], words: str) -> None:
    with starvla(lambda request: envelope(request, **fields)) as (port, _):
        policy = star_policy(port)
        failed(policy, words)


def test_starvla_is_not_spoken_to_in_another_preset() -> None:
    with starvla(lambda request: b"") as (port, _), pytest.raises(BadPreset, match="the server needs lang"):
        named(port, preset="libero")


# Which of them it is.


def test_the_variant_can_be_forced() -> None:
    with scripted(lambda request, _: reply() if "endpoint" not in request else None, CONFIG) as port:
        policy = remote(port, timeout_s=1, options={"variant": "openpi"})
        assert isinstance(ask(policy, "x")[0], np.ndarray)
    with roboarena({}, lambda _: {"actions": CHUNK}) as (port, requests):
        policy = remote(port, options={"variant": "roboarena"})
        policy.reset([start("a")])
        assert isinstance(ask(policy, "a")[0], np.ndarray) and len(requests) == 2
        assert policy.wire.describe().preset is None


def test_options_that_do_not_exist_are_refused() -> None:
    with pytest.raises(UnknownName, match=r'"openpy".*"openpi"'):
        make_policy("openpi://127.0.0.1:1?variant=openpy")
    with pytest.raises(UserError, match="first_camera must be 0 or 1"):
        make_policy("openpi://127.0.0.1:1?first_camera=2")
    with pytest.raises(UserError, match='no option "speed"'):
        make_policy("openpi://127.0.0.1:1?speed=2")


def test_a_server_that_says_nothing_needs_a_preset() -> None:
    with scripted(lambda *_: reply()) as port:
        with pytest.raises(UserError, match=r"give --preset with one of .*droid.*libero"):
            named(port)
        policy = named(port, preset="droid")
        assert np.allclose(ask(policy, "x")[0], DROID.chunk({"actions": CHUNK}))  # type: ignore[arg-type]
