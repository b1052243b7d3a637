"""A run on a cluster of two machines goes on when one of them is lost. Takes about half a minute."""

from __future__ import annotations

import os
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import pytest

from robodx.records.trial import Trial
from robodx.registry import load_plugin
from robodx.running.workers import Job, execute

TASK = "primitive/press_switch"
SEEDS = 8
PLUGIN = '''
import time
from robodx import make_policy, policy

@policy("slow_random")
class SlowRandom:
    """So slow that the node is gone long before all episodes are done."""
    def __init__(self):
        self.random = make_policy("random")
        self.spec, self.act, self.finish = self.random.spec, self.random.act, self.random.finish
    def reset(self, starts):
        time.sleep(0.7)
        self.random.reset(starts)
'''
# Ray's own program, from the environment that runs the tests.
RAY = (sys.executable, "-c", "from ray.scripts.scripts import main; main()")
DRIVER = """
import sys
from robodx.running.cluster import connect
from robodx.records.trial import Trial
from robodx.running.workers import Job, execute
_, address, task, seeds, plugin = sys.argv
job = Job("slow_random", plugins=(plugin,))
with connect(address) as cluster:
    with cluster.pool(job, 2) as crew:
        while len(crew.idle) < 2:  # one on each node
            list(crew.wait())
    trials = [Trial(task, 2, job.policy, k) for k in range(int(seeds))]
    for episode in execute(trials, job, workers=2, cluster=cluster):
        print(episode.seed, episode.trajectory_hash, episode.attempt, flush=True)
"""


class Nodes(NamedTuple):
    address: str
    second: subprocess.Popen[bytes]
    environment: dict[str, str]


def start_node(environment: dict[str, str], *words: str) -> subprocess.Popen[bytes]:
    """All processes of the node are in one session, so that it can be switched off."""
    common = (
        "start", "--num-cpus=1", "--object-store-memory=100000000", "--disable-usage-stats", "--block",
        "--include-log-monitor=false", "--no-monitor",  # nobody reads logs or asks for more nodes
    )  # fmt: skip
    return subprocess.Popen(
        [*RAY, *common, "--node-ip-address=127.0.0.1", *words], start_new_session=True, env=environment,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip


def switch_off(node: subprocess.Popen[bytes]) -> None:
    for entry in Path("/proc").iterdir():
        with suppress(OSError):
            if entry.name.isdigit() and os.getsid(int(entry.name)) == node.pid:
                os.kill(int(entry.name), signal.SIGKILL)
    node.wait()


@pytest.fixture
def nodes() -> Iterator[Nodes]:
    """A cluster of two nodes with one CPU each."""
    folder = Path(tempfile.mkdtemp(prefix="ray-"))  # short: sockets lie in it
    environment = {
        **os.environ, "RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32),
        "RAY_prestart_worker_first_driver": "0",  # nobody would use what is started ahead
    }  # fmt: skip
    started: list[subprocess.Popen[bytes]] = []
    try:
        address = folder / "ray_current_cluster"
        deadline = time.monotonic() + 120
        while not address.exists() or not address.read_text():
            assert time.monotonic() < deadline
            # Ray gives its own processes half a minute to start, which on a busy machine may be too little.
            if not started or started[-1].poll() is not None:
                started.append(
                    start_node(environment, "--head", "--port=0", "--include-dashboard=false", f"--temp-dir={folder}")
                )
            time.sleep(0.1)
        second = start_node(environment, f"--address={address.read_text()}")
        started.append(second)
        yield Nodes(address.read_text(), second, environment)
    finally:
        for node in started:
            switch_off(node)
        shutil.rmtree(folder, ignore_errors=True)


@pytest.mark.thorough
def test_what_ran_on_a_lost_machine_is_run_again_elsewhere(nodes: Nodes, tmp_path: Path) -> None:
    (tmp_path / "slow_random.py").write_text(PLUGIN)
    plugin = str(tmp_path / "slow_random.py")
    load_plugin(plugin)
    words = [sys.executable, "-c", DRIVER, nodes.address, TASK, str(SEEDS), plugin]
    with subprocess.Popen(words, env=nodes.environment, stdout=subprocess.PIPE, text=True) as driver:
        assert driver.stdout is not None
        first = driver.stdout.readline()
        time.sleep(0.35)  # half of a reset: by then the other is at a trial too, its first or its second
        switch_off(nodes.second)
        rest, _ = driver.communicate(timeout=120)
    assert driver.returncode == 0
    # Ray writes notes of its own in between.
    said = [line.split() for line in (first + rest).splitlines()]
    lines = [words for words in said if len(words) == 3 and words[0].isdigit()]
    alone = execute([Trial(TASK, 2, "slow_random", seed) for seed in range(SEEDS)], Job("slow_random"))
    assert {int(seed): digest for seed, digest, _ in lines} == {one.seed: one.trajectory_hash for one in alone}
    # Whatever the lost machine was doing, it was doing one trial, or was given the next and never answered.
    assert len(lines) == SEEDS and {attempt for _, _, attempt in lines} == {"1", "2"}
