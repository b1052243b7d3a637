"""Runs trials in this process, in several or on a cluster: the same rollout underneath, and the same episodes."""

from __future__ import annotations

import os
import signal
import sys
import threading
import traceback
from collections.abc import Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from multiprocessing import get_context, parent_process
from multiprocessing.connection import Connection
from multiprocessing.connection import wait as wait_for
from multiprocessing.context import SpawnProcess
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from robodx.errors import Stop, UserError
from robodx.policies.base import Policy, make_policy
from robodx.registry import load_plugin
from robodx.running.crew import Died, carry_out
from robodx.running.episode import Episode
from robodx.running.rollout import Finished, rollout
from robodx.running.threads import pin
from robodx.running.trial import Trial
from robodx.wires.base import WORKER

if TYPE_CHECKING:
    from robodx.running.cluster import Cluster

# Longer than a process needs to die of a polite signal, short enough for someone who pressed Ctrl-C.
STOP_S = 3.0


@dataclass(frozen=True)
class Job:
    """How trials are executed; the same in every process."""

    policy: str
    trajectories: Path | None = None
    quality: str = "fast"
    batch: int = 1
    plugins: tuple[str, ...] = ()
    preset: str | None = None


def execute(
    trials: Sequence[Trial],
    job: Job,
    *,
    workers: int = 1,
    policy: Policy | None = None,
    cluster: Cluster | None = None,
) -> Iterator[Episode]:
    """Yield an episode for each trial, in the order in which they end.

    A single worker is this process, and uses `policy` if it is given; several build their own by name. On a cluster
    even a single one is an actor there.
    """
    if workers < 1:
        raise ValueError(f"{workers} workers: at least 1 is needed")
    if not trials:
        return
    if cluster is not None:
        # Its actors stay for the next round.
        for finished in carry_out(trials, cluster.crew(job, workers), job.batch):
            yield keep(finished, job)
    elif workers == 1:
        for finished in run_here(trials, policy or make(job), job, attempt=1):
            yield keep(finished, job)
    else:
        with closing(Processes(job, min(workers, len(trials)))) as crew:
            for finished in carry_out(trials, crew, job.batch):
                yield finished.episode


def make(job: Job) -> Policy:
    return make_policy(job.policy, job.preset)


def run_here(trials: Sequence[Trial], policy: Policy, job: Job, attempt: int) -> Iterator[Finished]:
    return rollout(trials, policy, batch=job.batch, quality=job.quality, attempt=attempt)


def keep(finished: Finished, job: Job) -> Episode:
    """Store the trajectory, if the job says where."""
    if job.trajectories is not None and finished.trajectory is not None:
        finished.trajectory.save(job.trajectories / f"{finished.episode.trial_id}.npz")
    return finished.episode


def begin(job: Job, index: int) -> None:
    """Make this process the worker of that number."""
    os.environ[WORKER] = str(index)
    for plugin in job.plugins:
        load_plugin(plugin)


class _Worker(NamedTuple):
    process: SpawnProcess
    connection: Connection


class Processes:
    """A crew of processes on this machine. They store trajectories themselves, and send back episodes only."""

    def __init__(self, job: Job, size: int) -> None:
        pin()
        self.size = size
        self.idle: set[int] = set()
        self._job = job
        self._workers: list[_Worker] = []
        try:
            for index in range(size):
                self._workers.append(self._start(index))
        except BaseException:
            self.close()
            raise

    def send(self, worker: int, trials: Sequence[Trial], attempt: int) -> None:
        self.idle.discard(worker)
        # If it died while it was idle, `wait` will see it.
        with suppress(OSError):
            self._workers[worker].connection.send((trials, attempt))

    def wait(self) -> Iterator[tuple[int, Finished | Died | None]]:
        by_connection = {worker.connection: index for index, worker in enumerate(self._workers)}
        for connection in wait_for(list(by_connection)):
            assert isinstance(connection, Connection)
            index = by_connection[connection]
            try:
                message = connection.recv()
            except (EOFError, OSError):
                yield index, self._replace(index)
                continue
            if isinstance(message, BaseException):
                raise message
            if message is None:
                self.idle.add(index)
            yield index, message

    def close(self) -> None:
        for worker in self._workers:
            worker.process.terminate()
        for worker in self._workers:
            worker.process.join(STOP_S)
            worker.process.kill()
            worker.process.join()
            worker.connection.close()

    def _start(self, index: int) -> _Worker:
        context = get_context("spawn")
        here, there = context.Pipe()
        process = context.Process(target=_work, args=(self._job, index, there))
        process.start()
        # Else the death of the process would not end the connection.
        there.close()
        return _Worker(process, here)

    def _replace(self, index: int) -> Died:
        process, connection = self._workers[index]
        connection.close()
        process.join()
        self.idle.discard(index)
        self._workers[index] = self._start(index)
        return Died("worker process", f"exit code {process.exitcode}")


def _work(job: Job, index: int, connection: Connection) -> None:
    """The life of a worker process: get ready, then run what comes; None says that it waits for more."""
    # Ctrl-C is the driver's business: it keeps what is finished and stops the workers.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # What a policy prints is for a person to read, never part of a command's answer.
    sys.stdout = sys.stderr
    threading.Thread(target=die_with_driver, daemon=True).start()
    try:
        begin(job, index)
        policy = make(job)
        while True:
            connection.send(None)
            trials, attempt = connection.recv()
            for finished in run_here(trials, policy, job, attempt):
                connection.send(Finished(keep(finished, job), None))
    except (EOFError, ConnectionError):
        # The driver is gone.
        return
    except (UserError, Stop, OSError) as error:
        connection.send(error)
    except Exception:
        connection.send(RuntimeError(f"a worker failed:\n{traceback.format_exc()}"))


def die_with_driver() -> None:
    """A killed driver cannot stop its workers, and they would go on writing into a folder that is no longer locked."""
    driver = parent_process()
    if driver is not None:
        wait_for([driver.sentinel])
        os._exit(1)
