"""Starts RoboDx from its own environment, for openpi's client here to talk to."""

from __future__ import annotations

import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

ROBODX = Path(__file__).parents[3] / ".venv" / "bin" / "robodx"
STARTS_WITHIN_S = 60.0

# The port on which it answers.
Serve = Callable[..., int]


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Serve]:
    """`serve("still", "--option", ...)`: `robodx serve` on a free port of this machine, ended with the test."""
    started: list[subprocess.Popen[bytes]] = []

    def serve(policy: str, *options: str) -> int:
        port = _free_port()
        log = tmp_path / f"serve-{port}.log"
        command = [str(ROBODX), "serve", policy, "--protocol", "openpi", "--port", str(port), *options]
        with log.open("wb") as output:
            process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT)
        started.append(process)
        deadline_s = time.monotonic() + STARTS_WITHIN_S
        while not _is_healthy(port):
            if process.poll() is not None or time.monotonic() > deadline_s:
                pytest.fail(f"{' '.join(command)} did not start:\n{log.read_text()}")
            time.sleep(0.1)
        return port

    yield serve
    for process in started:
        process.terminate()
        try:
            process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _is_healthy(port: int) -> bool:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/healthz", timeout=2) as answer:
            return bool(answer.status == 200)
    except (urllib.error.URLError, ConnectionError, TimeoutError):
        return False
