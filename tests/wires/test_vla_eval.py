"""The vla-eval wire, against servers and clients of vla-eval's own, of ours, and some that no one should write."""

from __future__ import annotations

import asyncio
import socket
import struct
import threading
import time
import traceback
import tracemalloc
import urllib.request
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgpack
import numpy as np
import pytest
import vla_eval
from numpy.typing import NDArray
from vla_eval.connection import Connection
from vla_eval.model_servers.base import SessionContext
from vla_eval.model_servers.predict import PredictModelServer
from vla_eval.protocol.image_codec import encode_image
from vla_eval.protocol.messages import Message, MessageType, pack_message, unpack_message
from vla_eval.protocol.numpy_codec import set_image_format
from vla_eval.specs import (
    GRIPPER_CLOSE_POS,
    IMAGE_RGB,
    LANGUAGE,
    POSITION_DELTA,
    RAW,
    ROTATION_AA,
    STATE_EEF_POS_AA_GRIP,
    DimSpec,
)  # fmt: skip
from websockets.exceptions import ConnectionClosed
from websockets.frames import Frame, Opcode
from websockets.http11 import Request as HttpRequest
from websockets.server import ServerProtocol
from websockets.sync.client import connect as connect_websocket
from websockets.sync.server import ServerConnection
from websockets.sync.server import serve as serve_websocket

from robodx.errors import UserError
from robodx.policy_contract import ActionChunk, CameraRequest, EpisodeStart, Observation, PolicySpec, make_policy
from robodx.records.trial import Trial
from robodx.running.request import Request
from robodx.running.rollout import rollout
from robodx.running.run import run
from robodx.spaces import InvalidAction
from robodx.wires.actions import Actions
from robodx.wires.base import API_KEY, Address, Unreachable, WireError
from robodx.wires.messages import Malformed, decode_picture, unpack
from robodx.wires.pictures import Picture
from robodx.wires.preset import BadPreset, Preset
from robodx.wires.preset_files import as_toml, read_preset
from robodx.wires.protocols.vla_eval import VlaEval, serve
from robodx.wires.remote import RemotePolicy, connect
from robodx.wires.serving import Endpoint
from tests.serving import in_a_thread
from tests.serving import served as served_by_command
from tests.wires.fuzzing import fuzzed, judge, observation

TASK = "control/stack_cube"
PRESET = Preset(
    name="test",
    prompt="task_description",
    images={"images.front": Picture("front", 16, 16)},
    state={"states": ("joint_positions", "gripper_opening")},
    actions=Actions(keys={"actions": 7}),
)
ACTION = np.linspace(-0.03, 0.03, 7, dtype=np.float32)
CHUNK = np.stack([ACTION, -ACTION])


def address(port: int, *, timeout_s: float = 5.0, connect_s: float = 1.0) -> Address:
    return Address("127.0.0.1", port, timeout_s=timeout_s, connect_s=connect_s)


def remote(port: int, preset: Preset = PRESET, *, timeout_s: float = 5.0) -> RemotePolicy:
    return RemotePolicy(VlaEval(address(port, timeout_s=timeout_s)), preset)


def start(episode_id: str, instruction: str = "stack the cubes") -> EpisodeStart:
    return EpisodeStart(episode_id, 0, TASK, "panda", 0, 0, instruction)


def ask(policy: RemotePolicy, *ids: str) -> Sequence[ActionChunk | Exception]:
    seen = observation(policy)
    return policy.act([replace(seen, episode_id=episode_id) for episode_id in ids])


# Servers that do what a test says.

Answer = Callable[[Message, ServerConnection], bytes | str | None]


