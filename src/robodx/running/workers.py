"""Runs trials in this process, in several or on a cluster, with the same rollout and the same episodes."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
import traceback
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, nullcontext, suppress
from dataclasses import dataclass, replace
from multiprocessing import get_context, parent_process, resource_tracker
from multiprocessing.connection import Connection
from multiprocessing.connection import wait as wait_for
from multiprocessing.context import SpawnProcess
from typing import TYPE_CHECKING, NamedTuple

from robodx.errors import Stop, UserError
from robodx.policy_contract import CLOSE_S, Policy, opened
from robodx.records.episode import Episode
from robodx.records.trial import Trial
from robodx.registry import load_plugin
from robodx.running.observers import EpisodeObserver, Finished
from robodx.running.rollout import rollout
from robodx.running.threads import pin
from robodx.running.worker_pool import WorkerLost, carry_out
from robodx.users_code import notice_exits, really_exit
from robodx.wires.base import WORKER
from robodx.wires.remote import RemotePolicy

if TYPE_CHECKING:
    from robodx.running.cluster import Cluster

# Longer than a process needs to close its policy and die of a polite signal, short enough for someone who pressed
# Ctrl-C.
STOP_S = CLOSE_S + 1.0


@dataclass(frozen=True)
class Job:
    """How trials are executed; the same in every process."""

    policy: str
    observers: tuple[EpisodeObserver, ...] = ()
    quality: str = "fast"
    batch: int = 1
    plugins: tuple[str, ...] = ()
    preset: str | None = None
    # The policy has a process of its own, which is started again if it dies: workers only ask it.
    is_out_of_process: bool = False

    @property
    def elsewhere(self) -> Job:
        """For machines that may not have this one's folders."""
        return replace(self, observers=tuple(one for one in self.observers if not one.writes_here))


def execute(
    trials: Sequence[Trial],
    job: Job,
    *,
    workers: int = 1,
    policy: Policy | None = None,
    cluster: Cluster | None = None,
    kept: KeptProcesses | None = None,
) -> Iterator[Episode]:
    """Yield an episode for each trial, in the order in which they end.

    A single worker is this process, and uses `policy` if it is given; several build their own by name, in the
    processes that are `kept` if there are any. On a cluster even a single one is an actor there, and one that asks an
    out-of-process policy is a process: its trials can be run again.
    """
    if workers < 1:
        raise ValueError(f"{workers} workers: at least 1 is needed")
    if not trials:
        return
    if cluster is not None:
        with cluster.pool(job, workers) as actors:
            by_id = {trial.id: trial for trial in trials}
            for finished in carry_out(trials, actors, job.batch):
                for observer in job.observers:
                    if observer.writes_here:
                        finished = observer.after_episode(by_id[finished.episode.trial_id], finished)
                yield finished.episode
    elif workers == 1 and not job.is_out_of_process:
        with opened(job.policy, job.preset) if policy is None else nullcontext(policy) as mine:
            for finished in run_here(trials, mine, job, attempt=1):
                yield finished.episode
    else:
        with closing(KeptProcesses(job)) if kept is None else nullcontext(kept) as mine:
            has_erred = False
            with mine.pool(min(workers, len(trials))) as processes:
                for finished in carry_out(trials, processes, job.batch):
                    has_erred |= finished.episode.outcome == "error"
                    yield finished.episode
            if has_erred:
                # Its policy may be past use: what is tried again gets another one.
                mine.close()


def run_here(trials: Sequence[Trial], policy: Policy, job: Job, attempt: int) -> Iterator[Finished]:
    return rollout(trials, policy, batch=job.batch, quality=job.quality, attempt=attempt, observers=job.observers)


def begin(job: Job, index: int) -> None:
    """Make this process the worker of that number."""
    os.environ[WORKER] = str(index)
    for plugin in job.plugins:
        load_plugin(plugin, is_known=True)


class Failure(NamedTuple):
    """What ended a process, in words: a user's exception need not survive the way from one to another."""

    kind: type[BaseException]
    text: str

    @classmethod
    def of(cls, error: BaseException, who: str) -> Failure:
        for kind in (UserError, Stop, OSError):
            if isinstance(error, kind):
                return cls(kind, str(error))
        return cls(RuntimeError, f"{who} failed:\n{''.join(traceback.format_exception(error))}")

    def again(self) -> BaseException:
        return self.kind(self.text)


def start(process: SpawnProcess) -> None:
    """Start a process to which Ctrl-C means nothing from its first moment on; see `settle`."""
    resource_tracker.ensure_running()  # when it starts, it lets the signal through again
    try:
        # Inherited: importing what it needs takes a while. A Ctrl-C that comes meanwhile is raised here afterwards.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            process.start()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
    except BaseException:
        if process.ident is not None:
            process.kill()
            process.join()
        raise


def settle() -> None:
    """Make this process one that belongs to its driver."""
    # Ctrl-C is the driver's business: it keeps what is finished and stops the others.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    # What a policy prints is for a person to read, never part of a command's answer.
    sys.stdout = sys.stderr
    notice_exits()
    threading.Thread(target=_die_with_driver, daemon=True).start()


