"""Runs on a Ray cluster are those of a single process, bit for bit, whatever dies on the way."""

from __future__ import annotations

import json
import logging
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest
import ray

from robodx.analysis.diff import diff
from robodx.errors import UserError
from robodx.records.episode import Episode
from robodx.records.table import load
from robodx.records.trajectory import Trajectory
from robodx.records.trial import Trial
from robodx.registry import load_plugin
from robodx.running.cluster import connect
from robodx.running.observers import TrajectoryWriter
from robodx.running.workers import Job, execute
from tests.commands import call
from tests.serving import ROBODX

TASK = "primitive/press_switch"

PLUGIN = '''
"""Policies that can be watched and killed: each leaves a file named by the process it lives in."""
import os, pathlib, time
import numpy as np
from robodx import CameraRequest, PolicySpec, policy
from robodx.errors import Stop

class Base:
    spec = PolicySpec(uses_language=False, cameras=(CameraRequest("front", 32, 32),), state=("ee_pose",))

    def __init__(self, folder):
        self.turns = {}
        self.folder = pathlib.Path(folder)
        print("GARBAGE")
        (self.folder / str(os.getpid())).write_text(os.environ.get("ROBODX_WORKER", "0"))

    def close(self):
        (self.folder / f"{os.getpid()}.closed").touch()

    def reset(self, starts):
        for start in starts:
            self.turns[start.episode_id] = start.policy_seed % 5

    def act(self, observations):
        return [self.one(observation) for observation in observations]

    def one(self, observation):
        """What comes out depends on what was seen, and on what was done before."""
        turn = self.turns[observation.episode_id] = self.turns[observation.episode_id] + 1
        picture = observation.images["front"]
        picture //= 2
        dx = (picture.mean() / 255 - 0.2) / 20 * (-1) ** turn
        dz = observation.state["ee_pose"][2] / 1000
        return np.repeat(np.array([[dx, 0, dz, 0, 0, 0, 1]], np.float32), 20, axis=0)

    def finish(self, ids):
        for one in ids:
            del self.turns[one]

@policy("seeing", takes="FOLDER")
class Seeing(Base):
    """Reacts to what it sees."""

@policy("slow", takes="FOLDER")
class Slow(Base):
    """Takes its time, and does the same."""
    def reset(self, starts):
        time.sleep(0.5)
        super().reset(starts)

@policy("gated", takes="FOLDER")
class Gated(Base):
    """Waits at the beginning of a second episode, says so, and goes on when it may."""
    resets = 0
    def reset(self, starts):
        self.resets += 1
        if self.resets == 2:
            (self.folder / f"{os.getpid()}.waits").touch()
            while not (self.folder / "go").exists():
                time.sleep(0.02)
        super().reset(starts)

@policy("deadly", takes="FOLDER")
class Deadly(Base):
    """Kills its process at seed 1."""
    def reset(self, starts):
        if starts[0].situation_seed == 1:
            os.kill(os.getpid(), 9)
        super().reset(starts)

@policy("once", takes="FOLDER")
class Once(Deadly):
    """The same, and it cannot be built again."""
    def __init__(self, folder):
        if any(pathlib.Path(folder).iterdir()):
            os.kill(os.getpid(), 9)
        super().__init__(folder)

@policy("stopping", takes="FOLDER")
class Stopping(Base):
    """Asks somebody who is gone for good."""
    def reset(self, starts):
        raise Stop("nobody answers")
'''


@pytest.fixture(scope="module", autouse=True)
def cluster_of_two_cpus() -> Iterator[None]:
    """One for the module, out of the sight of others on this machine."""
    folder = tempfile.mkdtemp(prefix="ray-")  # short: sockets lie in it
    with pytest.MonkeyPatch.context() as patched:
        # Processes that wait for tasks, of which there are none here, would take longer to start than all the rest.
        patched.setenv("RAY_prestart_worker_first_driver", "0")
        ray.init(
            address="local", num_cpus=2, include_dashboard=False, object_store_memory=100 * 2**20, log_to_driver=False,
            logging_level=logging.ERROR, _temp_dir=folder,
        )  # fmt: skip
        try:
            yield
        finally:
            ray.shutdown()
            shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="module")
