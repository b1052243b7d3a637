"""Attacks every protocol that `robodx serve` speaks; afterwards it must still answer a good client."""

from __future__ import annotations

import contextlib
import os
import random
import re
import resource
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

from hostile.judging import ROOT, Case, Defect, Ending, Result, defects_of
from hostile.processes import call, end_group, lingering, read_log, start
from hostile.transports import Silent, Transport, WebSockets, connect, drop, listen_until, recorded, transport_of
from hostile.wire_messages import bytes_below, message
from robodx.wires.protocols.base import served_protocols

PART = "wires"
MESSAGES = 10_000
# Of a server with a key fewer: most are refused before they are read.
MESSAGES_WITH_KEY = 2_000
KEY = "an open secret"
# Every so many messages some bytes that are none, and a connection that is begun and left.
BELOW, HALF_OPEN = 8, 25
HELD = 40
SLOW = 10
MIB = 2**20
# A server may have open: its own files, and the clients of that moment.
MOST_FILES, FILES_LEFT = 256, 32
# How much its memory may grow for good, and at most. Its largest request is of 256 MiB, and Python may keep one that
# nobody needs until it next looks; what is kept more than once grows without bound.
GROWTH_MIB, PEAK_MIB = 320, 640
UNFINISHED, UNFINISHED_MIB, ROUNDS = 4, 250, 2
MOST_LOG = 256 * 1024
# Of what comes back on a connection: a few replies, and an error that quotes a part of what came.
LONGEST_ANSWER = 2**18
GOOD_WITHIN_S = 45.0
CLOSED_WITHIN_S = 20.0
# No server says this.
NEVER = b"\x00 never \x00"
POLICY = '''
"""A policy that needs the state and stands still."""
import numpy as np
from robodx import PolicySpec, policy

@policy("stander")
class Stander:
    """Stands still."""
    spec = PolicySpec(state=("ee_pose", "joint_positions", "gripper_opening"))
    def reset(self, starts): pass
    def finish(self, ids): pass
    def act(self, observations):
        return [np.array([[0, 0, 0, 0, 0, 0, 1]] * 5, dtype=np.float32) for _ in observations]
'''


def attempts(rng: random.Random, *, is_quick: bool) -> Iterator[tuple[str, Callable[[], Result]]]:
    for protocol in served_protocols():
        for key, count in ((None, MESSAGES), (KEY, MESSAGES_WITH_KEY)):
            seed = rng.random()
            few = count // 10 if is_quick else count
            name = f"{protocol}{' with a key' if key else ''}"
            yield name, partial(Attack(protocol, name, key, random.Random(seed)).made, few)