def _die_with_driver() -> None:
    """A killed driver cannot stop its workers, and they would go on writing into a folder that is no longer locked."""
    driver = parent_process()
    if driver is not None:
        wait_for([driver.sentinel])
        really_exit(1)


class _Worker(NamedTuple):
    process: SpawnProcess
    connection: Connection


class Processes:
    """A worker pool of processes on this machine. They store trajectories themselves, and send back episodes only."""

    def __init__(self, job: Job, size: int) -> None:
        pin()
        self.idle: set[int] = set()
        self._job = job
        self._workers: list[_Worker] = []
        self.grow(size)

    @property
    def size(self) -> int:
        return len(self._workers)

    def grow(self, size: int) -> None:
        """So many at least."""
        try:
            for index in range(self.size, size):
                self._workers.append(self._start(index))
        except BaseException:
            self.close()
            raise

    def send(self, worker: int, trials: Sequence[Trial], attempt: int) -> None:
        self.idle.discard(worker)
        # If it died while it was idle, `wait` will see it.
        with suppress(OSError):
            self._workers[worker].connection.send((trials, attempt))

    def wait(self) -> Iterator[tuple[int, Finished | WorkerLost | None]]:
        by_connection = {worker.connection: index for index, worker in enumerate(self._workers)}
        for connection in wait_for(list(by_connection)):
            assert isinstance(connection, Connection)
            index = by_connection[connection]
            try:
                message = connection.recv()
            except (EOFError, OSError):
                yield index, self._replace(index)
                continue
            if isinstance(message, Failure):
                raise message.again()
            if message is None:
                self.idle.add(index)
            yield index, message

    def close(self) -> None:
        """Those that are idle close their policies first."""
        processes = [worker.process for worker in self._workers]
        try:
            for index, worker in enumerate(self._workers):
                if index in self.idle:
                    with suppress(OSError):
                        worker.connection.send(None)
                else:
                    worker.process.terminate()
            _join(processes)
            for process in processes:
                process.terminate()
            _join(processes)
        finally:
            for worker in self._workers:
                worker.process.kill()
                worker.process.join()
                worker.connection.close()

    def _start(self, index: int) -> _Worker:
        context = get_context("spawn")
        here, there = context.Pipe()
        process = context.Process(target=_work, args=(self._job, index, there))
        start(process)
        # Else the death of the process would not end the connection.
        there.close()
        return _Worker(process, here)

    def _replace(self, index: int) -> WorkerLost:
        process, connection = self._workers[index]
        connection.close()
        process.join()
        self.idle.discard(index)
        self._workers[index] = self._start(index)
        return WorkerLost("worker process", f"exit code {process.exitcode}")


class KeptProcesses:
    """The worker processes of one run, from round to round: to start one takes longer than most episodes."""

    def __init__(self, job: Job) -> None:
        self._job = job
        self._processes: Processes | None = None

    @contextmanager
    def pool(self, size: int) -> Iterator[Processes]:
        """Kept for the next round, unless the block ends with an exception."""
        if self._processes is None:
            self._processes = Processes(self._job, size)
        else:
            self._processes.grow(size)
        try:
            yield self._processes
        except BaseException:
            # What still runs is nobody's any more.
            self.close()
            raise

    def close(self) -> None:
        processes, self._processes = self._processes, None
        if processes is not None:
            processes.close()


def _join(processes: Sequence[SpawnProcess]) -> None:
    end = time.monotonic() + STOP_S
    for process in processes:
        process.join(max(end - time.monotonic(), 0.0))


def _work(job: Job, index: int, connection: Connection) -> None:
    """The life of a worker process: get ready, then run what comes; None says that it waits for more."""
    settle()
    try:
        begin(job, index)
        with opened(job.policy, job.preset) as policy:
            _send(connection, None)
            while (group := _receive(connection)) is not None:
                trials, attempt = group
                for event in _events(trials, policy, job, attempt):
                    _send(connection, event)
                _send(connection, None)
    except (Exception, Stop) as error:
        _send(connection, Failure.of(error, "a worker"))


def _events(trials: Sequence[Trial], policy: Policy, job: Job, attempt: int) -> Iterator[Finished | WorkerLost]:
    """An event for each trial, until the policy's own process is lost, and with it all that is under way."""
    wire = policy.wire if job.is_out_of_process and isinstance(policy, RemotePolicy) else None
    losses = wire.losses if wire is not None else 0
    for finished in run_here(trials, policy, job, attempt):
        if wire is not None and wire.losses > losses and finished.episode.outcome == "error":
            yield WorkerLost(
                "policy's process", (finished.episode.error or "").strip().rpartition("\n")[2], is_shared=True
            )
            return
        yield Finished(finished.episode, None)


def _send(connection: Connection, message: Finished | WorkerLost | Failure | None) -> None:
    try:
        connection.send(message)
    except OSError:
        # The driver is gone.
        raise SystemExit(1) from None


def _receive(connection: Connection) -> tuple[Sequence[Trial], int] | None:
    """What to run next; None if that was all."""
    try:
        group: tuple[Sequence[Trial], int] | None = connection.recv()
    except (EOFError, OSError):
        return None
    return group
