"""GR00T's wire: peers made of pyzmq and msgpack alone, our own server in another process, faults on real sockets."""

from __future__ import annotations

import io
import json
import re
import resource
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import msgpack
import numpy as np
import pytest
import zmq
from numpy.typing import NDArray

from robodx.errors import Stop, UserError
from robodx.policy_contract import (
    ActionChunk,
    CameraRequest,
    EpisodeStart,
    Observation,
    Policy,
    PolicySpec,
    make_policy,
)
from robodx.records.trial import Trial
from robodx.registry import UnknownName
from robodx.running.request import Request
from robodx.running.rollout import rollout
from robodx.running.run import run
from robodx.spaces import InvalidAction
from robodx.wires import zeromq
from robodx.wires.agreement import mismatches
from robodx.wires.base import API_KEY, Address, ServerInfo, Unreachable, WireError
from robodx.wires.preset import BadPreset
from robodx.wires.preset_files import as_toml, find_preset, read_preset
from robodx.wires.protocols import gr00t
from robodx.wires.remote import RemotePolicy
from robodx.wires.serving import Endpoint
from tests.wires.fuzzing import fuzzed, judge, observation
from tests.wires.ipv6 import needs_ipv6

TASK = "control/stack_cube"
Answer = Callable[[dict[str, Any]], Any]
# What a peer may do in place of an answer.
HANG, CLOSE = object(), object()
HORIZON = 16

# Arrays as GR00T writes them, by hand.


