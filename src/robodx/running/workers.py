"""Runs trials in this process or in several: the same rollout underneath, and the same episodes."""

from __future__ import annotations

import signal
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from multiprocessing import get_context
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
    preset: str = "fast"
    batch: int = 1
    plugins: tuple[str, ...] = ()


def execute(trials: Sequence[Trial], job: Job, *, workers: int = 1) -> Iterator[Episode]:
    """Yield an episode for each trial, in the order in which they end."""
    if workers < 1:
        raise ValueError(f"{workers} workers: at least 1 is needed")
    groups = [tuple(trials[at : at + job.batch]) for at in range(0, len(trials), job.batch)]
    if workers == 1:
        policy = make_policy(job.policy)
        for group in groups:
            yield from _run(group, policy, job, attempt=1)
    else:
        yield from _execute_in_processes(groups, job, workers)


def _run(trials: tuple[Trial, ...], policy: Policy, job: Job, attempt: int) -> Iterator[Episode]:
    for finished in rollout(trials, policy, batch=job.batch, preset=job.preset, attempt=attempt):
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
            attempt = (suspects or waiting).popleft()
            running[pool.submit(_run_in_worker, attempt.trials, attempt.number)] = attempt
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
_worker_policy: Policy | None = None


def _start_worker(job: Job) -> None:
    global _worker_job, _worker_policy
    # Ctrl-C is the driver's business: it keeps what is finished and stops the workers.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for plugin in job.plugins:
        load_plugin(plugin)
    _worker_job, _worker_policy = job, make_policy(job.policy)


def _run_in_worker(trials: tuple[Trial, ...], attempt: int) -> list[Episode]:
    assert _worker_job is not None and _worker_policy is not None
    return list(_run(trials, _worker_policy, _worker_job, attempt))
