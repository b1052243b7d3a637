"""A film drawn by a process of its own: a crash, or what is missing there, is a sentence here.

This module imports no simulator, for who asks may have none.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import tempfile
from collections.abc import Generator, Sequence
from pathlib import Path

from robodx.errors import UserError

# How long a process that is told to end may tidy up.
ENDING_S = 5.0


def draw_film(run: Path, trial_id: str, *, plugins: Sequence[str] = ()) -> Generator[tuple[int, int]]:
    """Draw it into the run's folder; yields how many pictures are done, and of how many. Closed early, it is ended."""
    asked = json.dumps({"run": str(run), "trial": trial_id, "plugins": list(plugins)})
    # Without the folder it is called in: nothing that lies beside runs is imported.
    command = [sys.executable, "-P", "-m", "robodx.video.drawing", asked]
    with tempfile.TemporaryFile("w+", errors="replace") as said:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=said, text=True)
        try:
            problem = None
            assert process.stdout is not None
            for line in process.stdout:
                told = json.loads(line)
                problem = told.get("problem")
                if problem is None:
                    yield told["done"], told["total"]
            status = process.wait()
            if problem is not None:
                raise UserError(problem)
            if status:
                said.seek(0)
                raise UserError(_ended(status, said.read()))
        finally:
            _end(process)


def _end(process: subprocess.Popen[str]) -> None:
    process.terminate()
    try:
        process.wait(ENDING_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    if process.stdout is not None:
        process.stdout.close()


def _ended(status: int, said: str) -> str:
    how = f"by {signal.Signals(-status).name}" if status < 0 else f"with status {status}"
    last = next((line for line in reversed(said.splitlines()) if line.strip()), "")
    return f"The process that draws the film ended {how}{f': {last.strip()}' if last else ''}. See: robodx doctor."