def as_npy(array: NDArray[Any]) -> dict[Any, Any]:
    """GR00T's own form up to N1.6: the bytes of a .npy file, format 1.0."""
    text = f"{{'descr': '{array.dtype.str}', 'fortran_order': False, 'shape': {array.shape}, }}"
    header = text.ljust((len(text) + 11 + 63) // 64 * 64 - 11) + "\n"
    npy = b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + array.tobytes()
    return {"__ndarray_class__": True, "as_npy": npy}


def as_nd(array: NDArray[Any]) -> dict[Any, Any]:
    """msgpack-numpy's, as N1.7 answers."""
    return {
        b"nd": True, b"type": array.dtype.str, b"kind": b"", b"shape": list(array.shape), b"data": array.tobytes(),
    }  # fmt: skip


ENCODINGS = [as_npy, as_nd]


def from_wire(value: dict[Any, Any]) -> Any:
    return np.load(io.BytesIO(value["as_npy"]), allow_pickle=False) if "__ndarray_class__" in value else value


# Peers: what real servers check and answer, for the keys of the preset gr00t_droid.

VIDEO, STATE = ("exterior_image_1_left", "wrist_image_left"), {"joint_position": 7, "gripper_position": 1}
LANGUAGE = "annotation.language.language_instruction"
JOINTS = np.linspace(-1, 1, HORIZON * 7, dtype=np.float32).reshape(HORIZON, 7)
GRIPPER = (np.arange(HORIZON, dtype=np.float32)[:, None] % 2).astype(np.float32)
# Its 1 is a closed gripper, ours an open one.
EXPECTED = np.concatenate([JOINTS, 1 - GRIPPER], axis=1)


def config(prefix: bool, wrap: Callable[[Any], Any], **changed: Any) -> dict[str, Any]:
    keys: dict[str, Any] = {"video": [*VIDEO], "state": [*STATE], "action": [*STATE], "language": [LANGUAGE]}
    steps: dict[str, Any] = {"video": [0], "state": [0], "action": list(range(HORIZON)), "language": [0]}
    for name, value in changed.items():
        keys[name], steps[name] = value
    return {
        name: wrap(
            {
                "delta_indices": steps[name],
                "modality_keys": [f"{name}.{key}" if prefix and name != "language" else key for key in keys[name]],
            }
        )
        for name in keys
    }


def actions(encode: Callable[[NDArray[Any]], Any], *, prefix: bool, batch: bool) -> dict[str, Any]:
    blocks = {"joint_position": JOINTS, "gripper_position": GRIPPER}
    return {
        f"action.{key}" if prefix else key: encode(block[None] if batch else block) for key, block in blocks.items()
    }


def n1_5(encode: Callable[[NDArray[Any]], Any]) -> Answer:
    """Flat, a time but no batch; its modality config is JSON as text; no reset."""

    def answer(request: dict[str, Any]) -> Any:
        endpoint = request.get("endpoint", "get_action")
        if endpoint == "ping":
            return {"status": "ok", "message": "Server is running"}
        if endpoint == "get_modality_config":
            return config(True, lambda one: {"__ModalityConfig_class__": True, "as_json": json.dumps(one)})
        if endpoint != "get_action":
            return {"error": f"Unknown endpoint: {endpoint}"}
        data = request["data"]
        assert all(data[f"video.{key}"].shape == (1, 180, 320, 3) for key in VIDEO)
        assert all(data[f"state.{key}"].shape == (1, width) for key, width in STATE.items())
        assert isinstance(data[LANGUAGE], list) and isinstance(data[LANGUAGE][0], str)
        return actions(encode, prefix=True, batch=False)

    return answer


def n1_6(encode: Callable[[NDArray[Any]], Any], *, sim: bool = False) -> Answer:
    """Nested, batch and time, checked as strictly as the real one; or flat, behind the wrapper for simulations."""

    def get_action(observation: dict[str, Any], options: Any = None) -> Any:
        for modality, keys in (("video", VIDEO), ("state", STATE)):
            for key in keys:
                if sim and f"{modality}.{key}" not in observation:
                    raise AssertionError(f"Video key '{modality}.{key}' must be in observation")
                value = observation[f"{modality}.{key}"] if sim else observation[modality][key]
                assert value.dtype == (np.uint8 if modality == "video" else np.float32)
                assert value.shape == ((1, 1, 180, 320, 3) if modality == "video" else (1, 1, STATE[key]))
        text = observation[LANGUAGE] if sim else observation["language"][LANGUAGE]
        assert isinstance(text, list) and isinstance(text[0] if sim else text[0][0], str)
        return [actions(encode, prefix=sim, batch=True), {}]

    def reset(options: Any = None) -> Any:
        return {}

    def answer(request: dict[str, Any]) -> Any:
        endpoint = request.get("endpoint", "get_action")
        if endpoint == "ping":
            return {"status": "ok", "message": "Server is running"}
        if endpoint == "get_modality_config":
            return config(False, lambda one: {"__ModalityConfig_class__": True, "as_json": one})
        data = request.get("data", {})
        return get_action(**data) if endpoint == "get_action" else reset(**data)

    return answer


class Peer:
    """A replying socket in a thread. What the answer raises is answered as an error, as GR00T does."""

    def __init__(self, answer: Answer, port: int = 0) -> None:
        self.seen: list[dict[str, Any]] = []
        self._answer, self._is_closed = answer, False
        self._context = zmq.Context()
        self._socket: zmq.Socket[bytes] = self._context.socket(zmq.REP)
        self._socket.setsockopt(zmq.LINGER, 0)
        self._socket.bind(f"tcp://127.0.0.1:{port or '*'}")
        self.port = int(self._socket.getsockopt_string(zmq.LAST_ENDPOINT).rpartition(":")[2])
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    def close(self) -> None:
        self._is_closed = True
        self._thread.join()
        if not self._context.closed:
            self._context.term()

    def _serve(self) -> None:
        while not self._is_closed:
            if not self._socket.poll(20):
                continue
            request = msgpack.unpackb(self._socket.recv(), object_hook=from_wire)
            self.seen.append(request)
            try:
                reply = self._answer(request)
            except Exception as error:
                reply = {"error": str(error)}
            if reply is CLOSE:
                break
            if reply is HANG:
                while not self._is_closed:
                    time.sleep(0.01)
                break
            self._socket.send(reply if isinstance(reply, bytes) else msgpack.packb(reply))
        self._socket.close(0)


@contextmanager
def talking_to(answer: Answer, options: str = "", preset: str = "gr00t_droid") -> Iterator[tuple[RemotePolicy, Peer]]:
    with closing(Peer(answer)) as peer:
        policy = make_policy(f"gr00t://127.0.0.1:{peer.port}{options}", preset)
        assert isinstance(policy, RemotePolicy)
        with closing(policy):
            yield policy, peer


def instead(*replies: Any, encode: Callable[[NDArray[Any]], Any] = as_npy) -> Answer:
    """An N1.6 server whose actions are these, one after the other, and then as they should be."""
    usual, left = n1_6(encode), list(replies)
    return lambda request: left.pop(0) if left and request["endpoint"] == "get_action" else usual(request)


def begin(policy: Policy, episode_id: str = "episode") -> None:
    policy.reset([EpisodeStart(episode_id, 0, TASK, "panda", 0, 0, "stack the cubes")])


def ask(policy: Policy) -> ActionChunk | Exception:
    begin(policy)
    (answer,) = policy.act([observation(policy)])
    return answer


# Versions and encodings.


@pytest.mark.parametrize("encode", ENCODINGS)
@pytest.mark.parametrize(
    ("server", "options", "endpoints"),
    [
        (n1_5, "", ["ping", "get_modality_config", "get_action"]),
        (n1_6, "", ["ping", "get_modality_config", "reset", "get_action"]),
        (lambda e: n1_6(e, sim=True), "?version=n1.6-sim", ["ping", "get_modality_config", "reset", "get_action"]),
    ],
    ids=["n1.5", "n1.6", "n1.6-sim"],
)
def test_a_peer_of_each_version_is_understood(
    server: Callable[[Any], Answer], options: str, endpoints: list[str], encode: Callable[[NDArray[Any]], Any]
) -> None:
    with talking_to(server(encode), options) as (policy, peer):
        answer = ask(policy)
    assert not isinstance(answer, Exception), answer
    np.testing.assert_allclose(answer, EXPECTED, atol=1e-6)
    assert [request["endpoint"] for request in peer.seen] == endpoints
    assert all("api_token" not in request for request in peer.seen)


def test_a_peer_sees_the_pictures_the_state_and_the_words() -> None:
    with talking_to(n1_6(as_npy)) as (policy, peer):
        begin(policy)
        seen = observation(policy)
        policy.act([seen])
    data = peer.seen[-1]["data"]
    assert data["options"] is None
    sent = data["observation"]
    np.testing.assert_array_equal(sent["video"]["exterior_image_1_left"][0, 0], seen.images["left"])
    np.testing.assert_array_equal(sent["video"]["wrist_image_left"][0, 0], seen.images["wrist"])
    np.testing.assert_array_equal(sent["state"]["joint_position"][0, 0], seen.state["joint_positions"])
    np.testing.assert_allclose(sent["state"]["gripper_position"][0, 0], 1 - seen.state["gripper_opening"])
    assert sent["language"] == {LANGUAGE: [[seen.instruction]]}
    assert peer.seen[-2] == {"endpoint": "reset", "data": {"options": None}}


@pytest.mark.parametrize(
    "wrap",
    [
        lambda one: one,
        lambda one: {"__ModalityConfig__": True, "as_json": one},
        lambda one: {"__ModalityConfig_class__": True, "as_json": json.dumps(one)},
    ],
    ids=["plain", "n1.7", "text"],
)
def test_a_modality_config_is_read_in_every_wrapping(wrap: Callable[[Any], Any]) -> None:
    usual = n1_6(as_npy)
    with talking_to(lambda r: config(False, wrap) if r["endpoint"] == "get_modality_config" else usual(r)) as (p, _):
        assert p.server_info.outputs == {"action.joint_position": None, "action.gripper_position": None}
        assert not isinstance(ask(p), Exception)


def without_description(request: dict[str, Any]) -> Any:
    if request["endpoint"] in ("get_modality_config", "reset", "ping"):
        return {"error": f"Unknown endpoint: {request['endpoint']}"}
    return n1_6(as_npy)(request)


def test_a_server_without_a_description_needs_its_version_said() -> None:
    with talking_to(without_description, "?version=n1.7") as (policy, _):
        assert not isinstance(ask(policy), Exception)
    with pytest.raises(UserError, match=r"\?version=n1\.5"), talking_to(without_description):
        pass
    with pytest.raises(UnknownName, match=r"n1\.6-sim"):
        make_policy("gr00t://localhost?version=n2")


def test_a_server_behind_the_wrapper_for_simulations_is_told_apart_by_its_complaint() -> None:
    with talking_to(n1_6(as_npy, sim=True)) as (policy, _):
        answer = ask(policy)
    assert isinstance(answer, WireError) and "?version=n1.6-sim" in str(answer)


def test_the_api_token_is_sent_and_its_lack_ends_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    usual = n1_6(as_npy)

    def guarded(request: dict[str, Any]) -> Any:
        return usual(request) if request.get("api_token") == "secret" else {"error": "Unauthorized: Invalid API token"}

    with pytest.raises(Stop, match=API_KEY), talking_to(guarded):
        pass
    monkeypatch.setenv(API_KEY, "secret")
    with talking_to(guarded) as (policy, _):
        assert not isinstance(ask(policy), Exception)


# What a server says of itself.


def described(answer: Any) -> ServerInfo:
    usual = n1_6(as_npy)
    with closing(Peer(lambda r: answer if r["endpoint"] == "get_modality_config" else usual(r))) as peer:
        wire = gr00t.Gr00t(Address("127.0.0.1", peer.port))
        with closing(wire):
            return wire.describe()


def test_a_history_of_frames_is_refused_before_the_first_step() -> None:
    usual = n1_6(as_npy)
    answer = config(False, lambda one: one, video=(VIDEO, [-15, 0]))
    with (
        pytest.raises(BadPreset, match=r"video\.wrist_image_left is \(180, 320, 3\).*wants \(2, None, None, 3\)"),
        talking_to(lambda r: answer if r["endpoint"] == "get_modality_config" else usual(r)),
    ):
        pass


def test_other_keys_than_the_preset_has_are_refused_before_the_first_step() -> None:
    usual = n1_6(as_npy)
    answer = config(False, lambda one: one, state=(["eef_9d"], [0]), action=(["eef_9d"], [0]))
    with (
        pytest.raises(BadPreset, match=r"needs state\.eef_9d.*the preset reads action\.joint_position"),
        talking_to(lambda r: answer if r["endpoint"] == "get_modality_config" else usual(r)),
    ):
        pass


def test_a_draft_of_familiar_keys_is_a_preset() -> None:
    axes = ["x", "y", "z", "roll", "pitch", "yaw", "gripper"]
    answer = config(
        False, lambda one: one, video=(["image", "wrist_image"], [0]), state=(axes, [0]), action=(axes, [0])
    )
    server_info = described(answer)
    assert server_info.draft is not None
    preset = read_preset(server_info.draft)
    assert [picture.camera for picture in preset.images.values()] == ["front", "wrist"]
    assert preset.prompt == LANGUAGE and preset.actions.space == "ee_delta"
    assert preset.state["state.roll, state.pitch, state.yaw"] == ("ee_rotation_vector_down",), "as LIBERO's"
    assert mismatches(preset, server_info) == []
    assert 'camera = "wrist"' in as_toml(server_info.draft)


def test_a_draft_says_what_is_to_be_completed() -> None:
    server_info = described(
        config(False, lambda one: one, video=(["ego_view"], [0]), action=(["legs", "gripper"], [0]))
    )
    assert server_info.draft is not None
    assert server_info.draft["images"]["video.ego_view"]["camera"] == "front"
    assert "the camera of video.ego_view" in server_info.draft["summary"]
    assert "the width of action.legs" in server_info.draft["summary"]
    with pytest.raises(BadPreset, match="need a width each"):
        read_preset(server_info.draft)


@pytest.mark.parametrize(
    "answer", [[1, 2], {"video": 3}, {"video": {"as_json": "{"}}, {"state": {"modality_keys": [1]}}]
)
def test_a_nonsensical_description_is_an_error(answer: Any) -> None:
    with pytest.raises(Unreachable, match="modality config"):
        described(answer)


@pytest.mark.parametrize("name", ["gr00t_droid", "gr00t_libero"])
def test_a_shipped_preset_leads_there_and_back(name: str) -> None:
    preset = find_preset(name)
    policy = RemotePolicy(gr00t.Gr00t(Address("nowhere", 1)), preset)
    seen = observation(policy)
    if "ee_pose" in seen.state:
        seen.state["ee_pose"][3:] = [1, 0, 0, 0]
    back = preset.observation(preset.request(seen, None), episode_id=seen.episode_id, step=0, time_s=0.0)
    assert back.instruction == seen.instruction
    for camera, image in seen.images.items():
        np.testing.assert_array_equal(back.images[camera], image)
    for part, numbers in seen.state.items():
        np.testing.assert_allclose(back.state[part], numbers, atol=1e-5)
    width = 8 if name == "gr00t_droid" else 7
    chunk = np.linspace(-0.05, 0.05, 3 * width, dtype=np.float32).reshape(3, width)
    chunk[:, -1] = [0, 1, 0]
    np.testing.assert_allclose(preset.chunk(preset.reply(chunk)), chunk, atol=1e-6)


# Faults.


def test_no_server_ends_the_run_with_a_clear_message() -> None:
    with socket.create_server(("127.0.0.1", 0)) as reserved:
        port = reserved.getsockname()[1]
    with pytest.raises(Unreachable, match=rf"127\.0\.0\.1:{port}.*0\.3 s"):
        make_policy(f"gr00t://127.0.0.1:{port}?connect=0.3", "gr00t_droid")


@pytest.mark.parametrize("first", [b"", b"HTTP/1.1 400 Bad Request\r\n\r\n", b"\xff" * 100])
def test_what_speaks_no_zeromq_is_no_server(first: bytes) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        is_over = threading.Event()

        def greet() -> None:
            other.settimeout(0.05)
            taken = []
            while not is_over.is_set():
                try:
                    taken.append(other.accept()[0])
                    taken[-1].sendall(first)
                except OSError:
                    continue
            for one in taken:
                one.close()

        thread = threading.Thread(target=greet)
        thread.start()
        try:
            with pytest.raises(Unreachable, match="ZeroMQ"):
                make_policy(f"gr00t://127.0.0.1:{other.getsockname()[1]}?connect=0.5", "gr00t_droid")
        finally:
            is_over.set()
            thread.join()


@pytest.mark.parametrize(
    ("reply", "kind", "words"),
    [
        ({"error": "CUDA out of memory"}, WireError, "CUDA out of memory"),
        (HANG, WireError, "did not answer in time"),
        (CLOSE, WireError, "closed the connection"),
        (b"ERROR", WireError, "not a map of actions|no msgpack"),
        (b"Traceback (most recent call last)", WireError, "no msgpack"),
        (b"", WireError, "no msgpack"),
        ([1, 2], WireError, "not a map of actions"),
        ([{"base": as_npy(JOINTS[None])}, {}], WireError, "no action.joint_position"),
        ([{**actions(as_npy, prefix=False, batch=True), "gripper_position": as_npy(GRIPPER[None] * np.float32("nan"))},
          {}], InvalidAction, "not finite"),
        ([{**actions(as_nd, prefix=False, batch=True), "joint_position": as_nd(JOINTS[None, :, :6])}, {}],
         InvalidAction, r"\(actions, 7\)"),
        ([{key: as_nd(np.zeros((1, 0, w), np.float32)) for key, w in STATE.items()}, {}],
         InvalidAction, "at least one action"),
        ([{**actions(as_nd, prefix=False, batch=True), "joint_position": as_nd(np.zeros((2, 16, 7), np.float32))}, {}],
         InvalidAction, r"\(2, 16, 7\)"),
        ([{"joint_position": {b"nd": True, b"type": "|O", b"kind": b"O", b"shape": [1], b"data": b"cos\n_exit\n"}}, {}],
         WireError, "type"),
    ],
    ids=["refuses", "hangs", "closes", "ERROR", "text", "empty", "no-map", "other-keys", "nan", "width", "no-actions",
         "batch", "object"],
)  # fmt: skip
def test_a_fault_is_an_error_of_that_query_and_the_next_works(reply: Any, kind: type[Exception], words: str) -> None:
    with closing(Peer(instead(reply))) as peer:
        policy = make_policy(f"gr00t://127.0.0.1:{peer.port}?timeout={1 if reply is HANG else 30}", "gr00t_droid")
        assert isinstance(policy, RemotePolicy)
        with closing(policy):
            answer = ask(policy)
            assert isinstance(answer, kind), answer
            assert re.search(words, str(answer)), answer
            if reply is HANG or reply is CLOSE:
                peer.close()
                with closing(Peer(n1_6(as_npy), peer.port)):
                    assert not isinstance(ask(policy), Exception)
            else:
                assert not isinstance(ask(policy), Exception)


def test_a_server_that_is_busy_is_not_taken_for_one_that_is_not_there() -> None:
    """A replier does not look up before it has answered: a second client waits longer than to connect."""
    asked, go_on, usual = threading.Event(), threading.Event(), n1_6(as_npy)

    def slow(request: dict[str, Any]) -> Any:
        if request["endpoint"] == "get_action":
            asked.set()
            go_on.wait(20)
        return usual(request)

    with talking_to(slow) as (policy, peer):
        answers: list[Any] = []
        asking = threading.Thread(target=lambda: answers.append(ask(policy)))
        asking.start()
        assert asked.wait(10)
        threading.Timer(1.0, go_on.set).start()
        second = gr00t.Gr00t(Address("127.0.0.1", peer.port, timeout_s=20, connect_s=0.2))
        with closing(second):
            assert second.describe().outputs is not None
        asking.join()
    assert isinstance(answers[0], np.ndarray)


def test_an_error_is_told_in_a_line() -> None:
    with talking_to(instead({"error": "Traceback (most recent call last):\n  x\nValueError: bad\n"})) as (policy, peer):
        answer = ask(policy)
    assert isinstance(answer, WireError)
    told = f"the policy server at 127.0.0.1:{peer.port} failed: ValueError: bad. RoboDx sent video."
    assert str(answer).startswith(told)


def test_a_late_reply_is_never_taken_for_the_next_one() -> None:
    """The first answer comes after its deadline, and is of another kind than the second."""
    usual, replies = n1_6(as_npy), 0

    def answer(request: dict[str, Any]) -> Any:
        nonlocal replies
        if request["endpoint"] == "get_action":
            replies += 1
            if replies == 1:
                time.sleep(1.5)
                return constant(9)
        return usual(request)

    with talking_to(answer, "?timeout=1&connect=20") as (policy, _):
        assert isinstance(ask(policy), WireError)
        np.testing.assert_allclose(np.asarray(ask(policy)), EXPECTED, atol=1e-6)


@contextmanager
def routing(handle: Callable[[dict[str, Any], Callable[[Any], None]], None]) -> Iterator[RemotePolicy]:
    """A server that answers when and as often as it likes, which a replying socket cannot."""
    context = zmq.Context()
    router: zmq.Socket[bytes] = context.socket(zmq.ROUTER)
    router.setsockopt(zmq.LINGER, 0)
    port = router.bind_to_random_port("tcp://127.0.0.1")
    is_over = threading.Event()

    def serve() -> None:
        while not is_over.is_set():
            if router.poll(20):
                client, _, data = router.recv_multipart()

                def reply(answer: Any, client: bytes = client) -> None:
                    router.send_multipart([client, b"", msgpack.packb(answer)])

                handle(msgpack.unpackb(data, object_hook=from_wire), reply)

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        policy = make_policy(f"gr00t://127.0.0.1:{port}?timeout=5", "gr00t_droid")
        assert isinstance(policy, RemotePolicy)
        with closing(policy):
            yield policy
    finally:
        is_over.set()
        thread.join()
        router.close(0)
        context.term()


def constant(number: float, length: int = 2) -> list[Any]:
    return [{key: as_npy(np.full((1, length, w), number, np.float32)) for key, w in STATE.items()}, {}]


def test_a_reply_that_nobody_asked_for_is_thrown_away() -> None:
    usual = n1_6(as_npy)

    def handle(request: dict[str, Any], reply: Callable[[Any], None]) -> None:
        reply(usual(request))
        if request["endpoint"] == "get_action":
            reply(constant(9))

    with routing(handle) as policy:
        for _ in range(3):
            np.testing.assert_allclose(np.asarray(ask(policy)), EXPECTED, atol=1e-6)
            time.sleep(0.05)


def test_a_message_of_a_gigabyte_is_refused_unread() -> None:
    """A server by hand, as libzmq would have to hold the message itself."""
    frames: list[int] = []

    def send(connection: socket.socket, data: bytes) -> None:
        connection.sendall(b"\x01\x00" + b"\x02" + struct.pack(">Q", len(data)) + data)

    def serve(listener: socket.socket) -> None:
        while not frames:
            connection, _ = listener.accept()
            with connection, suppress(ConnectionError, IndexError):
                connection.sendall(b"\xff" + bytes(8) + b"\x7f\x03\x00" + b"NULL".ljust(20, b"\0") + bytes(32))
                connection.sendall(b"\x04\x19\x05READY\x0bSocket-Type" + struct.pack(">I", 3) + b"REP")
                stream = connection.makefile("rb")
                if len(stream.read(64)) < 64:
                    # Somebody looked whether the port is open.
                    continue
                stream.read(stream.read(2)[1])
                while True:
                    stream.read(2)
                    is_long = stream.read(1)[0] & 2
                    size = struct.unpack(">Q", stream.read(8))[0] if is_long else stream.read(1)[0]
                    request = msgpack.unpackb(stream.read(size), object_hook=from_wire)
                    if request["endpoint"] != "get_action":
                        send(connection, msgpack.packb(n1_6(as_npy)(request)))
                        continue
                    frames.append(0)
                    connection.sendall(b"\x01\x00" + b"\x02" + struct.pack(">Q", 2**30))
                    for _ in range(2**10):
                        connection.sendall(bytes(2**20))
                        frames[0] += 2**20

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=serve, args=(listener,))
        thread.start()
        policy = make_policy(f"gr00t://127.0.0.1:{listener.getsockname()[1]}", "gr00t_droid")
        assert isinstance(policy, RemotePolicy)
        with closing(policy):
            before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            answer = ask(policy)
            grown_mib = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 2**10
        thread.join()
    assert isinstance(answer, WireError) and "16 MiB" in str(answer)
    assert frames[0] < 2**26
    assert grown_mib < 100


