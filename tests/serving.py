"""`robodx serve` in a process of its own, for tests that need a real server."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

ROBODX = (sys.executable, "-c", "from robodx.cli import main; main()")


class Server(NamedTuple):
    address: str
    process: subprocess.Popen[str]


@contextmanager
def served(policy: str, protocol: str, *, port: int = 0) -> Iterator[Server]:
    """Serve a policy until the block ends; the server is open when it begins."""
    words = ("serve", policy, "--protocol", protocol, "--port", str(port))
    with subprocess.Popen([*ROBODX, *words], stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            said = process.stdout.readline()
            assert said.startswith(f"Serving {policy} at {protocol}://"), said
            yield Server(said.split()[3], process)
        finally:
            process.kill()
