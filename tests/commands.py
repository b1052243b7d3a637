"""The command line without a process of its own: for tests of what it says and does, not of how it starts and ends."""

from __future__ import annotations

import io
import signal
import sys
from contextlib import chdir, redirect_stderr, redirect_stdout
from pathlib import Path
from unittest.mock import patch

from robodx.cli import main


def call(*words: str | Path, cwd: Path, expect: int = 0) -> str:
    """What `robodx` prints when it is called with these words; it must end with the expected exit code."""
    said = io.StringIO()
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    code: object = 0
    with (
        chdir(cwd),
        redirect_stdout(said),
        redirect_stderr(said),
        patch.object(sys, "argv", ["robodx", *map(str, words)]),
        patch.object(sys, "path", list(sys.path)),
        # It would end the process of the tests, in which their servers run.
        patch("robodx.users_code.end_despite_threads"),
    ):
        try:
            main()
        except SystemExit as ending:
            code = ending.code or 0
        finally:
            for number, handler in handlers.items():
                signal.signal(number, handler)
    assert code == expect, said.getvalue()
    return said.getvalue()