def test_a_server_that_dies_and_comes_back_serves_the_next_episode() -> None:
    first = Peer(n1_6(as_npy))
    policy = make_policy(f"gr00t://127.0.0.1:{first.port}?connect=10", "gr00t_droid")
    assert isinstance(policy, RemotePolicy)
    with closing(policy):
        assert not isinstance(ask(policy), Exception)
        first.close()
        second: list[Peer] = []
        revival = threading.Timer(0.4, lambda: second.append(Peer(n1_6(as_npy), first.port)))
        revival.start()
        try:
            assert not isinstance(ask(policy), Exception)
        finally:
            revival.join()
            second[0].close()


def test_no_reply_whatever_breaks_the_client(fuzz_count: int) -> None:
    valid = [
        msgpack.packb([actions(as_npy, prefix=False, batch=True), {}]),
        msgpack.packb([actions(as_nd, prefix=False, batch=True), {"time": 0.1}]),
        msgpack.packb(actions(as_nd, prefix=True, batch=False)),
        msgpack.packb({"error": "no"}),
    ]
    replies, usual = fuzzed(valid, count=fuzz_count), n1_6(as_npy)
    outcomes = set()
    with talking_to(lambda r: next(replies) if r["endpoint"] == "get_action" else usual(r), "?timeout=5") as (
        policy,
        _,
    ):
        # What is sent does not matter here, and small is fast.
        small = Observation(
            "episode",
            0,
            0.0,
            "x",
            {k: np.zeros(n, np.float32) for k, n in (("joint_positions", 7), ("gripper_opening", 1))},
        )
        policy.preset = replace(policy.preset, images={})
        begin(policy)
        for _ in range(fuzz_count):
            outcomes.add(judge(policy, small))
    assert next(replies, None) is None
    assert outcomes >= {"valid", "WireError", "InvalidAction", "Refused"}


