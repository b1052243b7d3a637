"""A policy in a separate process that all workers share: one copy of the model for any number of workers.

A process that dies is started again at the same port, where the workers' connections find it. What was under way is
lost, and run again.
"""

from __future__ import annotations

import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from math import ceil
from multiprocessing import get_context
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from types import FrameType
from typing import NamedTuple

from robodx.errors import Leave, Stop, UserError
from robodx.output import print_text
from robodx.policy_contract import opened
from robodx.running.worker_pool import MAX_ATTEMPTS
from robodx.running.workers import STOP_S, Failure, Job, begin, settle, start
from robodx.users_code import really_exit
from robodx.wires.protocols import openpi
from robodx.wires.remote import Declared, declared
from robodx.wires.serving import Endpoint

# Between two looks at whether the process lives.
GLANCE_S = 0.1
# How long a worker waits for the process to come back, beside what it took to build the policy.
PATIENCE_S = 20.0


class OutOfProcessPolicy(NamedTuple):
    """A job whose policy is reached at an address of this machine, and what the policy says of itself."""

    job: Job
    policy: Declared


@contextmanager
def policy_process(job: Job) -> Iterator[OutOfProcessPolicy]:
    """Build the job's policy in another process, for the time of the block."""
    host = _PolicyProcess(job)
    try:
        begun_s = time.monotonic()
        said = host.start()
        if isinstance(said, Failure):
            raise said.again()
        # Twice, for the machine is busier now.
        patience_s = ceil(PATIENCE_S + 2 * (time.monotonic() - begun_s))
        host.watch()
        address = f"openpi://127.0.0.1:{said.port}?connect={patience_s}"
        try:
            yield OutOfProcessPolicy(replace(job, policy=address, preset=None, is_out_of_process=True), said.policy)
        except Stop:
            if host.trouble is None:
                raise
            # What workers say is about a port that nobody typed.
            raise Stop(host.trouble) from None
    finally:
        host.close()


class _Ready(NamedTuple):
    port: int
    policy: Declared


class _Process(NamedTuple):
    process: SpawnProcess
    connection: Connection

    def heard(self) -> _Ready | Failure | None:
        """What it has said, if anything."""
        try:
            if self.connection.poll():
                said: _Ready | Failure = self.connection.recv()
                return said
        except (EOFError, OSError):
            pass
        return None

    def stop(self) -> None:
        """Politely at first, so that the policy is closed."""
        try:
            self.process.terminate()
            self.process.join(STOP_S)
        finally:
            self.process.kill()
            self.process.join()
            self.connection.close()


class _PolicyProcess:
    """The policy's process, and a thread that starts it again. Once that watches, it alone touches the process."""

    def __init__(self, job: Job) -> None:
        self._job, self._port = job, 0
        self._current: _Process | None = None
        # Why there is no policy to be asked at the moment.
        self.trouble: str | None = None
        self._is_closing = threading.Event()
        self._watcher: threading.Thread | None = None

    def start(self) -> _Ready | Failure:
        """Start the process, and wait until it serves or has failed."""
        context = get_context("spawn")
        here, there = context.Pipe()
        # No daemon: those may have no children, and a policy may want some.
        process = context.Process(target=_live, args=(self._job, self._port, there))
        start(process)
        self._current = current = _Process(process, here)
        there.close()
        while process.is_alive() and not self._is_closing.is_set() and not here.poll(GLANCE_S):
            pass
        said = current.heard()
        if isinstance(said, _Ready):
            self._port = said.port
            return said
        current.stop()
        why = f'the process of the policy "{self._job.policy}" died while it was built'
        return said or Failure(UserError, f"{why}, with exit code {process.exitcode}")

    def watch(self) -> None:
        self._watcher = threading.Thread(target=self._keep_alive, name="robodx-policy-process", daemon=True)
        self._watcher.start()

    def close(self) -> None:
        self._is_closing.set()
        try:
            if self._watcher is not None:
                self._watcher.join()
        finally:
            if self._current is not None:
                self._current.stop()

    def _keep_alive(self) -> None:
        while not self._is_closing.wait(GLANCE_S):
            assert self._current is not None
            if self._current.process.is_alive():
                continue
            died = f"the policy's process died with exit code {self._current.process.exitcode}"
            last_words = self._current.heard()
            if isinstance(last_words, Failure):
                died += f" ({last_words.text})"
            self.trouble = f"{died}, and was not back in time"
            print_text(f"{died[0].upper()}{died[1:]}: it is started again.", file=sys.stderr)
            self._current.stop()
            if not self._start_again(died):
                return

    def _start_again(self, died: str) -> bool:
        for _ in range(MAX_ATTEMPTS):
            said = self.start()
            if isinstance(said, _Ready):
                self.trouble = None
                return True
            self.trouble = f"{died}, and could not be started again: {said.text}"
            if self._is_closing.is_set():
                break
        return False


def _live(job: Job, port: int, connection: Connection) -> None:
    settle()
    signal.signal(signal.SIGTERM, _leave)
    try:
        begin(job, 0)
        with opened(job.policy, job.preset) as policy:
            endpoint = Endpoint(policy, names=openpi.OpenPi.names)
            openpi.serve(endpoint, "127.0.0.1", port, lambda port: connection.send(_Ready(port, declared(policy))))
    except (Exception, Stop) as error:
        connection.send(Failure.of(error, "the policy's process"))
    # Whatever threads the policy has left.
    really_exit(1)


def _leave(number: int, frame: FrameType | None) -> None:
    # Once: what is being closed is not to be interrupted again.
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    raise Leave(0)
