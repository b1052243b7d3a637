"""Links from a page to the viewer, which plays every episode and draws the films that are not there."""

from __future__ import annotations

import shlex
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


def view_command(run: Path) -> str:
    return f"robodx view {shlex.quote(str(run))}"