# Several episodes at once.


def test_queries_of_several_episodes_are_under_way_together() -> None:
    """The server answers none before several have come, and each with a number of its own."""
    usual, waiting = n1_6(as_npy), []

    def handle(request: dict[str, Any], reply: Callable[[Any], None]) -> None:
        if request["endpoint"] != "get_action":
            reply(usual(request))
            return
        waiting.append(request["data"]["observation"]["language"][LANGUAGE][0][0])
        if len(waiting) == 4:
            for text in waiting:
                reply(constant(float(text)))
            waiting.clear()

    with routing(handle) as policy:
        seen = observation(policy)
        answers = policy.act([replace(seen, episode_id=f"e{i}", instruction=str(i)) for i in range(20)])
    assert [np.asarray(one)[0, 0] for one in answers] == list(range(20))


def test_what_a_server_refuses_is_the_error_of_that_episode_alone() -> None:
    usual = n1_6(as_npy)

    def answer(request: dict[str, Any]) -> Any:
        if request["endpoint"] == "get_action" and request["data"]["observation"]["language"][LANGUAGE] == [["fail"]]:
            return {"error": "not this one"}
        return usual(request)

    with talking_to(answer) as (policy, _):
        seen = observation(policy)
        batch = [replace(seen, episode_id=f"e{i}", instruction="fail" if i in (3, 11) else "go") for i in range(20)]
        answers = policy.act(batch)
    assert [isinstance(one, WireError) for one in answers] == [i in (3, 11) for i in range(20)]