@contextmanager
def scripted(answer: Answer, hello: Mapping[str, Any] | None = None, port: int = 0) -> Iterator[int]:
    """A server on a real socket that greets as vla-eval's do and leaves the rest to `answer`."""

    def handle(connection: ServerConnection) -> None:
        try:
            for frame in connection:
                assert isinstance(frame, bytes)
                message = unpack_message(frame)
                if message.type is MessageType.HELLO:
                    payload = {"protocol_version": 1, "harness_version": "0", **(hello or {})}
                    connection.send(pack_message(Message(MessageType.HELLO, payload, message.seq)))
                elif (reply := answer(message, connection)) is not None:
                    connection.send(reply)
        except (ConnectionClosed, OSError):
            pass

    with serve_websocket(handle, "127.0.0.1", port, compression=None, max_size=None) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield server.socket.getsockname()[1]
        finally:
            server.shutdown()
            thread.join()


@contextmanager
def one_by_one(replies: Iterator[bytes]) -> Iterator[int]:
    """The same with whatever replies, for one client at a time and quicker: it has no threads of its own for each."""

    def handle(peer: socket.socket) -> None:
        protocol = ServerProtocol(max_size=None)
        while data := peer.recv(2**16):
            protocol.receive_data(data)
            for event in protocol.events_received():
                if isinstance(event, HttpRequest):
                    protocol.send_response(protocol.accept(event))
                elif isinstance(event, Frame) and event.opcode is Opcode.BINARY:
                    message = unpack_message(bytes(event.data))
                    if message.type is MessageType.HELLO:
                        protocol.send_binary(pack_message(Message(message.type, {"protocol_version": 1}, message.seq)))
                    elif message.type is MessageType.OBSERVATION:
                        protocol.send_binary(next(replies))
            for answer in protocol.data_to_send():
                peer.sendall(answer)

    def accept() -> None:
        # Until the listener is shut down.
        with suppress(OSError):
            while True:
                peer, _ = listener.accept()
                with peer, suppress(OSError):
                    handle(peer)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=accept)
        thread.start()
        try:
            yield listener.getsockname()[1]
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            thread.join()


def to_observations(reply: Callable[[int], bytes | str | None]) -> Answer:
    return lambda message, _: reply(message.seq) if message.type is MessageType.OBSERVATION else None


def action(seq: int, actions: object = CHUNK) -> bytes:
    packed: bytes = pack_message(Message(MessageType.ACTION, {"actions": actions}, seq))
    return packed


class Watching:
    """Answers with what it sees, a row for each of two actions; refuses one instruction."""

    spec = PolicySpec(cameras=(CameraRequest("front", 16, 16),), state=("joint_positions", "gripper_opening"), replan=2)

    def __init__(self) -> None:
        self.seen: list[Observation] = []
        self.begun: list[str] = []

    def reset(self, starts: Sequence[EpisodeStart]) -> None:
        self.begun += [start.episode_id for start in starts]

    def act(self, observations: Sequence[Observation]) -> Sequence[ActionChunk | Exception]:
        self.seen += observations
        return [self._answer(one) for one in observations]

    def finish(self, ids: Sequence[str]) -> None: ...

    def _answer(self, seen: Observation) -> ActionChunk | Exception:
        if seen.instruction == "refuse":
            return RuntimeError("this one is refused")
        first = np.concatenate([seen.state["joint_positions"][:6], seen.state["gripper_opening"]])
        return np.stack([first, -first, 9 * first]).astype(np.float32)


@contextmanager
def served(policy: Watching, preset: Preset | None = None) -> Iterator[int]:
    """Our server, in a thread."""
    with in_a_thread(serve, Endpoint(policy, preset, VlaEval.names)) as port:
        yield port


@contextmanager
def in_another_process(policy: str, port: int = 0) -> Iterator[int]:
    with served_by_command(policy, "vla-eval", port=port) as server:
        yield server.port


# Ours to ours.


def test_what_is_sent_is_what_the_policy_sees_and_its_answer_comes_back() -> None:
    inside = Watching()
    with served(inside) as port:
        policy = connect(VlaEval(address(port)), "test", None)
        seen = replace(observation(policy), episode_id="one", step=3, time_s=0.15)
        policy.reset([start("one")])
        (chunk,) = policy.act([seen])
        policy.close()
    (theirs,) = inside.seen
    assert theirs.episode_id.startswith("one-")
    assert (theirs.step, theirs.time_s, theirs.instruction) == (3, 0.15, "stack the cubes")
    assert np.array_equal(theirs.images["front"], seen.images["front"])
    assert all(np.array_equal(theirs.state[part], seen.state[part]) for part in inside.spec.state)
    assert (policy.spec.cameras, policy.spec.replan) == (inside.spec.cameras, inside.spec.replan)
    assert np.array_equal(np.asarray(chunk), np.asarray(inside._answer(seen)))


