"""Runs that are cut off, changed under their feet or made in rounds end as if nothing had happened, or are refused."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import polars as pl
import pytest

from robodx.errors import UserError
from robodx.policy_contract import make_policy
from robodx.records.table import load
from robodx.records.trial import Trial
from robodx.registry import load_plugin
from robodx.running.request import Request
from robodx.running.run import run
from robodx.running.workers import Job, KeptProcesses, execute
from robodx.suites.base import SUITES, SuiteRequest
from tests.commands import call

ROBODX = (sys.executable, "-c", "from robodx.cli import main; main()")
TASK = "primitive/press_switch"
POLICY = """
import time
import numpy as np
from robodx import PolicySpec, policy

@policy("{name}")
class Holding:
    \"\"\"Holds still, slowly.\"\"\"
    spec = PolicySpec(uses_language=False, state=(), hz={hz})
    def reset(self, starts): pass
    def finish(self, ids): pass
    def act(self, observations):
        time.sleep({seconds})
        return [np.repeat(np.array([[0, 0, 0, 0, 0, 0, 1]], dtype=np.float32), 20, axis=0) for _ in observations]
"""


def write_policy(path: Path, name: str, *, hz: int = 20, seconds: float = 0.0) -> Path:
    path.parent.mkdir(exist_ok=True)
    path.write_text(POLICY.format(name=name, hz=hz, seconds=seconds))
    return path


def processes_of(group: int) -> list[int]:
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                stat = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            if int(stat[2]) == group and stat[0] != "Z":
                found.append(int(entry.name))
    return found


# Who is told to end can do more than who is killed.
@pytest.mark.parametrize("number", [signal.SIGKILL, pytest.param(signal.SIGTERM, marks=pytest.mark.thorough)])
def test_workers_do_not_outlive_a_killed_driver_and_the_run_goes_on(number: signal.Signals, tmp_path: Path) -> None:
    plugin = write_policy(tmp_path / "slow.py", "slow", seconds=0.02)
    words = ("run", TASK, "--policy", "slow", "--seeds", "4", "--workers", "2", "--plugin", plugin, "--out", "run")
    driver = subprocess.Popen([*ROBODX, *map(str, words)], cwd=tmp_path, start_new_session=True)
    deadline = time.monotonic() + 60
    while len(list((tmp_path / "run/trajectories").glob("*.npz"))) < 2:
        assert time.monotonic() < deadline and driver.poll() is None
        time.sleep(0.05)
    os.kill(driver.pid, number)
    driver.wait(timeout=30)
    while processes_of(driver.pid):
        assert time.monotonic() < deadline, "workers are left behind"
        time.sleep(0.05)
    subprocess.run([*ROBODX, *map(str, words)], cwd=tmp_path, check=True, capture_output=True)
    assert load(tmp_path / "run")["outcome"].to_list() == ["timeout"] * 4


def start_run(tmp_path: Path, *words: object) -> subprocess.Popen[str]:
    """In a session of its own, so that a terminal's Ctrl-C can be sent to all of it."""
    command = [*ROBODX, "run", TASK, "--seeds", "4", "--out", "run", *map(str, words)]
    return subprocess.Popen(command, cwd=tmp_path, start_new_session=True, stderr=subprocess.PIPE, text=True)


def wait_for_files(folder: Path, pattern: str, count: int, driver: subprocess.Popen[str]) -> None:
    deadline = time.monotonic() + 60
    while len(list(folder.glob(pattern))) < count:
        assert time.monotonic() < deadline and driver.poll() is None
        time.sleep(0.02)


def press_ctrl_c(driver: subprocess.Popen[str]) -> None:
    os.killpg(driver.pid, signal.SIGINT)
    _, said = driver.communicate(timeout=20)
    assert driver.returncode == 130, said
    assert "the same command resumes" in said and "Traceback" not in said
    deadline = time.monotonic() + 10
    while processes_of(driver.pid):
        assert time.monotonic() < deadline, "workers are left behind"
        time.sleep(0.05)


@pytest.mark.parametrize(
    ("option", "number", "processes"), [("--workers", 1, 1), ("--workers", 2, 2), ("--batch", 4, 1)]
)
def test_ctrl_c_stops_a_run_whose_policy_hangs(option: str, number: int, processes: int, tmp_path: Path) -> None:
    plugin = write_policy(tmp_path / "hang.py", "hang")
    hang = "import os, pathlib, threading; pathlib.Path(f'hangs.{os.getpid()}').touch(); threading.Event().wait()"
    plugin.write_text(plugin.read_text().replace("time.sleep(0.0)", hang))
    driver = start_run(tmp_path, "--policy", "hang", "--plugin", plugin, option, number)
    wait_for_files(tmp_path, "hangs.*", processes, driver)
    press_ctrl_c(driver)


