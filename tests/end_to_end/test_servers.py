"""Policy servers that are killed, restarted or never come back: the record ends as if nothing had happened."""

from __future__ import annotations

import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import polars as pl
import pytest

from robodx.errors import Stop
from robodx.records.table import load
from robodx.running import policy_process
from robodx.running.request import Request
from robodx.running.run import Execution, run
from tests.commands import call
from tests.serving import ROBODX, served

TASK = "primitive/press_switch"
SEEDS = 12
Serve = Callable[..., subprocess.Popen[str]]


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The expert's run, whose commands the server replays."""
    folder = tmp_path_factory.mktemp("recorded") / "run"
    run(Request((TASK,), "expert", SEEDS), folder)
    return folder


@pytest.fixture
def port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


@pytest.fixture
def serve(recorded: Path, port: int) -> Iterator[Serve]:
    """Start a server that replays the expert's run, and wait until it is open."""
    with ExitStack() as stack:
        yield lambda protocol="openpi": stack.enter_context(served(f"replay:{recorded}", protocol, port=port)).process


def words(port: int, out: Path, *more: str, connect: int = 20) -> list[str]:
    address = f"openpi://127.0.0.1:{port}?connect={connect}&timeout=20"
    return [
        *ROBODX, "run", TASK, "--policy", address, "--seeds", str(SEEDS), "--name", "served", "--out", str(out), *more,
    ]  # fmt: skip


def wait_for_episodes(out: Path, count: int, process: subprocess.Popen[str]) -> None:
    deadline = time.monotonic() + 60
    while len(list((out / "trajectories").glob("*.npz"))) < count:
        assert time.monotonic() < deadline and process.poll() is None
        time.sleep(0.01)


def hashes(folder: Path) -> dict[int, str]:
    table = load(folder).filter(pl.col("outcome") == "success")
    return dict(table.select("seed", "trajectory_hash").iter_rows())


# Alone is what the next test's run is too.
@pytest.mark.parametrize(
    "more",
    [
        pytest.param((), marks=pytest.mark.thorough),
        ("--workers", "2"),
        pytest.param(("--batch", "4"), marks=pytest.mark.thorough),
    ],
    ids=["alone", "workers", "batch"],
)
def test_a_server_that_is_killed_and_started_again_changes_nothing(
    more: tuple[str, ...], serve: Serve, port: int, recorded: Path, tmp_path: Path
) -> None:
    server = serve()
    running = subprocess.Popen(words(port, tmp_path / "run", *more), text=True, stderr=subprocess.DEVNULL)
    wait_for_episodes(tmp_path / "run", 2, running)
    server.send_signal(signal.SIGKILL)
    server.wait()
    serve()
    assert running.wait(timeout=90) == 0
    assert hashes(tmp_path / "run") == hashes(recorded)
    assert len(hashes(recorded)) == SEEDS


def test_a_server_that_stays_away_stops_the_run_which_goes_on_when_it_is_back(
    serve: Serve, port: int, recorded: Path, tmp_path: Path
) -> None:
    server = serve()
    command = words(port, tmp_path / "run", connect=1)
    running = subprocess.Popen(command, text=True, stderr=subprocess.PIPE)
    wait_for_episodes(tmp_path / "run", 2, running)
    server.send_signal(signal.SIGKILL)
    _, said = running.communicate(timeout=60)
    assert running.returncode == 2
    assert f"no policy server answers at 127.0.0.1:{port} after 1 s" in said
    assert "Traceback" not in said
    done = len(load(tmp_path / "run"))
    assert 1 <= done < SEEDS, "what was finished is kept"
    serve()
    subprocess.run(command, check=True, capture_output=True, timeout=90)
    assert hashes(tmp_path / "run") == hashes(recorded)


def test_a_run_goes_on_at_another_address_if_the_policy_has_a_name(
    serve: Serve, port: int, recorded: Path, tmp_path: Path
) -> None:
    serve()
    here = words(port, tmp_path / "run")[len(ROBODX) :]
    call(*here, cwd=tmp_path)
    moved = [word.replace("127.0.0.1", "localhost") for word in here]
    assert f"Resuming: {SEEDS} of {SEEDS}" in call(*moved, cwd=tmp_path)
    assert load(tmp_path / "run")["policy"].unique().to_list() == ["served"]
    assert hashes(tmp_path / "run") == hashes(recorded)


@pytest.mark.parametrize("protocol", ["openpi", "gr00t", "vla-eval"])
def test_check_reads_a_servers_conventions_off_it(protocol: str, serve: Serve, port: int, tmp_path: Path) -> None:
    serve(protocol)
    address = f"{protocol}://127.0.0.1:{port}"
    said = call("check", address, "--task", TASK, cwd=tmp_path)
    assert "action joint, 8 numbers" in said
    assert "The policy is deterministic" in said