def test_a_replay_over_the_wire_is_the_replay_in_process(tmp_path: Path) -> None:
    run(Request((TASK,), "expert", 2), tmp_path / "recorded")
    name = f"replay:{tmp_path / 'recorded'}"
    trials = [Trial(TASK, 2, name, seed) for seed in range(2)]
    with in_another_process(name) as port:
        policy = make_policy(f"vla-eval://127.0.0.1:{port}?timeout=20")
        over_the_wire = {e.trial_id: e for e, _ in rollout(trials, policy, batch=2)}
        assert isinstance(policy, RemotePolicy)
        policy.close()
    in_process = {e.trial_id: e for e, _ in rollout(trials, make_policy(name))}
    assert [e.outcome for e in over_the_wire.values()] == ["success", "success"]
    for trial in trials:
        assert over_the_wire[trial.id].trajectory_hash == in_process[trial.id].trajectory_hash


def test_an_episode_that_is_run_again_begins_anew_at_the_policy() -> None:
    inside = Watching()
    with served(inside) as port:
        policy = connect(VlaEval(address(port)), "test", None)
        for _ in range(2):
            policy.reset([start("one")])
            ask(policy, "one")
            ask(policy, "one")
            policy.finish(["one"])
        policy.close()
    first, again = inside.begun
    assert first != again and first.startswith("one-") and again.startswith("one-")


# Several episodes.


def test_all_are_asked_before_the_first_answers() -> None:
    together = threading.Barrier(3, timeout=5)

    def answer(message: Message, _: ServerConnection) -> bytes | None:
        if message.type is not MessageType.OBSERVATION:
            return None
        together.wait()
        return action(message.seq)

    with scripted(answer) as port:
        policy = remote(port)
        policy.reset([start(name) for name in "abc"])
        assert all(np.array_equal(np.asarray(chunk), CHUNK) for chunk in ask(policy, *"abc"))
        policy.close()


def test_a_server_that_is_busy_is_not_taken_for_one_that_is_not_there() -> None:
    """Ours, like others, does not look up before it has answered: a second client waits longer than to connect."""
    asked, go_on = threading.Event(), threading.Event()

    class Slow(Watching):
        def _answer(self, seen: Observation) -> ActionChunk | Exception:
            asked.set()
            go_on.wait(20)
            return super()._answer(seen)

    with served(Slow(), PRESET) as port:
        first, second = remote(port), VlaEval(address(port, timeout_s=20, connect_s=0.2))
        answers: list[Any] = []
        asking = threading.Thread(target=lambda: answers.extend(ask(first, "a")))
        asking.start()
        assert asked.wait(10)
        threading.Timer(1.0, go_on.set).start()
        assert second.describe().preset is not None
        asking.join()
        first.close()
        second.close()
    assert isinstance(answers[0], np.ndarray)


def test_our_server_wants_its_key_and_our_client_says_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(API_KEY, "secret")
    with served(Watching()) as port:
        policy = connect(VlaEval(address(port)), "test", None)
        policy.close()
        monkeypatch.setenv(API_KEY, "guess")
        with pytest.raises(Unreachable, match=f"refuses the connection .401 Unauthorized.: {API_KEY} is not the key"):
            VlaEval(address(port)).describe()
        monkeypatch.delenv(API_KEY)
        with pytest.raises(Unreachable, match=f"{API_KEY} must be its key$"):
            VlaEval(address(port)).describe()