def test_after_the_connection_is_lost_only_the_rest_errs() -> None:
    usual, calls = n1_6(as_npy), 0

    def answer(request: dict[str, Any]) -> Any:
        nonlocal calls
        calls += request["endpoint"] == "get_action"
        if calls < 3:
            return usual(request)
        # The two replies before must have left: what a server closes on is lost with it.
        time.sleep(0.5)
        return CLOSE

    with talking_to(answer) as (policy, _):
        seen = observation(policy)
        answers = policy.act([replace(seen, episode_id=f"e{i}") for i in range(5)])
    assert [isinstance(one, WireError) for one in answers] == [False, False, True, True, True]


# Our own server.


class Echo:
    """Answers what it saw, so that all of it can be compared; some episodes it refuses."""

    spec = PolicySpec(
        action_space="ee_delta", cameras=(CameraRequest("front", 32, 48, depth=True),), state=("joint_positions",)
    )

    def reset(self, starts: Sequence[EpisodeStart]) -> None: ...

    def act(self, observations: Sequence[Observation]) -> Sequence[ActionChunk]:
        return [self._act(one) for one in observations]

    def finish(self, ids: Sequence[str]) -> None: ...

    def _act(self, seen: Observation) -> ActionChunk:
        if seen.instruction == "fail":
            raise ValueError(f"{seen.episode_id} was told to")
        numbers = [
            seen.step, seen.images["front"][1, 2, 0], seen.depth["front"][3, 4], *seen.state["joint_positions"][:2],
            len(seen.instruction), 0.25,
        ]  # fmt: skip
        return np.array([numbers, numbers], dtype=np.float32)


