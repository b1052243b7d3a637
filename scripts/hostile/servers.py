"""Attacks RoboDx's clients: policy servers whose answers cost much to read, and chat servers that never end well."""

from __future__ import annotations

import contextlib
import json
import random
import socket
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import msgpack
import zmq
from websockets.exceptions import ConnectionClosed
from websockets.sync.server import ServerConnection, serve

from hostile.costly import CHATS, Said, costly
from hostile.judging import Case, Defect, Result, defects_of
from hostile.places import Places
from hostile.processes import call

PART = "servers"
# Of each wire: values that its greeting, and that its answers are.
GREETINGS, ANSWERS = 4, 12
# An error quotes a part of what came.
MOST_SAID = 20_000
HELLO = {"protocol_version": 1}
Value = Callable[[], Any]


def attempts(places: Places, rng: random.Random) -> Iterator[tuple[str, Callable[[], Result]]]:
    for wire, (answering, options, preset) in WIRES.items():
        for number in range(GREETINGS + ANSWERS):
            what = "greets" if number < GREETINGS else "answers"
            value = partial(costly, random.Random(rng.random()))
            server = partial(answering, what, value)
            words = ("check", f"{wire}://127.0.0.1:{{port}}{options}", "--preset", preset)
            name = f"{wire} {what} with what is costly ({number})"
            yield name, partial(_tried, Case(PART, name, words, cwd=places.folder), server)
    for what, said in CHATS.items():
        judged = (
            "fairness", "primitive/press_switch:target colour", "--sample", "1", "--out", places.fresh(),
            "--judge", "http://127.0.0.1:{port}/v1", "--model", "m", "--judge-timeout", "0.5",
        )  # fmt: skip
        name = f"a chat server {what}"
        yield name, partial(_tried, Case(PART, name, judged, cwd=places.folder, deadline_s=120.0), partial(_chat, said))


def _tried(case: Case, server: Callable[[], contextlib.AbstractContextManager[int]]) -> Result:
    with server() as port:
        case = replace(case, words=tuple(word.format(port=port) for word in case.words))
        ending = call(case)
    found = defects_of(case, ending)
    if len(ending.said) > MOST_SAID:
        found.append(Defect("long", f"{len(ending.said)} letters of output"))
    said = ending.said[-3000:] if found else ""
    return Result(PART, case.name, case.line, tuple(found), ending.seconds, said=said)


@contextlib.contextmanager
def _openpi(what: str, value: Value) -> Iterator[int]:
    def handle(peer: ServerConnection) -> None:
        with contextlib.suppress(ConnectionClosed):
            peer.send(msgpack.packb({"a": value(), "robodx": {"preset": value()}} if what == "greets" else {}))
            for _ in peer:
                peer.send(msgpack.packb({"actions": value()}))

    with _websockets(handle) as port:
        yield port


@contextlib.contextmanager
def _vla_eval(what: str, value: Value) -> Iterator[int]:
    def handle(peer: ServerConnection) -> None:
        with contextlib.suppress(ConnectionClosed):
            for frame in peer:
                asked = msgpack.unpackb(frame, strict_map_key=False)
                if asked["type"] == "hello":
                    payload = {**HELLO, **({"action_spec": value(), "a": value()} if what == "greets" else {})}
                    peer.send(msgpack.packb({"type": "hello", "payload": payload, "seq": asked["seq"]}))
                elif asked["type"] == "observation":
                    payload = {"actions": value()}
                    peer.send(msgpack.packb({"type": "action", "payload": payload, "seq": asked["seq"]}))

    with _websockets(handle) as port:
        yield port


@contextlib.contextmanager
def _websockets(handle: Callable[[ServerConnection], None]) -> Iterator[int]:
    with serve(handle, "127.0.0.1", 0, compression=None, max_size=None) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server.socket.getsockname()[1]


@contextlib.contextmanager
def _gr00t(what: str, value: Value) -> Iterator[int]:
    context = zmq.Context()
    replier = context.socket(zmq.REP)
    port = replier.bind_to_random_port("tcp://127.0.0.1")

    is_over = threading.Event()

    def answer() -> None:
        while not is_over.is_set():
            if replier.poll(100):
                asked = msgpack.unpackb(replier.recv(), strict_map_key=False).get("endpoint")
                is_costly = asked == "get_action" or (asked == "get_modality_config" and what == "greets")
                replier.send(msgpack.packb({"action.a": value(), "video": value()} if is_costly else {}))

    thread = threading.Thread(target=answer, daemon=True)
    thread.start()
    try:
        yield port
    finally:
        is_over.set()
        thread.join()
        context.destroy(0)


@contextlib.contextmanager
def _openvla(what: str, value: Value) -> Iterator[int]:
    body = json.dumps(_as_json(value())).encode()
    with _chat(Said([b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body), body])) as port:
        yield port


def _as_json(value: Any) -> Any:
    """With arrays in the form of json-numpy, and without bytes."""
    if isinstance(value, dict):
        plain = {key.decode() if isinstance(key, bytes) else key: _as_json(one) for key, one in value.items()}
        return {"__numpy__": "AAAA", **plain} if "dtype" in plain else plain
    return repr(value) if isinstance(value, bytes) else value


@contextlib.contextmanager
def _chat(said: Said) -> Iterator[int]:
    """Says the same to whoever sends a request."""
    door = socket.create_server(("127.0.0.1", 0))

    def speak(peer: socket.socket) -> None:
        with peer, contextlib.suppress(OSError):
            peer.settimeout(60.0)
            peer.recv(2**16)
            for piece in said.pieces:
                peer.sendall(piece)
                time.sleep(said.every_s)
            peer.shutdown(socket.SHUT_WR)
            # What is still sent is read: a reset would take away what was said.
            while peer.recv(2**16):
                pass

    def accept() -> None:
        with contextlib.suppress(OSError):
            while True:
                peer, _ = door.accept()
                threading.Thread(target=speak, args=(peer,), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    try:
        yield door.getsockname()[1]
    finally:
        door.close()


TIMES = "?connect=3&timeout=5"
WIRES = {
    "openpi": (_openpi, TIMES, "droid"),
    "vla-eval": (_vla_eval, TIMES, "libero"),
    "gr00t": (_gr00t, f"{TIMES}&version=n1.6", "gr00t_libero"),
    "openvla+http": (_openvla, TIMES, "openvla"),
}