def test_an_error_is_told_in_a_line_and_kept_whole() -> None:
    text = "Traceback (most recent call last):\n  File x\n    y\nRuntimeError: out of memory\nTried to allocate 3 GiB"

    def fail(seq: int) -> bytes:
        packed: bytes = pack_message(Message(MessageType.ERROR, {"error": text}, seq))
        return packed

    with scripted(to_observations(fail)) as port:
        policy = remote(port)
        (answer,) = ask(policy, "a")
        policy.close()
    assert isinstance(answer, WireError)
    assert str(answer).startswith(f"the policy server at 127.0.0.1:{port} failed: RuntimeError: out of memory. RoboDx")
    assert text in "".join(traceback.format_exception(answer)), "the records have all of it"


def test_an_error_hits_its_own_episode_alone() -> None:
    with served(Watching(), PRESET) as port:
        policy = remote(port)
        policy.reset([start("a"), start("b", "refuse"), start("c")])
        seen = observation(policy)
        observations = [replace(seen, episode_id=name) for name in "abc"]
        observations[1] = replace(observations[1], instruction="refuse")
        first, second, third = policy.act(observations)
        assert isinstance(second, WireError) and "this one is refused" in str(second)
        assert not isinstance(first, Exception) and not isinstance(third, Exception)
        assert not isinstance(ask(policy, "b")[0], Exception), "the wire mends itself"
        policy.close()


def test_connections_are_used_again_and_as_many_as_episodes_run_at_once() -> None:
    connections: set[object] = set()
    kinds: list[str] = []

    def answer(message: Message, connection: ServerConnection) -> bytes | None:
        connections.add(connection.id)
        kinds.append(message.type.value)
        return action(message.seq) if message.type is MessageType.OBSERVATION else None

    with scripted(answer) as port:
        policy = remote(port)
        for episode in ("a", "b", "c"):
            policy.reset([start(episode)])
            ask(policy, episode)
            policy.finish([episode])
        policy.reset([start("d")])
        ask(policy, "d")
        assert len(connections) == 1
        assert kinds == 3 * ["episode_start", "observation", "episode_end"] + ["episode_start", "observation"]
        for round_ in range(3):
            ids = [f"{round_}{name}" for name in "xyz"]
            policy.reset([start(episode) for episode in ids])
            ask(policy, *ids)
            policy.finish(ids)
        assert len(connections) == 4
        policy.close()


def test_a_late_error_of_an_episode_before_is_not_the_next_ones() -> None:
    starts = 0

    def answer(message: Message, _: ServerConnection) -> bytes | None:
        nonlocal starts
        if message.type is MessageType.EPISODE_START:
            starts += 1
            if starts == 1:
                return pack_message(Message(MessageType.ERROR, {"error": "late"}, message.seq))  # type: ignore[no-any-return]
        return action(message.seq) if message.type is MessageType.OBSERVATION else None

    with scripted(answer) as port:
        policy = remote(port)
        policy.reset([start("a")])
        policy.finish(["a"])
        policy.reset([start("b")])
        assert not isinstance(ask(policy, "b")[0], Exception)
        policy.close()


# Servers and clients of vla-eval's own.


class Model(PredictModelServer):  # type: ignore[misc]  # vla-eval has no types
    """Two actions for each observation; remembers what came."""

    def __init__(self, chunk_size: int | None = None, state: DimSpec = STATE_EEF_POS_AA_GRIP) -> None:
        super().__init__(chunk_size=chunk_size)
        self.came: list[dict[str, Any]] = []
        self.state = state
        self.predictions = 0

    def predict(self, obs: dict[str, Any], ctx: SessionContext) -> dict[str, Any]:
        self.came.append(obs)
        self.predictions += 1
        if obs["task_description"] == "refuse":
            raise RuntimeError("this one is refused")
        return {"actions": CHUNK + np.float32(self.predictions)}

    async def on_episode_start(self, config: dict[str, Any], ctx: SessionContext) -> None:
        if config["task"]["name"] == "impossible":
            raise RuntimeError("no such task")
        await super().on_episode_start(config, ctx)

    def get_action_spec(self) -> dict[str, DimSpec]:
        return {"position": POSITION_DELTA, "rotation": ROTATION_AA, "gripper": GRIPPER_CLOSE_POS}

    def get_observation_spec(self) -> dict[str, DimSpec]:
        return {"image": IMAGE_RGB, "wrist_image": IMAGE_RGB, "state": self.state, "language": LANGUAGE}