class Attack:
    """One server, from its start to its end."""

    def __init__(self, protocol: str, name: str, key: str | None, rng: random.Random) -> None:
        self._protocol, self._name, self._key, self._rng = protocol, name, key, rng
        self._defects: list[Defect] = []
        self._env = {"ROBODX_API_KEY": key} if key else {}

    def made(self, count: int) -> Result:
        begun, sent, note = time.monotonic(), 0, ""
        with tempfile.TemporaryDirectory(prefix="hostile-wire-") as folder, tempfile.TemporaryFile() as log:
            (Path(folder) / "stander.py").write_text(POLICY)
            words = ("serve", "stander", "--protocol", self._protocol, "--port", "0", "--plugin", "stander.py")
            case = Case(PART, self._name, words, serves="Serving", cwd=Path(folder), env=self._env)
            process = start(words, cwd=Path(folder), log=log.fileno(), env=self._env)
            try:
                port = _open_port(process, log.fileno())
                resource.prlimit(process.pid, resource.RLIMIT_NOFILE, (MOST_FILES, MOST_FILES))
                sent, note = self._attack(process, port, count, Path(folder))
            except (Silent, OSError) as error:
                self._found("not answered", f"{type(error).__name__}: {error}")
            finally:
                code = _stopped(process)
                left = len(lingering(process.pid))
                end_group(process)
                said = read_log(log.fileno())
                size = os.fstat(log.fileno()).st_size
            self._defects += defects_of(case, Ending(code, said, left_behind=left))
            if size > MOST_LOG:
                self._found("log", f"{size >> 10} KiB of log for {sent} messages")
        line = f"make hostile ARGS=\"--only wires --match '{self._name}'\"  # the server: {case.line}"
        shown = said[-3000:] if self._defects else ""
        return Result(PART, self._name, line, tuple(self._defects), time.monotonic() - begun, sent, shown, note)

    def _attack(self, process: subprocess.Popen[bytes], port: int, count: int, folder: Path) -> tuple[int, str]:
        transport = transport_of(port)
        with recorded(port) as (door, streams):
            self._check_good_client(door, folder, "before the attack")
            valid = [one for stream in list(streams) for one in transport.split(bytes(stream)) if one]
        if not valid:
            raise OSError(f"a good client sent no message over {transport.name} that could be bent")
        if self._key:
            self._try_without_key(transport, port, valid)
        if isinstance(transport, WebSockets):
            self._try_as_a_page(transport, port)
            self._try_to_stay(transport, port)
        before = _memory_mib(process.pid, "VmRSS")
        sent = self._send(transport, port, valid, count)
        sent += sum(self._leave_unfinished(transport, port) for _ in range(ROUNDS))
        self._exhaust_files(transport, port)
        self._check_good_client(port, folder, "after the attack")
        after, peak = _memory_mib(process.pid, "VmRSS"), _memory_mib(process.pid, "VmHWM")
        files = len(os.listdir(f"/proc/{process.pid}/fd"))
        if after - before > GROWTH_MIB:
            self._found("memory", f"{before:.0f} MiB before, {after:.0f} MiB after")
        if peak - before > PEAK_MIB:
            self._found("memory", f"{before:.0f} MiB before, {peak:.0f} MiB at most")
        if files > FILES_LEFT:
            self._found("files", f"{files} open files when all clients had gone")
        return sent, f"{transport.name}, {before:.0f} → {after:.0f} MiB, at most {peak:.0f}; {files} open files"

    def _send(self, transport: Transport, port: int, valid: Sequence[bytes], count: int) -> int:
        """All the malformed messages; an answer or an end must come of each that is framed."""
        rng, held = self._rng, list[socket.socket]()
        slow = [connect(port) for _ in range(SLOW)]
        drip = transport.opening(None) or b"{" * 100
        silent = 0
        for number in range(count):
            # Half of those who attack a server with a key know it.
            key = self._key if number % 2 else None
            if number % BELOW == 0:
                _throw(port, bytes_below(rng, transport, valid, key))
            elif number % HALF_OPEN == 0:
                held.append(connect(port))
                held[-1].sendall(drip[: rng.randint(0, len(drip))])
                if len(held) > HELD:
                    drop(held.pop(0))
            else:
                # After none, some or all of what a good client says first.
                before = list(valid[: rng.randint(0, min(3, len(valid)))]) if rng.random() < 0.3 else []
                try:
                    said = transport.say(port, [*before, message(rng, valid)], key)
                    if len(said) > LONGEST_ANSWER:
                        self._found("long answer", f"message {number} is answered with {len(said)} bytes")
                except Silent as error:
                    silent += 1
                    if silent <= 3:
                        self._found("not answered", f"message {number}: {error}")
                    if silent > 20:
                        raise
            if number % 100 == 0:
                for index, peer in enumerate(slow):
                    with contextlib.suppress(OSError):
                        peer.sendall(drip[number // 100 % len(drip) : number // 100 % len(drip) + 1 + index % 2])
        for peer in (*held, *slow):
            drop(peer)
        return count

    def _leave_unfinished(self, transport: Transport, port: int) -> int:
        """Several large messages at once, none of which ever ends."""
        peers = [connect(port) for _ in range(UNFINISHED)]
        piece = b"a" * MIB
        for peer in peers:
            with contextlib.suppress(OSError):
                peer.sendall(transport.opening(self._key))
                peer.sendall(transport.huge(256 * MIB - 1))
        alive = dict.fromkeys(peers, UNFINISHED_MIB)
        while alive:
            for peer, left in list(alive.items()):
                peer.settimeout(2.0)
                try:
                    peer.sendall(piece)
                    alive[peer] = left - 1
                except OSError:
                    alive[peer] = 0
                if not alive[peer]:
                    del alive[peer]
        for peer in peers:
            drop(peer)
        return UNFINISHED

    def _exhaust_files(self, transport: Transport, port: int) -> None:
        """More half-open connections than the server may have files, all of them kept while a good client comes."""
        peers = []
        for _ in range(MOST_FILES + 44):
            peer = socket.socket()
            peer.setblocking(False)
            with contextlib.suppress(BlockingIOError):
                peer.connect(("127.0.0.1", port))
            peers.append(peer)
        try:
            ending = self._good_client(port, None)
            if ending.code != 0:
                self._found("not answered", f"while {len(peers)} clients say nothing: {ending.said.strip()[-300:]}")
        finally:
            for peer in peers:
                drop(peer)

    def _try_without_key(self, transport: Transport, port: int, valid: Sequence[bytes]) -> None:
        """A good request without the key, and with another, must not be answered with actions."""
        for key in (None, "guess"):
            texts = [one.replace(KEY.encode(), b"another secret"[: len(KEY)]) for one in valid]
            said = transport.say(port, texts, key)
            if b"action" in said:
                self._found("key", f"a client with the key {key!r} was answered: {said[-100:]!r}")

    def _try_as_a_page(self, transport: WebSockets, port: int) -> None:
        """Any page that a browser shows may try to speak to this machine."""
        peer = connect(port)
        try:
            # A page has no key.
            peer.sendall(transport.opening(None, "Origin: http://evil.example\r\n"))
            said = listen_until(peer, b"\r\n\r\n")
            if b" 101 " in said[:20]:
                self._found("origin", "a page of http://evil.example is let in")
        finally:
            drop(peer)

    def _try_to_stay(self, transport: WebSockets, port: int) -> None:
        """Who breaks the protocol and does not go is closed."""
        peer = connect(port)
        try:
            peer.sendall(transport.opening(self._key) + transport.frame_of(0x3, b"no such frame"))
            listen_until(peer, NEVER, CLOSED_WITHIN_S)
        except Silent:
            self._found("kept", f"a connection is still open {CLOSED_WITHIN_S:g} s after an error")
        finally:
            drop(peer)

    def _check_good_client(self, port: int, folder: Path, when: str) -> None:
        ending = self._good_client(port, folder)
        if ending.code != 0:
            self._found("not answered", f"a good client, {when}: {ending.said.strip()[-300:]}")

    def _good_client(self, port: int, folder: Path | None) -> Ending:
        address = f"{self._protocol}://127.0.0.1:{port}?timeout=15&connect={GOOD_WITHIN_S:g}"
        return call(
            Case(PART, "check", ("check", address), cwd=folder or ROOT, env=self._env, deadline_s=2 * GOOD_WITHIN_S)
        )

    def _found(self, kind: str, detail: str) -> None:
        self._defects.append(Defect(kind, detail))


def _open_port(process: subprocess.Popen[bytes], log: int) -> int:
    end = time.monotonic() + 60
    while process.poll() is None and time.monotonic() < end:
        if found := re.search(r"Serving \S+ at \S+:(\d+) ", read_log(log)):
            return int(found[1])
        time.sleep(0.1)
    raise OSError(f"the server does not open: {read_log(log)[-300:]}")


def _throw(port: int, data: bytes) -> None:
    """Send bytes, give the server a moment to choke on them, and go."""
    peer = connect(port)
    try:
        peer.sendall(data)
        peer.settimeout(0.002)
        peer.recv(1000)
    except OSError:
        pass
    finally:
        drop(peer)


def _stopped(process: subprocess.Popen[bytes]) -> int | None:
    """The code with which it ends at Ctrl-C, or with which it ended before."""
    if process.poll() is None:
        process.send_signal(signal.SIGINT)
    try:
        code = process.wait(20)
    except subprocess.TimeoutExpired:
        return None
    return code


def _memory_mib(process: int, name: str) -> float:
    for line in Path(f"/proc/{process}/status").read_text().splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1]) / 1024
    raise OSError(f"the server has no {name}: it has ended")