class Asleep(Echo):
    """Busy for good."""

    def _act(self, seen: Observation) -> ActionChunk:
        time.sleep(600)
        return super()._act(seen)


def serve_in_a_process(channel: Connection, policy: str | None, key: str | None, host: str) -> None:
    if key is not None:
        import os

        os.environ[API_KEY] = key
    own: dict[str | None, type[Echo]] = {None: Echo, "asleep": Asleep}
    inside = own[policy]() if policy in own else make_policy(str(policy))
    gr00t.serve(Endpoint(inside, names=gr00t.Gr00t.names), host, 0, channel.send)


@contextmanager
def our_server(policy: str | None = None, key: str | None = None, host: str = "localhost") -> Iterator[int]:
    context = get_context("spawn")
    here, there = context.Pipe()
    process = context.Process(target=serve_in_a_process, args=(there, policy, key, host))
    process.start()
    there.close()
    try:
        assert here.poll(60)
        yield here.recv()
    finally:
        process.terminate()
        process.join()
        process.close()
        here.close()


@pytest.fixture(scope="module")
def echo_port() -> Iterator[int]:
    with our_server() as port:
        yield port


def echo_observation(index: int = 0, instruction: str = "stack the cubes") -> Observation:
    rng = np.random.default_rng(index)
    return Observation(
        f"e{index}", index, index / 20, instruction, {"joint_positions": rng.random(7, dtype=np.float32)},
        {"front": rng.integers(0, 255, (32, 48, 3), dtype=np.uint8)},
        {"front": rng.random((32, 48), dtype=np.float32)},
    )  # fmt: skip