def plugin(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("plugin") / "watched.py"
    path.write_text(PLUGIN)
    load_plugin(str(path))
    return str(path)


def trials(policy: str, seeds: int) -> list[Trial]:
    return [Trial(TASK, 2, policy, seed) for seed in range(seeds)]


Table = dict[int, tuple[object, ...]]


def table(episodes: Iterable[Episode]) -> Table:
    return {e.seed: (e.outcome, e.steps, e.progress, e.trajectory_hash) for e in episodes}


@pytest.fixture(scope="module")
def in_process(plugin: str, tmp_path_factory: pytest.TempPathFactory) -> Table:
    job = Job(f"seeing:{tmp_path_factory.mktemp('alone')}")
    alone = table(execute(trials(job.policy, 5), job))
    assert len({row[-1] for row in alone.values()}) == 5
    return alone


# That actors give the same episodes is seen again where one of them is killed, and on the command line.
@pytest.mark.thorough
@pytest.mark.parametrize(("policy_actors", "batch"), [(0, 1), (1, 2)])
def test_actors_give_the_episodes_of_a_single_process(
    policy_actors: int, batch: int, plugin: str, in_process: Table, tmp_path: Path
) -> None:
    trajectories, pids = tmp_path / "trajectories", tmp_path / "pids"
    trajectories.mkdir()
    pids.mkdir()
    job = Job(f"seeing:{pids}", batch=batch, plugins=(plugin,), observers=(TrajectoryWriter(trajectories),))
    with connect(workers=2, policy_actors=policy_actors) as cluster:
        assert (cluster.declared(job) is not None) == bool(policy_actors)
        both = trials(job.policy, 5)
        episodes = [e for part in (both[:3], both[3:]) for e in execute(part, job, workers=2, cluster=cluster)]
    assert table(episodes) == in_process and [episode.attempt for episode in episodes] == [1] * 5
    holders = {path.name: path.read_text() for path in pids.iterdir() if not path.suffix}
    assert str(os.getpid()) not in holders
    assert sorted(holders.values()) == (["0"] if policy_actors else ["0", "1"]), "the second round has the same actors"
    assert {path.stem for path in pids.glob("*.closed")} == set(holders)
    for episode in episodes:
        assert Trajectory.load(trajectories / f"{episode.trial_id}.npz").digest() == episode.trajectory_hash


# Who dies once is run again, who dies three times is not: each kind of actor dies in one of the two tests.
@pytest.mark.thorough
@pytest.mark.parametrize("policy_actors", [0, 1])
def test_what_a_killed_actor_was_running_is_run_again(
    policy_actors: int, plugin: str, in_process: Table, tmp_path: Path
) -> None:
    job = Job(f"gated:{tmp_path}", plugins=(plugin,))
    killer = threading.Thread(target=kill_one_that_waits, args=(tmp_path,))
    killer.start()
    with connect(workers=2, policy_actors=policy_actors) as cluster:
        episodes = list(execute(trials(job.policy, 4), job, workers=2, cluster=cluster))
    killer.join()
    assert table(episodes) == {seed: in_process[seed] for seed in range(4)} and len(episodes) == 4
    again = [episode.attempt for episode in episodes if episode.attempt > 1]
    # An environment actor runs one trial; a policy actor serves those of both.
    assert again in (([2], [2, 2]) if policy_actors else ([2],))


def kill_one_that_waits(folder: Path) -> None:
    deadline = time.monotonic() + 60
    while not (waiting := list(folder.glob("*.waits"))) and time.monotonic() < deadline:
        time.sleep(0.02)
    for path in waiting[:1]:
        os.kill(int(path.stem), signal.SIGKILL)
    (folder / "go").touch()


@pytest.mark.thorough
def test_a_broken_off_run_and_another_job_leave_nothing_to_the_next(
    plugin: str, in_process: Table, tmp_path: Path
) -> None:
    seeing, still = Job(f"seeing:{tmp_path}", plugins=(plugin,)), Job("still")
    with connect(policy_actors=1) as cluster:
        broken_off = execute(trials(seeing.policy, 4), seeing, cluster=cluster)
        next(broken_off)
        del broken_off
        again = table(execute(trials(seeing.policy, 2), seeing, cluster=cluster))
        other = table(execute(trials(still.policy, 2), still, cluster=cluster))
    assert again == {seed: in_process[seed] for seed in range(2)}
    assert other == table(execute(trials(still.policy, 2), still)) != again


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("policy", "message"), [("once", "the policy actor died 3 times while starting"), ("stopping", "^nobody answers$")]
)
def test_a_policy_actor_that_cannot_go_on_ends_the_run(policy: str, message: str, plugin: str, tmp_path: Path) -> None:
    job = Job(f"{policy}:{tmp_path}", plugins=(plugin,))
    with connect(policy_actors=1) as cluster, pytest.raises(UserError, match=message):
        list(execute(trials(job.policy, 3), job, cluster=cluster))