def test_a_server_of_vla_eval_without_a_chunk_size_answers_chunks() -> None:
    model = Model()
    with vla_eval.serve_background(model) as server:
        policy = remote(server.port)
        policy.reset([start("one")])
        seen = replace(observation(policy), episode_id="one")
        (chunk,) = policy.act([seen])
        policy.close()
    assert np.allclose(np.asarray(chunk), CHUNK + 1)
    (came,) = model.came
    assert np.array_equal(came["images"]["front"], seen.images["front"])
    assert came["task_description"] == "stack the cubes"
    both = np.concatenate([seen.state["joint_positions"], seen.state["gripper_opening"]])
    assert np.array_equal(came["states"], both) and np.array_equal(came["state"], both)


def test_a_server_of_vla_eval_with_a_chunk_size_answers_one_by_one() -> None:
    model = Model(chunk_size=2)
    with vla_eval.serve_background(model) as server:
        policy = remote(server.port)
        chunks = []
        for episode in ("one", "two"):
            policy.reset([start(episode)])
            chunks += [np.asarray(ask(policy, episode)[0]) for _ in range(3)]
            policy.finish([episode])
        policy.close()
    expected = [CHUNK[:1] + 1, CHUNK[1:] + 1, CHUNK[:1] + 2, CHUNK[:1] + 3, CHUNK[1:] + 3, CHUNK[:1] + 4]
    assert [chunk.shape for chunk in chunks] == 6 * [(1, 7)]
    assert np.allclose(chunks, expected), "what is left of a chunk does not leak into the next episode"


def test_errors_of_a_server_of_vla_eval_are_errors_of_their_episode() -> None:
    with vla_eval.serve_background(Model()) as server:
        policy = remote(server.port)
        policy.reset([start("a"), start("b", "impossible"), start("c")])
        first, second, third = ask(policy, *"abc")
        assert isinstance(second, WireError) and "no such task" in str(second)
        assert not isinstance(first, Exception) and not isinstance(third, Exception)
        refused = replace(observation(policy), episode_id="a", instruction="refuse")
        (answer,) = policy.act([refused])
        assert isinstance(answer, WireError) and "this one is refused" in str(answer)
        policy.close()


def test_a_hello_drafts_a_preset_and_refuses_one_that_cannot_fit() -> None:
    with vla_eval.serve_background(Model()) as server:
        wire = VlaEval(address(server.port))
        server_info = wire.describe()
        wire.close()
        assert server_info.preset is None and server_info.draft is not None and server_info.outputs == {"actions": 7}
        assert server_info.about["model_server"] == "Model"
        preset = read_preset(server_info.draft)
        assert "scale_m" in preset.summary and "Model" in preset.summary
        assert {key: picture.camera for key, picture in preset.images.items()} == {
            "images.front": "front", "images.wrist": "wrist",
        }  # fmt: skip
        assert preset.state == {"states": ("ee_position", "ee_rotation_vector_down", "finger_positions")}
        assert (preset.prompt, preset.actions.space) == ("task_description", "ee_delta")
        assert (preset.actions.gripper_open, preset.actions.gripper_closed) == (-1.0, 1.0)
        assert "[actions]" in as_toml(server_info.draft)
        with pytest.raises(BadPreset, match="actions is 8 wide in the preset, but 7 at the server"):
            connect(VlaEval(address(server.port)), "test", "droid")
        with pytest.raises(UserError, match="give --preset"):
            make_policy(f"vla-eval://127.0.0.1:{server.port}")