@pytest.mark.parametrize("options", ["", "?version=n1.5", "?version=n1.6-sim"])
def test_our_client_and_our_server_understand_each_other(echo_port: int, options: str) -> None:
    policy = make_policy(f"gr00t://localhost:{echo_port}{options}")
    assert isinstance(policy, RemotePolicy)
    with closing(policy):
        assert policy.spec.cameras == Echo.spec.cameras
        seen = [echo_observation(i, "fail" if i in (2, 9) else "stack") for i in range(12)]
        for one in seen:
            begin(policy, one.episode_id)
        answers = policy.act(seen)
        policy.finish([one.episode_id for one in seen])
    for one, answer in zip(seen, answers, strict=True):
        if one.instruction == "fail":
            assert isinstance(answer, WireError)
            assert f"{one.episode_id}-" in str(answer) and "was told to" in str(answer)
        else:
            np.testing.assert_array_equal(np.asarray(answer), Echo()._act(one))


class Asker:
    """A requesting client made of pyzmq and msgpack alone."""

    def __init__(self, port: int) -> None:
        self._context = zmq.Context()
        self._socket: zmq.Socket[bytes] = self._context.socket(zmq.REQ)
        self._socket.setsockopt(zmq.LINGER, 0)
        self._socket.setsockopt(zmq.RCVTIMEO, 10_000)
        self._socket.connect(f"tcp://127.0.0.1:{port}")

    def call(self, endpoint: str, **rest: Any) -> Any:
        return self.send(msgpack.packb({"endpoint": endpoint, **rest}))

    def send(self, data: bytes) -> Any:
        self._socket.send(data)
        return msgpack.unpackb(self._socket.recv(), object_hook=from_wire)

    def close(self) -> None:
        self._socket.close(0)
        self._context.term()


TEXT = "annotation.human.action.task_description"


@pytest.mark.parametrize("encode", ENCODINGS)
def test_our_server_answers_foreign_clients_in_the_form_they_ask_in(
    echo_port: int, encode: Callable[[NDArray[Any]], Any]
) -> None:
    one, two = echo_observation(0), echo_observation(1)
    expected = np.stack([Echo()._act(one), replace_step(Echo()._act(two), 0)])
    arrays: dict[str, NDArray[Any]] = {
        "video.front": np.stack([one.images["front"], two.images["front"]])[:, None],
        "video.depth_front": np.stack([one.depth["front"], two.depth["front"]])[:, None],
        "state.joint_positions": np.stack([one.state["joint_positions"], two.state["joint_positions"]])[:, None],
    }
    words = [one.instruction] * 2
    nested: dict[str, Any] = {"video": {}, "state": {}, "language": {TEXT: [[text] for text in words]}}
    for key, value in arrays.items():
        modality, _, name = key.partition(".")
        nested[modality][name] = encode(value)
    with closing(Asker(echo_port)) as asker:
        # A new client is in a new episode, at step 0.
        reply = asker.call("get_action", data={"observation": nested, "options": None})
        assert reply[1] == {}
        np.testing.assert_array_equal(reply[0]["actions"], expected)
        assert asker.call("reset", data={"options": None}) == {}
        flat = {**{key: encode(value) for key, value in arrays.items()}, TEXT: words}
        reply = asker.call("get_action", data={"observation": flat})
        np.testing.assert_array_equal(reply[0]["action.actions"], expected)
        assert asker.call("reset", data={}) == {}
        single = {**{key: encode(value[0]) for key, value in arrays.items()}, TEXT: words[:1]}
        reply = asker.call("get_action", data=single)
        np.testing.assert_array_equal(reply["action.actions"], expected[0])
        # Without a reset the episode goes on.
        reply = asker.call("get_action", data=single)
        np.testing.assert_array_equal(reply["action.actions"], replace_step(expected[0], 2))


def replace_step(chunk: ActionChunk, step: int) -> ActionChunk:
    changed = chunk.copy()
    changed[:, 0] = step
    return changed


def test_our_server_describes_itself_in_gr00t_s_words(echo_port: int) -> None:
    with closing(Asker(echo_port)) as asker:
        assert asker.call("ping")["status"] == "ok"
        answer = asker.call("get_modality_config")
    assert answer["video"]["__ModalityConfig_class__"]
    assert answer["video"]["as_json"] == {"delta_indices": [0], "modality_keys": ["front", "depth_front"]}
    assert answer["language"]["as_json"]["modality_keys"] == [TEXT]


def test_our_server_survives_whatever_it_is_sent(echo_port: int) -> None:
    array = as_npy(np.zeros((1, 1, 7), np.float32))
    valid = [
        msgpack.packb({"endpoint": "get_action", "data": {"observation": {"state": {"joint_positions": array}}}}),
        msgpack.packb({"endpoint": "get_action", "data": {"state.joint_positions": array, TEXT: ["x"]}}),
        msgpack.packb({"endpoint": "reset", "data": {"options": None}}),
        msgpack.packb({"endpoint": "ping"}),
    ]
    with closing(Asker(echo_port)) as asker:
        for request in fuzzed(valid, count=1000):
            asker.send(request)
        for endpoint in ("kill", "unheard_of"):
            assert "error" in asker.call(endpoint)
        assert asker.call("ping")["status"] == "ok"