# Python imports it first of all: a worker says that it has begun, and takes its time.
SLOW_IMPORT = """
import os, pathlib, sys, time
if "--multiprocessing-fork" in sys.orig_argv:
    pathlib.Path(f"imports.{os.getpid()}").touch()
    time.sleep(1)
"""


def test_ctrl_c_means_nothing_to_workers_even_while_they_import(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "sitecustomize.py").write_text(SLOW_IMPORT)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=os.pathsep)
    driver = start_run(tmp_path, "--policy", "still", "--workers", 2)
    wait_for_files(tmp_path, "imports.*", 2, driver)
    for path in tmp_path.glob("imports.*"):
        os.kill(int(path.suffix[1:]), signal.SIGINT)
    _, said = driver.communicate(timeout=60)
    assert driver.returncode == 0 and "Traceback" not in said, said


WORKERS = '''
"""Policies that cannot be built, and one that leaves a file when it is built and when it is closed."""
import os, pathlib
from robodx import policy
from robodx.errors import UserError
from robodx.policy_contract import make_policy

class Odd(UserError):
    """Cannot be unpickled."""
    def __init__(self, one, two):
        super().__init__(f"{one} {two}")

@policy("refused")
def refused():
    """Asks somebody who is not there."""
    raise ConnectionRefusedError("nobody is there")

@policy("odd")
def odd():
    """Raises what does not travel."""
    raise Odd("two", "words")

@policy("closing", takes="FOLDER")
class Closing:
    """Stands still."""
    def __init__(self, folder):
        self.folder, still = folder, make_policy("still")
        self.spec, self.reset, self.act, self.finish = still.spec, still.reset, still.act, still.finish
        pathlib.Path(folder, f"{os.getpid()}.built").touch()
    def __bool__(self):
        return False
    def close(self):
        pathlib.Path(self.folder, f"{os.getpid()}.closed").touch()
'''


