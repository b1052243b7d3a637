"""Ctrl-C in a validation: what has begun is finished and kept, nothing else begins, and a second one ends it all."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.end_to_end.test_interruptions import SLOW_IMPORT, processes_of, wait_for_files

# Its cases last until they are told to end.
DRIVER = """
import sys, time
from robodx.analysis.findings.validation import Verdict
from robodx.running import validation

def run(case, out):
    (out / f"{case.name}.begun").touch()
    while not (out / "end").exists():
        time.sleep(0.02)
    (out / f"{case.name}.parquet").touch()

validation._run = run
validation.judged = lambda case, out: Verdict(case.group, case.planted, case.seed_set, case.expected, (), True, 1)

if __name__ == "__main__":
    from robodx.cli import main
    main()
"""
ASKED = "validate --fault slow --sets 4 --weak-sets 0 --pairs 0 --healthy 0 --nulls 0 --workers 2 --out kept"


@contextmanager
def begun(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    (tmp_path / "driver.py").write_text(DRIVER)
    command = [sys.executable, "driver.py", *ASKED.split()]
    driver = subprocess.Popen(command, cwd=tmp_path, start_new_session=True, stderr=subprocess.PIPE, text=True)
    try:
        yield driver
    finally:
        for process in processes_of(driver.pid):
            os.kill(process, signal.SIGKILL)
        driver.communicate()


def press_ctrl_c(driver: subprocess.Popen[str]) -> str:
    """What it says at once."""
    assert driver.stderr is not None
    os.killpg(driver.pid, signal.SIGINT)
    return driver.stderr.readline() + driver.stderr.readline()


def names(tmp_path: Path, kind: str) -> list[str]:
    return sorted(path.stem for path in (tmp_path / "kept").glob(f"*.{kind}"))


def test_what_has_begun_is_finished_and_nothing_else_begins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "sitecustomize.py").write_text(SLOW_IMPORT)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=os.pathsep)
    with begun(tmp_path) as driver:
        wait_for_files(tmp_path, "imports.*", 2, driver)
        # Workers hear of no Ctrl-C, not even while they import.
        for path in tmp_path.glob("imports.*"):
            os.kill(int(path.suffix[1:]), signal.SIGINT)
        wait_for_files(tmp_path / "kept", "*.begun", 2, driver)
        assert press_ctrl_c(driver) == "\nFinishing 2 cases under way; Ctrl-C again stops at once.\n"
        (tmp_path / "kept" / "end").touch()
        _, said = driver.communicate(timeout=20)
        assert driver.returncode == 130 and "the same command resumes" in said and "Traceback" not in said, said
    assert names(tmp_path, "begun") == names(tmp_path, "parquet") == ["slow.101", "slow.102"]


def test_the_second_ctrl_c_stops_at_once(tmp_path: Path) -> None:
    with begun(tmp_path) as driver:
        wait_for_files(tmp_path / "kept", "*.begun", 2, driver)
        assert "Finishing 2 cases" in press_ctrl_c(driver)
        os.killpg(driver.pid, signal.SIGINT)
        _, said = driver.communicate(timeout=20)
        assert driver.returncode == 130 and "Stopped." in said and "Traceback" not in said, said
        deadline = time.monotonic() + 10
        while processes_of(driver.pid):
            assert time.monotonic() < deadline, "workers are left behind"
            time.sleep(0.05)
    assert names(tmp_path, "parquet") == []