@pytest.mark.parametrize(
    ("hello", "unsaid"),
    [
        ({}, "the action space"),
        ({"action_spec": {"actions": RAW.to_dict()}}, "the form of rotations"),
        ({"action_spec": {"gripper": GRIPPER_CLOSE_POS.to_dict()}}, "the action space"),
        ({"observation_params": {"send_state": True}}, "the parts of the state"),
        ({"action_spec": {"joints": {"name": "j", "dims": 8, "format": "joint_positions"}}}, "which numbers open"),
        (
            {"action_spec": {"joints": {"dims": 5, "format": "joint_positions"}, "rotation": ROTATION_AA.to_dict()}},
            "which numbers open",
        ),
        ({"action_spec": 7, "observation_spec": [1], "observation_params": "?"}, "the action space"),
        ({"action_spec": {"position": {"format": [], "dims": "3"}}, "robodx": {"preset": 3}}, "the action space"),
    ],
)
def test_any_hello_drafts_a_preset_that_says_what_is_missing(hello: Mapping[str, Any], unsaid: str) -> None:
    with scripted(lambda message, connection: None, hello) as port:
        wire = VlaEval(address(port))
        server_info = wire.describe()
        wire.close()
    assert server_info.draft is not None
    assert unsaid in read_preset(server_info.draft).summary
    joints = "joints" in str(hello.get("action_spec"))
    assert server_info.outputs == {"actions": 8 if joints else None}


@pytest.fixture(params=["raw", "png", "jpeg"])
def image_format(request: pytest.FixtureRequest) -> Iterator[str]:
    set_image_format(request.param)
    yield request.param
    set_image_format("png")


def picture() -> NDArray[np.uint8]:
    """Smooth, as JPEG expects of the world."""
    ramp = np.linspace(0, 255, 16)
    return np.stack([np.add.outer(ramp, ramp) / 2, np.tile(ramp, (16, 1)), np.full((16, 16), 80)], 2).astype(np.uint8)


def test_a_client_of_vla_eval_is_answered_action_by_action(image_format: str) -> None:
    inside = Watching()
    sent = {
        "images": {"front": picture()}, "task_description": "stack", "state": np.arange(8, dtype=np.float64),
    }  # fmt: skip

    async def harness(port: int) -> list[Any]:
        async with Connection(f"ws://127.0.0.1:{port}", timeout=10) as connection:
            assert connection.server_info["observation_params"] == {"send_state": True}
            actions = []
            for _ in range(2):
                await connection.start_episode({"task": {"name": "stack"}})
                actions += [(await connection.act(sent))["actions"] for _ in range(4)]
                with pytest.raises(RuntimeError, match="this one is refused"):
                    await connection.act({**sent, "task_description": "refuse"})
                await connection.end_episode({})
            return actions

    with served(inside, replace(PRESET, replan=2)) as port:
        actions = asyncio.run(harness(port))
    first = np.array([0, 1, 2, 3, 4, 5, 7], dtype=np.float32)
    # Of each chunk's three actions two, then the policy is asked anew.
    assert [np.asarray(one).shape for one in actions] == 8 * [(7,)]
    assert np.allclose(actions, 4 * [first, -first])
    assert len(inside.begun) == 2
    seen = inside.seen[0]
    if image_format == "jpeg":
        assert np.abs(seen.images["front"].astype(int) - picture()).max() <= 12
    else:
        assert np.array_equal(seen.images["front"], picture())


def test_pictures_are_read_as_vla_eval_writes_them() -> None:
    rng = np.random.default_rng(0)
    noise = rng.integers(0, 256, (37, 53, 3), dtype=np.uint8)
    for form in ("png", "raw"):
        assert np.array_equal(unpack(msgpack.packb(encode_image(noise, form))), noise)
    jpeg = unpack(msgpack.packb(encode_image(picture(), "jpeg")))
    assert np.abs(jpeg.astype(int) - picture()).max() <= 12


