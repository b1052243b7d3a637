"""Real servers for tests: `robodx serve` in a process of its own, or a wire's server in a thread."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import NamedTuple

from robodx.wires.serving import Endpoint

ROBODX = (sys.executable, "-c", "from robodx.cli import main; main()")


class Server(NamedTuple):
    address: str
    process: subprocess.Popen[str]

    @property
    def port(self) -> int:
        return int(self.address.rpartition(":")[2])


@contextmanager
def served(policy: str, protocol: str, *more: str, port: int = 0) -> Iterator[Server]:
    """Serve a policy until the block ends; the server is open when it begins."""
    words = ("serve", policy, "--protocol", protocol, "--port", str(port), *more)
    with subprocess.Popen([*ROBODX, *words], stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            said = process.stdout.readline()
            assert said.startswith(f"Serving {policy} at {protocol}://"), said
            yield Server(said.split()[3], process)
        finally:
            process.kill()


@contextmanager
def in_a_thread(
    serve: Callable[[Endpoint, str, int, Callable[[int], None]], None], endpoint: Endpoint
) -> Iterator[int]:
    """The port of a server on asyncio, which is stopped when the block ends."""
    ready = threading.Event()
    ports: list[int] = []
    stop: list[Callable[[], object]] = []

    def on_ready(port: int) -> None:
        loop, task = asyncio.get_running_loop(), asyncio.current_task()
        assert task is not None
        stop.append(lambda: loop.call_soon_threadsafe(task.cancel))
        ports.append(port)
        ready.set()

    def target() -> None:
        with suppress(asyncio.CancelledError):
            serve(endpoint, "127.0.0.1", 0, on_ready)

    thread = threading.Thread(target=target)
    thread.start()
    assert ready.wait(10)
    try:
        yield ports[0]
    finally:
        stop[0]()
        thread.join(10)
