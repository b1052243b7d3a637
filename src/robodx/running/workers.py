"""Runs trials in this process or in several: the same rollout underneath, and the same episodes."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from multiprocessing import get_context, parent_process
from multiprocessing.connection import wait as wait_for
from pathlib import Path
from typing import NamedTuple

from robodx.policies.base import Policy, make_policy
from robodx.registry import load_plugin
from robodx.running.episode import Episode
from robodx.running.rollout import lost, rollout
from robodx.running.threads import pin
from robodx.running.trial import Trial

# A worker that dies takes its trial along; after this many deaths the trial counts as the cause.
MAX_ATTEMPTS = 3


@dataclass(frozen=True)
class Job:
    """How trials are executed; the same in every process."""

    policy: str
    trajectories: Path | None = None
    quality: str = "fast"
    batch: int = 1
    plugins: tuple[str, ...] = ()


def execute(trials: Sequence[Trial], job: Job, *, workers: int = 1, policy: Policy | None = None) -> Iterator[Episode]:
    """Yield an episode for each trial, in the order in which they end.

    A single worker is this process, and uses `policy` if it is given; several build their own by name.
    """
    if workers < 1:
        raise ValueError(f"{workers} workers: at least 1 is needed")
    groups = [tuple(trials[at : at + job.batch]) for at in range(0, len(trials), job.batch)]
    if workers == 1:
        policy = policy or make_policy(job.policy)
        for group in groups:
            yield from _run(group, policy, job, attempt=1)
    else:
        yield from _execute_in_processes(groups, job, workers)


def _run(trials: tuple[Trial, ...], policy: Policy, job: Job, attempt: int) -> Iterator[Episode]:
    for finished in rollout(trials, policy, batch=job.batch, quality=job.quality, attempt=attempt):
        if job.trajectories is not None and finished.trajectory is not None:
            finished.trajectory.save(job.trajectories / f"{finished.episode.trial_id}.npz")
        yield finished.episode


class _Attempt(NamedTuple):
    trials: tuple[Trial, ...]
    number: int


def _execute_in_processes(groups: list[tuple[Trial, ...]], job: Job, workers: int) -> Iterator[Episode]:
    """A pool that lost a worker is broken. What it was running is suspect and runs alone, until the cause is found."""
    pin()
    waiting = deque(_Attempt(group, 1) for group in groups)
    suspects: deque[_Attempt] = deque()
    while waiting or suspects:
        pool = ProcessPoolExecutor(workers, get_context("spawn"), initializer=_start_worker, initargs=(job,))
        running: dict[Future[list[Episode]], _Attempt] = {}
        try:
            yield from _use(pool, running, waiting, suspects, 2 * workers)
        except BrokenProcessPool:
            for trials, number in running.values():
                if number < MAX_ATTEMPTS:
                    suspects.extend(_Attempt((trial,), number + 1) for trial in trials)
                else:
                    message = f"the worker process died {number} times while running this trial"
                    yield from (lost(trial, message, number, 0.0) for trial in trials)
        finally:
            _stop(pool)


def _use(
    pool: ProcessPoolExecutor,
    running: dict[Future[list[Episode]], _Attempt],
    waiting: deque[_Attempt],
    suspects: deque[_Attempt],
    most: int,
) -> Iterator[Episode]:
    """Work until nothing is left or the pool breaks; then `running` holds what it had not finished."""
    while waiting or suspects or running:
        while (suspects and not running) or (waiting and not suspects and len(running) < most):
            queue = suspects or waiting
            # Taken from the queue only when the pool has it: a pool may break at this very moment.
            running[pool.submit(_run_in_worker, queue[0].trials, queue[0].number)] = queue[0]
            queue.popleft()
        done, _ = wait(running, return_when=FIRST_COMPLETED)
        for future in done:
            episodes = future.result()
            del running[future]
            yield from episodes


def _stop(pool: ProcessPoolExecutor) -> None:
    """At once: what still runs is not waited for, and is run again when the run is resumed."""
    processes = list((pool._processes or {}).values())
    pool.shutdown(wait=False, cancel_futures=True)
    for process in processes:
        process.terminate()
    for process in processes:
        process.join()


_worker_job: Job | None = None
_worker_policy: Policy | Exception | None = None


def _start_worker(job: Job) -> None:
    global _worker_job, _worker_policy
    # Ctrl-C is the driver's business: it keeps what is finished and stops the workers.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # What a policy prints is for a person to read, never part of a command's answer.
    sys.stdout = sys.stderr
    threading.Thread(target=_die_with_driver, daemon=True).start()
    _worker_job = job
    try:
        for plugin in job.plugins:
            load_plugin(plugin)
        _worker_policy = make_policy(job.policy)
    except Exception as error:
        # Told by the first trial, to the driver: an initialiser that raises would only break the pool.
        _worker_policy = error


def _die_with_driver() -> None:
    """A killed driver cannot stop its workers, and they would go on writing into a folder that is no longer locked."""
    driver = parent_process()
    if driver is not None:
        wait_for([driver.sentinel])
        os._exit(1)


def _run_in_worker(trials: tuple[Trial, ...], attempt: int) -> list[Episode]:
    assert _worker_job is not None and _worker_policy is not None
    if isinstance(_worker_policy, Exception):
        raise _worker_policy
    return list(_run(trials, _worker_policy, _worker_job, attempt))
