"""Runs trials in this process or in several: the same rollout underneath, and the same episodes."""

from __future__ import annotations

import os
import signal
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path

from robodx.policies.base import Policy, make_policy
from robodx.registry import discover_all, load_plugin
from robodx.running.episode import Episode
from robodx.running.rollout import lost, rollout
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


def _execute_in_processes(groups: list[tuple[Trial, ...]], job: Job, workers: int) -> Iterator[Episode]:
    waiting = deque((group, 1) for group in groups)
    while waiting:
        # A pool that lost a worker is broken: what it had not finished goes to a new one.
        pool = ProcessPoolExecutor(workers, get_context("spawn"), initializer=_start_worker, initargs=(job,))
        running: dict[Future[list[Episode]], tuple[tuple[Trial, ...], int]] = {}
        try:
            is_broken = False
            while (waiting or running) and not is_broken:
                while waiting and len(running) < 2 * workers:
                    group, attempt = waiting.popleft()
                    running[pool.submit(_run_in_worker, group, attempt)] = (group, attempt)
                done, _ = wait(running, return_when=FIRST_COMPLETED)
                for future in done:
                    group, attempt = running[future]
                    try:
                        episodes = future.result()
                    except BrokenProcessPool:
                        is_broken = True
                        continue
                    del running[future]
                    yield from episodes
        except BrokenProcessPool:
            pass
        finally:
            _stop(pool)
        for group, attempt in running.values():
            if attempt < MAX_ATTEMPTS:
                waiting.append((group, attempt + 1))
            else:
                message = f"the worker process died {attempt} times while running this trial"
                yield from (lost(trial, message, attempt, 0.0) for trial in group)


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
    discover_all()
    for plugin in job.plugins:
        load_plugin(plugin)
    _worker_job, _worker_policy = job, make_policy(job.policy)


def _run_in_worker(trials: tuple[Trial, ...], attempt: int) -> list[Episode]:
    assert _worker_job is not None and _worker_policy is not None
    return list(_run(trials, _worker_policy, _worker_job, attempt))


def pin_threads() -> None:
    """One thread a process for BLAS, before numpy is imported: workers share the cores, and sums keep their order."""
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(name, "1")