@pytest.mark.thorough
@pytest.mark.parametrize("policy_actors", [pytest.param(0, marks=pytest.mark.thorough), 1])
def test_a_trial_that_kills_every_actor_is_an_error_and_costs_no_other(
    policy_actors: int, plugin: str, in_process: Table, tmp_path: Path
) -> None:
    job = Job(f"deadly:{tmp_path}", plugins=(plugin,))
    with connect(workers=2, policy_actors=policy_actors) as cluster:
        episodes = {e.seed: e for e in execute(trials(job.policy, 3), job, workers=2, cluster=cluster)}
    deadly = episodes.pop(1)
    who = "policy actor" if policy_actors else "environment actor"
    assert (deadly.outcome, deadly.attempt) == ("error", 3)
    assert f"the {who} died 3 times while running this trial" in (deadly.error or "")
    assert table(episodes.values()) == {seed: in_process[seed] for seed in (0, 2)}


@pytest.mark.thorough
def test_a_policy_that_sees_the_simulator_cannot_be_an_actor() -> None:
    job = Job("expert")
    with (
        connect(policy_actors=1) as cluster,
        pytest.raises(UserError, match='"expert" uses the simulator'),
    ):
        list(execute(trials("expert", 1), job, cluster=cluster))


@pytest.mark.thorough
def test_a_mistake_found_by_an_actor_is_told_in_a_line(tmp_path: Path) -> None:
    job = Job("expert", plugins=(str(tmp_path / "nothing.py"),))
    with connect() as cluster, pytest.raises(UserError, match=r"^There is no plugin file .*nothing\.py\.$"):
        list(execute(trials("expert", 1), job, cluster=cluster))


def test_another_address_than_the_connected_one_is_refused() -> None:
    with pytest.raises(UserError, match='not to "nowhere:1"'), connect("nowhere:1"):
        pass


def test_without_ray_one_is_told_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(UserError, match=r"pip install robodx\[ray\]"), connect():
        pass


DRIVER = """
import sys
from robodx.running.cluster import connect
from robodx.records.trial import Trial
from robodx.running.workers import Job, execute
job = Job(sys.argv[2], plugins=(sys.argv[1],))
with connect("local", workers=2) as cluster:
    for episode in execute([Trial("primitive/press_switch", 2, job.policy, k) for k in range(99)], job,
                           workers=2, cluster=cluster):
        print(episode.outcome, flush=True)
"""