def test_a_picture_that_claims_too_much_is_refused() -> None:
    def part(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    side = 5000
    header = part(b"IHDR", struct.pack(">II", side, side) + b"\x08\x02\x00\x00\x00")
    black = part(b"IDAT", zlib.compress(bytes(side * (3 * side + 1)), 1))
    with pytest.raises(Malformed, match="no png picture"):
        decode_picture(b"\x89PNG\r\n\x1a\n" + header + black + part(b"IEND", b""), "png")


# Servers that fail.


def test_no_server_ends_the_run_with_a_clear_word() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound but not listening: connections are refused
        port = taken.getsockname()[1]
        with pytest.raises(Unreachable, match=f"no policy server answers at 127.0.0.1:{port} after 0.3 s"):
            make_policy(f"vla-eval://127.0.0.1:{port}?connect=0.3")


@pytest.mark.parametrize(
    ("hello", "problem"),
    [
        (b"garbage", "no vla-eval server"),
        ("text", "no vla-eval server"),
        (action(1), "no vla-eval server"),
        (pack_message(Message(MessageType.HELLO, {}, 1)), "no vla-eval server"),
        (pack_message(Message(MessageType.HELLO, {"protocol_version": 2}, 1)), "version 2 of vla-eval's protocol"),
    ],
    ids=["garbage", "text", "another message", "an empty hello", "another version"],
)
def test_a_server_that_is_none_of_vla_evals_is_told_apart(hello: bytes | str, problem: str) -> None:
    def handle(connection: ServerConnection) -> None:
        try:
            connection.recv()
            connection.send(hello)
            connection.recv()
        except ConnectionClosed:
            pass

    with serve_websocket(handle, "127.0.0.1", 0, compression=None) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        with pytest.raises((UserError, Unreachable), match=problem):
            VlaEval(address(server.socket.getsockname()[1], connect_s=0.3)).describe()
        server.shutdown()
        thread.join()


def test_a_server_that_hangs_meets_its_deadline_and_all_wait_only_once() -> None:
    with scripted(lambda message, connection: None) as port:
        policy = remote(port, timeout_s=1.0)
        policy.reset([start(name) for name in "abcdefgh"])
        began = time.monotonic()
        answers = ask(policy, *"abcdefgh")
        waited = time.monotonic() - began
        policy.close()
    assert all(isinstance(answer, WireError) and "in time" in str(answer) for answer in answers)
    assert waited < 5, "one deadline, and not eight one after the other"


@pytest.mark.parametrize(
    ("reply", "kind", "problem"),
    [
        (lambda seq: "a traceback", WireError, "a traceback"),
        (lambda seq: b"\xc1garbage", WireError, "no msgpack message"),
        (lambda seq: msgpack.packb([1, 2]), WireError, "no message"),
        (lambda seq: msgpack.packb({"type": "action", "payload": 3, "seq": seq}), WireError, "not a message with"),
        (lambda seq: action(seq + 1), WireError, "answered 3 with"),
        (lambda seq: pack_message(Message(MessageType.HELLO, {}, seq)), WireError, "answered 3 with"),
        (lambda seq: pack_message(Message(MessageType.ERROR, {"error": "out of memory"}, seq)), WireError, "out of"),
        (lambda seq: pack_message(Message(MessageType.ACTION, {"plan": 1}, seq)), WireError, "has no actions"),
        (lambda seq: action(seq, CHUNK * np.nan), InvalidAction, "not finite"),
        (lambda seq: action(seq, np.zeros((2, 8), np.float32)), InvalidAction, r"not \(actions, 7\)"),
        (lambda seq: action(seq, np.zeros((0, 7), np.float32)), InvalidAction, "at least one action"),
        (lambda seq: action(seq, [[1.0], [1.0, 2.0]]), InvalidAction, "actions"),
        (lambda seq: action(seq, np.full((2, 7), 1e300)), InvalidAction, "not finite"),
    ],
)  # fmt: skip
def test_nonsense_is_an_error_that_quotes_it(
    reply: Callable[[int], bytes | str], kind: type[Exception], problem: str
) -> None:
    with scripted(to_observations(reply)) as port:
        policy = remote(port)
        policy.reset([start("one")])
        (answer,) = ask(policy, "one")
        policy.close()
    assert isinstance(answer, kind)
    with pytest.raises(kind, match=problem):
        raise answer


def test_a_server_that_closes_in_the_middle_is_an_error() -> None:
    def answer(message: Message, connection: ServerConnection) -> None:
        if message.type is MessageType.OBSERVATION:
            connection.close(1011, "out of memory")

    with scripted(answer) as port:
        policy = remote(port)
        policy.reset([start("one")])
        (reply,) = ask(policy, "one")
        policy.close()
    assert isinstance(reply, WireError) and "1011 out of memory" in str(reply)


def test_a_gigabyte_is_refused_unread() -> None:
    sent = 0

    def answer(message: Message, connection: ServerConnection) -> None:
        nonlocal sent
        if message.type is MessageType.OBSERVATION:
            connection.socket.sendall(b"\x82\x7f" + struct.pack(">Q", 2**30))
            for _ in range(2**10):
                connection.socket.sendall(bytes(2**20))
                sent += 1

    with scripted(answer) as port:
        policy = remote(port)
        policy.reset([start("one")])
        tracemalloc.start()
        (reply,) = ask(policy, "one")
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        policy.close()
    assert isinstance(reply, WireError)
    assert peak < 32 * 2**20 and sent < 100


def test_a_server_that_comes_back_serves_the_next_episode() -> None:
    with in_another_process("still") as port:
        policy = make_policy(f"vla-eval://127.0.0.1:{port}?timeout=5&connect=30")
        policy.reset([start("one"), start("idle")])
        seen = replace(observation(policy), episode_id="one")
        assert not isinstance(policy.act([seen])[0], Exception)
        policy.finish(["idle"])
    assert isinstance(policy.act([seen])[0], WireError)
    policy.finish(["one"])
    with in_another_process("still", port):
        policy.reset([start("two")])
        assert not isinstance(policy.act([replace(seen, episode_id="two")])[0], Exception)
        assert isinstance(policy, RemotePolicy)
        policy.close()


def test_thousands_of_replies_that_no_server_should_send(fuzz_count: int) -> None:
    # On a new connection: 1 is the hello, 2 the start, 3 the observation.
    valid = [action(3), action(3, CHUNK.tolist()), pack_message(Message(MessageType.ERROR, {"error": "why"}, 3))]
    replies = fuzzed(valid, count=fuzz_count)
    with one_by_one(replies) as port:
        policy = remote(port, timeout_s=0.2)
        seen = observation(policy)
        outcomes: dict[str, int] = {}
        for _ in range(fuzz_count):
            outcome = judge(policy, seen)
            outcomes[outcome] = outcomes.get(outcome, 0) + 1
            policy.close()
    assert sum(outcomes.values()) == fuzz_count
    assert outcomes.keys() == {"valid", "WireError", "InvalidAction"}, "each must have occurred"


# Clients that fail.


def test_our_server_survives_what_clients_send() -> None:
    message = pack_message(Message(MessageType.OBSERVATION, {"task_description": "x", "state": CHUNK}, 5))
    with served(Watching(), PRESET) as port:
        place = f"ws://127.0.0.1:{port}"
        with connect_websocket(place, compression=None) as client:
            # A message that cannot be answered is told, and the connection stays; after one that is none it ends.
            client.send(message)
            assert "the request has no images.front" in unpack_message(client.recv(timeout=10)).payload["error"]
            client.send("text")
            assert "text" in unpack_message(client.recv(timeout=10)).payload["error"]
            with pytest.raises(ConnectionClosed, match="1011"):
                client.recv(timeout=10)
        frames = [b"", b"\xc1", *fuzzed([message], count=200)]
        while frames:
            with connect_websocket(place, compression=None) as client, suppress(ConnectionClosed):
                while frames:
                    client.send(frames.pop())
        with connect_websocket(place, compression=None) as client:
            client.send(pack_message(Message(MessageType.HELLO, {}, 2**40)))
            assert unpack_message(client.recv(timeout=10)).type is MessageType.HELLO
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=5) as health:
            assert health.status == 200
