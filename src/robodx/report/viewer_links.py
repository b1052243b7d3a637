"""Links from a page to the viewer, which plays every episode and draws the films that are not there."""

from __future__ import annotations

import os
import shlex
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlencode

from robodx.report.viewer.finding import run_id

# Where `robodx view` serves unless the port is taken.
PORT = 7860
ADDRESS = f"http://127.0.0.1:{PORT}/"


def episode_in_viewer(run: Path, trial: str) -> str:
    """What the viewer's address says after its host: by its trial it is found where the run was moved, too."""
    return f"#{urlencode({'run': run_id(run.resolve()), 'trial': trial})}"


def run_in_viewer(run: Path) -> str:
    return f"#{urlencode({'run': run_id(run.resolve())})}"


def view_command(*runs: Path) -> str:
    """Of several runs, the folder that they are in."""
    folder = runs[0] if len(runs) == 1 else Path(os.path.commonpath([run.absolute() for run in runs]))
    with suppress(ValueError):
        folder = folder.relative_to(Path.cwd()) if not runs[0].is_absolute() else folder
    return f"robodx view {shlex.quote(str(folder))}"
