"""A tiny checkpoint for the tests against LeRobot."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder as LeRobot's training leaves it, with random weights."""
    make = runpy.run_path(str(Path(__file__).with_name("make_checkpoint.py")))["make_checkpoint"]
    folder: Path = make(tmp_path_factory.mktemp("checkpoint") / "act")
    return folder