def get_action(batch: int) -> bytes:
    observation = {
        "video": {
            "front": as_npy(np.zeros((batch, 1, 32, 48, 3), np.uint8)),
            "depth_front": as_npy(np.zeros((batch, 1, 32, 48), np.float32)),
        },
        "state": {"joint_positions": as_npy(np.zeros((batch, 1, 7), np.float32))},
        "language": {TEXT: [["stack"]] * batch},
    }
    packed: bytes = msgpack.packb({"endpoint": "get_action", "data": {"observation": observation}})
    return packed


def test_what_a_busy_server_is_sent_waits_at_the_client() -> None:
    """And does not fill the memory of the server, which reads a few requests ahead."""
    context = zmq.Context()
    with our_server("asleep") as port:
        client = context.socket(zmq.DEALER)
        client.setsockopt(zmq.LINGER, 0)
        client.setsockopt(zmq.SNDHWM, 1)
        client.connect(f"tcp://127.0.0.1:{port}")
        client.send_multipart([b"", get_action(1)])
        sent = 0
        while sent < 100 and client.poll(1000, zmq.POLLOUT):
            client.send_multipart([b"", bytes(2**20)])
            sent += 1
        client.close(0)
    context.term()
    assert sent < 60


def test_a_batch_larger_than_any_is_refused_before_the_policy_is_asked() -> None:
    server = gr00t._Server(Endpoint(Echo(), names=gr00t.Gr00t.names), None)
    assert isinstance(msgpack.unpackb(server.answer(b"client", get_action(256))), list)
    refused = msgpack.unpackb(server.answer(b"client", get_action(257)))
    assert "a batch of 257, but at most 256" in refused["error"]


def test_a_policy_that_stops_does_not_stop_our_server() -> None:
    class Relay(Echo):
        def _act(self, seen: Observation) -> ActionChunk:
            raise Stop("upstream is gone")

    server = gr00t._Server(Endpoint(Relay(), names=gr00t.Gr00t.names), None)
    assert msgpack.unpackb(server.answer(b"client", get_action(1))) == {"error": "Stop: upstream is gone"}


@needs_ipv6
def test_a_server_at_an_address_of_ipv6_is_reached() -> None:
    with our_server(host="::1") as port:
        policy = make_policy(f"gr00t://[::1]:{port}?connect=5")
        assert isinstance(policy, RemotePolicy)
        with closing(policy):
            begin(policy, "e0")
            assert isinstance(policy.act([echo_observation()])[0], np.ndarray)


@pytest.mark.parametrize("said", [b"", b"\xff\0\0\0", b"GET / HT", b"\x01\0" * 9])
def test_who_does_not_say_what_it_is_in_time_is_let_go(said: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(zeromq, "HANDSHAKE_S", 0.1)
    with zmq.Context() as context, context.socket(zmq.ROUTER) as router:
        zeromq.limit_silence(router)
        port = router.bind_to_random_port("tcp://127.0.0.1")
        with socket.create_connection(("127.0.0.1", port), timeout=5) as client:
            client.sendall(said)
            with suppress(ConnectionResetError):
                while client.recv(2**12):
                    pass
        with context.socket(zmq.DEALER) as known:
            known.connect(f"tcp://127.0.0.1:{port}")
            known.send(b"hello")
            assert router.poll(5000), "and who did is not"


def test_our_server_keeps_its_token() -> None:
    with our_server(key="secret") as port, closing(Asker(port)) as asker:
        assert asker.call("ping") == {"error": "Unauthorized: Invalid API token"}
        assert asker.call("ping", api_token="secret")["status"] == "ok"


def test_a_preset_in_other_words_cannot_be_served() -> None:
    class Still:
        spec = find_preset("droid").spec

        def reset(self, starts: Sequence[EpisodeStart]) -> None: ...
        def act(self, observations: Sequence[Observation]) -> Sequence[ActionChunk]:
            return []

        def finish(self, ids: Sequence[str]) -> None: ...

    with pytest.raises(UserError, match=r"observation/exterior_image_1_left.*video\.NAME"):
        gr00t.serve(Endpoint(Still(), find_preset("droid")), "localhost", 0, lambda port: None)


def test_a_taken_port_is_a_clear_mistake(echo_port: int) -> None:
    with pytest.raises(UserError, match=f"cannot serve at localhost:{echo_port}"):
        gr00t.serve(Endpoint(Echo(), names=gr00t.Gr00t.names), "localhost", echo_port, lambda port: None)


def test_a_replay_over_the_wire_moves_bit_for_bit_as_in_process(tmp_path: Path) -> None:
    recorded = tmp_path / "run"
    run(Request((TASK,), "expert", 2), recorded)
    name = f"replay:{recorded}"
    trials = [Trial(TASK, 2, name, seed) for seed in range(2)]
    here = {e.trial_id: e.trajectory_hash for e, _ in rollout(trials, make_policy(name))}
    with our_server(name) as port:
        policy = make_policy(f"gr00t://localhost:{port}")
        assert isinstance(policy, RemotePolicy)
        with closing(policy):
            episodes = [episode for episode, _ in rollout(trials, policy, batch=2)]
    assert all(episode.success for episode in episodes)
    assert {episode.trial_id: episode.trajectory_hash for episode in episodes} == here