@pytest.mark.parametrize(
    "more", [("--workers", "2"), pytest.param(("--batch", "4"), marks=pytest.mark.thorough)], ids=["workers", "batch"]
)
def test_a_policy_in_a_process_of_its_own_gives_the_same_episodes(
    more: tuple[str, ...], recorded: Path, tmp_path: Path
) -> None:
    words = ("run", TASK, "--policy", f"replay:{recorded}", "--seeds", str(SEEDS), "--out", "run", "--policy-process")
    subprocess.run([*ROBODX, *words, *more], cwd=tmp_path, check=True, capture_output=True, timeout=90)
    assert hashes(tmp_path / "run") == hashes(recorded)
    again = call(*words[:-1], *more, cwd=tmp_path)
    assert f"Resuming: {SEEDS} of {SEEDS}" in again, "where the policy lived is no part of what was asked"


@pytest.mark.parametrize(
    ("policy", "message"),
    [("expert", "cannot be served"), ("replay:nowhere", "is not a run folder"), ("python:os:abort", "exit code -6")],
)
def test_a_policy_that_cannot_live_in_a_process_of_its_own_is_told(policy: str, message: str, tmp_path: Path) -> None:
    words = ("run", TASK, "--policy", policy, "--policy-process")
    said = call(*words, cwd=tmp_path, expect=2)
    assert message in said and "Traceback" not in said


MORTAL = '''
"""Policies whose process is killed by seed 1."""
import multiprocessing, os, pathlib, time
import numpy as np
from robodx import PolicySpec, policy

@policy("mortal", takes="FOLDER")
class Mortal:
    """Has a child, leaves a file when it is built and when it is closed."""
    spec = PolicySpec(uses_language=False, state=())
    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        child = multiprocessing.get_context("fork").Process(target=time.sleep, args=(0,))
        child.start()
        child.join()
        (self.folder / f"{os.getpid()}.built").touch()
    def reset(self, starts):
        if starts[0].situation_seed == 1:
            os.kill(os.getpid(), 9)
    def act(self, observations):
        return [np.repeat(np.array([[0, 0, 0, 0, 0, 0, 1]], np.float32), 20, axis=0) for _ in observations]
    def finish(self, ids): pass
    def close(self):
        (self.folder / f"{os.getpid()}.closed").touch()

@policy("only_once", takes="FOLDER")
class OnlyOnce(Mortal):
    """Cannot be built again."""
    def __init__(self, folder):
        if any(pathlib.Path(folder).glob("*.built")):
            raise ValueError("no second life")
        super().__init__(folder)
'''


@pytest.fixture(scope="module")
def mortal(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("plugin") / "mortal.py"
    path.write_text(MORTAL)
    return str(path)


@pytest.mark.parametrize(("workers", "batch"), [(2, 1), pytest.param(1, 4, marks=pytest.mark.thorough)])
def test_a_trial_that_kills_the_policys_process_is_an_error_and_costs_no_other(
    workers: int, batch: int, mortal: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    request = Request((TASK,), f"mortal:{tmp_path}", 4, batch=batch, plugins=(mortal,))
    table = run(request, tmp_path / "run", Execution(workers=workers, in_own_process=True)).sort("seed")
    assert table["outcome"].to_list() == ["timeout", "error", "timeout", "timeout"]
    assert "the policy's process died 3 times while running this trial" in table["error"][1]
    # The third time there may be nothing left to start it for.
    assert capfd.readouterr().err.count("The policy's process died with exit code -9: it is started again.") in (2, 3)


def test_a_policy_in_a_process_of_its_own_is_closed_at_the_end(mortal: str, tmp_path: Path) -> None:
    run(Request((TASK,), f"mortal:{tmp_path}", 1, plugins=(mortal,)), tmp_path / "run", Execution(in_own_process=True))
    built, closed = ([path.stem for path in tmp_path.glob(f"*.{what}")] for what in ("built", "closed"))
    assert closed == built and len(built) == 1


def test_a_policys_process_that_cannot_be_started_again_is_the_reason_that_is_told(
    mortal: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(policy_process, "PATIENCE_S", 4.0)
    request = Request((TASK,), f"only_once:{tmp_path}", 4, plugins=(mortal,))
    with pytest.raises(Stop) as stop:
        run(request, tmp_path / "run", Execution(in_own_process=True))
    assert str(stop.value).startswith("the policy's process died with exit code -9, and could not be started again: ")
    assert "no second life" in str(stop.value) and "127.0.0.1" not in str(stop.value)
    assert load(tmp_path / "run")["seed"].to_list() == [0], "what was finished is kept"