# Once a process: tests of a module may come in several lots, and a policy can be registered only once.
@pytest.fixture(scope="session")
def workers_plugin(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("plugin") / "workers.py"
    path.write_text(WORKERS)
    load_plugin(str(path))
    return str(path)


def few(policy: str) -> list[Trial]:
    return [Trial(TASK, 2, policy, seed) for seed in range(2)]


@pytest.mark.parametrize(
    ("policy", "message"),
    [
        ("refused", r'^the policy "refused" raised ConnectionRefusedError: nobody is there \(.*workers\.py:16\)$'),
        ("odd", r"^two words \(.*workers\.py:21\)$"),
    ],
)
def test_what_a_policys_factory_raises_in_a_worker_is_told(policy: str, message: str, workers_plugin: str) -> None:
    with pytest.raises(UserError, match=message):
        list(execute(few(policy), Job(policy, plugins=(workers_plugin,)), workers=2))


@pytest.mark.parametrize("workers", [1, 2])
def test_workers_build_a_policy_once_for_all_rounds_and_close_it(
    workers: int, workers_plugin: str, tmp_path: Path
) -> None:
    job = Job(f"closing:{tmp_path}", plugins=(workers_plugin,))
    with closing(KeptProcesses(job)) as kept:
        # More than one for each, for one that is still starting when all is done is not waited for.
        for first in (0, 3 * workers):
            trials = [Trial(TASK, 2, job.policy, seed) for seed in range(first, first + 3 * workers)]
            assert len(list(execute(trials, job, workers=workers, kept=kept))) == len(trials)
    built, closed = ({path.stem for path in tmp_path.glob(f"*.{what}")} for what in ("built", "closed"))
    assert len(built) == workers and closed == built


def test_a_policy_that_is_given_is_used_whatever_it_says_of_itself(workers_plugin: str, tmp_path: Path) -> None:
    mine = make_policy(f"closing:{tmp_path}")
    assert not bool(mine) and len(list(execute(few("mine"), Job("mine"), policy=mine))) == 2
    assert not list(tmp_path.glob("*.closed")), "whoever built it closes it"


def test_a_plugin_that_changed_is_another_run(tmp_path: Path) -> None:
    plugin = write_policy(tmp_path / "mine.py", "mine")
    words = ("run", TASK, "--policy", "mine", "--seeds", "1", "--plugin", plugin, "--out", "run")
    subprocess.run([*ROBODX, *map(str, words)], cwd=tmp_path, check=True, capture_output=True)
    write_policy(plugin, "mine", hz=10)
    again = subprocess.run([*ROBODX, *map(str, words)], cwd=tmp_path, text=True, capture_output=True)
    assert again.returncode == 2 and "holds another run" in again.stderr and "plugins" in again.stderr


def test_the_same_plugin_in_another_place_is_the_same_run(tmp_path: Path) -> None:
    for folder in ("here", "there"):
        plugin = write_policy(tmp_path / folder / "mine.py", "mine")
        words = ("run", TASK, "--policy", "mine", "--seeds", "1", "--plugin", plugin, "--out", "run")
        result = subprocess.run([*ROBODX, *map(str, words)], cwd=tmp_path, check=True, text=True, capture_output=True)
    assert "Resuming: 1 of 1" in result.stderr


def test_two_plugins_may_share_a_file_name(tmp_path: Path) -> None:
    plugins = [write_policy(tmp_path / folder / "my.py", f"{folder}_policy") for folder in ("one", "two")]
    words = ["run", TASK, "--policy", "two_policy", "--seeds", "1", "--out", "run"]
    for plugin in plugins:
        words += ["--plugin", str(plugin)]
    subprocess.run([*ROBODX, *words], cwd=tmp_path, check=True, capture_output=True)


@pytest.mark.parametrize("source", ["def broken(:", "import no_such_module", "1 / 0"])
def test_a_plugin_that_cannot_be_imported_says_why(source: str, tmp_path: Path) -> None:
    path = tmp_path / "bad.py"
    path.write_text(source)
    for _ in range(2):
        with pytest.raises(UserError, match=r"bad\.py cannot be imported: it raised \w+Error"):
            load_plugin(str(path))


def test_a_plugin_that_takes_a_taken_name_is_told(tmp_path: Path) -> None:
    path = write_policy(tmp_path / "mine.py", "expert")
    with pytest.raises(UserError, match=r'mine\.py cannot be imported: it raised ValueError: a policy named "expert"'):
        load_plugin(str(path))


def test_a_replay_keeps_the_recorded_rate(tmp_path: Path) -> None:
    plugin = write_policy(tmp_path / "ten.py", "ten", hz=10)
    load_plugin(str(plugin))
    run(Request((TASK,), "ten", 1), tmp_path / "record")
    run(Request((TASK,), f"replay:{tmp_path / 'record'}", 1), tmp_path / "replay")
    record, replay = (load(tmp_path / name) for name in ("record", "replay"))
    assert record["steps"].to_list() == replay["steps"].to_list() == [200]
    assert record["trajectory_hash"].to_list() == replay["trajectory_hash"].to_list()


def test_a_suite_in_rounds_goes_on_where_it_was_cut_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []

    def rounds(done: pl.DataFrame, suite_request: SuiteRequest) -> list[Trial]:
        asked.append(len(done))
        seeds = range(2) if len(done) < 2 else range(5)
        return [Trial(TASK, 2, suite_request.policy, seed, suite="rounds") for seed in seeds]

    monkeypatch.setitem(SUITES._entries, "rounds", rounds)
    request = Request(("rounds",), "expert", 1)
    whole = run(request, tmp_path / "whole")
    assert whole["seed"].to_list() == [0, 1, 2, 3, 4] and asked == [0, 2, 5]
    run(request, tmp_path / "cut")
    path = tmp_path / "cut/episodes/all.parquet"
    pl.read_parquet(path).filter(pl.col("seed") < 3).write_parquet(path)
    asked.clear()
    resumed = run(request, tmp_path / "cut")
    assert asked == [0, 2, 5], "half of a round is not shown to the suite"
    assert resumed["trajectory_hash"].to_list() == whole["trajectory_hash"].to_list()


def test_a_disk_that_is_full_is_told_and_costs_only_what_was_not_saved(tmp_path: Path) -> None:
    limited = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (5_000, 5_000)); "
    limited += "import signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN); from robodx.cli import main; main()"
    words = ("run", TASK, "--policy", "expert", "--seeds", "4", "--out", "run")
    full = subprocess.run([sys.executable, "-c", limited, *words], cwd=tmp_path, text=True, capture_output=True)
    assert full.returncode == 2 and "File too large" in full.stderr and "Traceback" not in full.stderr
    assert not list((tmp_path / "run").rglob("*.part"))
    call(*words, cwd=tmp_path)
    assert load(tmp_path / "run")["success"].to_list() == [True] * 4


@pytest.mark.parametrize("out", ["file/run", "/proc/nope/run"])
def test_a_folder_that_cannot_be_made_is_told_in_a_line(out: str, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    words = ("run", TASK, "--policy", "expert", "--seeds", "1", "--out", out)
    assert "Traceback" not in call(*words, cwd=tmp_path, expect=2)