@pytest.mark.thorough
def test_ctrl_c_leaves_nothing_of_a_cluster_that_the_driver_started(plugin: str, tmp_path: Path) -> None:
    pids, ray_folder = tmp_path / "pids", tempfile.mkdtemp(prefix="ray-")
    pids.mkdir()
    # A module in the folder where the driver stands.
    (tmp_path / "my_module.py").write_text(
        f"from robodx.policy_contract import make_policy\ndef make(): return make_policy('slow:{pids}')\n"
    )
    words = [sys.executable, "-c", DRIVER, plugin, "python:my_module:make"]
    driver = subprocess.Popen(
        words, cwd=tmp_path, env={**os.environ, "RAY_TMPDIR": ray_folder}, start_new_session=True, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    try:
        with driver:
            assert driver.stdout is not None
            assert driver.stdout.readline() == "timeout\n", driver.communicate()[1]
            os.killpg(driver.pid, signal.SIGINT)
            rest, errors = driver.communicate(timeout=30)
        assert "GARBAGE" not in rest and "KeyboardInterrupt" in errors
        assert len([path for path in pids.iterdir() if not path.suffix]) == 2
        wait_until_gone(driver.pid)
    finally:
        clean_up(driver.pid, ray_folder)


# That a killed driver's run goes on is shown with processes, and that Ray's go on without Ray at the end of this file.
@pytest.mark.thorough
def test_a_run_whose_driver_was_killed_goes_on_without_a_cluster(
    plugin: str, in_process: Table, tmp_path: Path
) -> None:
    ray_folder = tempfile.mkdtemp(prefix="ray-")
    policy, out = f"slow:{tmp_path}", tmp_path / "run"
    words = [*ROBODX, "run", TASK, "--policy", policy, "--seeds", "16", "--plugin", plugin, "--workers", "2"]
    words += ["--out", str(out)]
    driver = subprocess.Popen(
        [*words, "--ray", "local"], env={**os.environ, "RAY_TMPDIR": ray_folder}, start_new_session=True,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        deadline = time.monotonic() + 60
        while not list(out.glob("episodes/part-*.parquet")):  # written every few seconds
            assert time.monotonic() < deadline and driver.poll() is None
            time.sleep(0.02)
        driver.kill()
        driver.wait()
        wait_until_gone(driver.pid, b"ray::EnvironmentActor")  # some of Ray's own stay for a minute
    finally:
        driver.kill()
        driver.wait()
        clean_up(driver.pid, ray_folder)
    resumed = subprocess.run(words, check=True, capture_output=True, text=True)
    assert "Resuming: " in resumed.stderr and "Resuming: 16" not in resumed.stderr
    rows = load(out).select("seed", "outcome", "steps", "progress", "trajectory_hash").iter_rows()
    whole: Table = {seed: tuple(row) for seed, *row in rows}
    # Those that were done on the cluster are among the first; "slow" does what "seeing" does.
    assert len(whole) == 16 and in_process.items() <= whole.items()


def wait_until_gone(session: int, name: bytes = b"") -> None:
    deadline = time.monotonic() + 20
    while processes_of_session(session, name):
        assert time.monotonic() < deadline, "processes are left behind"
        time.sleep(0.1)


def clean_up(session: int, ray_folder: str) -> None:
    for pid in processes_of_session(session):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    shutil.rmtree(ray_folder, ignore_errors=True)


def processes_of_session(session: int, name: bytes = b"") -> list[int]:
    """Those that run, by how they are called: what has ended has no command line."""
    found = []
    for entry in Path("/proc").iterdir():
        with suppress(OSError):
            if entry.name.isdigit() and os.getsid(int(entry.name)) == session:
                called = (entry / "cmdline").read_bytes()
                if called and called.startswith(name):
                    found.append(int(entry.name))
    return found


def test_the_command_line_runs_on_a_cluster(tmp_path: Path) -> None:
    words = ("run", TASK, "--policy", "expert", "--seeds", "2")
    call(*words, "--out", "one", cwd=tmp_path)
    ran = subprocess.run(
        [*ROBODX, *words, "--out", "ray", "--ray", ray.get_runtime_context().gcs_address, "--workers", "2", "--json"],
        cwd=tmp_path, check=True, capture_output=True, text=True,
    )  # fmt: skip
    assert json.loads(ran.stdout)["all"]["n"] == 2, "nothing of Ray's is in the answer"
    assert diff(tmp_path / "one", tmp_path / "ray").is_same
    load(tmp_path / "ray").head(1).write_parquet(tmp_path / "ray" / "episodes" / "all.parquet")
    assert "Resuming: 1 of 2" in call(*words, "--out", "ray", cwd=tmp_path), "without the cluster"
    assert "give --ray too" in call(*words, "--policy-actors", "1", cwd=tmp_path, expect=2)
