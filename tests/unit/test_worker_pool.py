"""Whatever dies and whenever, every trial ends as one episode, and only what kills its workers is lost."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from robodx.errors import UserError
from robodx.records.episode import Episode
from robodx.records.trial import Trial
from robodx.running.observers import Finished
from robodx.running.rollout import lost
from robodx.running.worker_pool import MAX_ATTEMPTS, WorkerLost, carry_out


def trials(number: int) -> list[Trial]:
    return [Trial("primitive/press_switch", 2, "still", seed) for seed in range(number)]


class Play:
    """A crew without processes: workers run a batch at a time, one batch at each wait, and die when told to.

    `dies(seed, attempt)` says whether a trial kills; with `is_shared` it takes along what all the others run.
    """

    def __init__(self, size: int, batch: int, dies: Callable[[int, int], bool], *, is_shared: bool = False) -> None:
        self.size, self.idle = size, set(range(size))
        self._batch, self._dies, self._is_shared = batch, dies, is_shared
        self._groups: dict[int, tuple[deque[Trial], int]] = {}
        self.begun: Counter[int] = Counter()
        self.sizes: list[int] = []

    def send(self, worker: int, trials: Sequence[Trial], attempt: int) -> None:
        assert worker in self.idle and trials
        self.idle.remove(worker)
        self.sizes.append(len(trials))
        self._groups[worker] = deque(trials), attempt

    def wait(self) -> Iterator[tuple[int, Finished | WorkerLost | None]]:
        assert self._groups, "nothing would ever happen"
        live = {worker: list(group)[: self._batch] for worker, (group, _) in self._groups.items()}
        self.begun.update(trial.seed for batch in live.values() for trial in batch)
        for worker, batch in live.items():
            if any(self._dies(trial.seed, self._groups[worker][1]) for trial in batch):
                dead = list(live) if self._is_shared else [worker]
                for victim in dead:
                    del self._groups[victim]
                    self.idle.add(victim)
                    yield victim, WorkerLost("player", "it was told to", self._is_shared)
                return
        for worker, batch in live.items():
            group, attempt = self._groups[worker]
            for trial in batch:
                group.remove(trial)
                yield worker, Finished(lost(trial, "done", attempt, 0.0), None)
            if not group:
                del self._groups[worker]
                self.idle.add(worker)
                yield worker, None

    def close(self) -> None: ...


def play(number: int, pool: Play, batch: int) -> list[Episode]:
    episodes = [finished.episode for finished in carry_out(trials(number), pool, batch)]
    assert sorted(episode.seed for episode in episodes) == list(range(number))
    return episodes


@given(
    number=st.integers(0, 60),
    size=st.integers(1, 5),
    batch=st.integers(1, 4),
    killers=st.sets(st.integers(0, 59), max_size=4),
    is_shared=st.booleans(),
)
def test_only_trials_that_kill_are_lost(number: int, size: int, batch: int, killers: set[int], is_shared: bool) -> None:
    pool = Play(size, batch, lambda seed, attempt: seed in killers, is_shared=is_shared)
    gone = {episode.seed for episode in play(number, pool, batch) if "died 3 times" in (episode.error or "")}
    assert gone == {seed for seed in killers if seed < number}
    assert all(pool.begun[seed] >= MAX_ATTEMPTS for seed in gone)


def test_a_trial_whose_worker_died_once_is_run_again_and_no_other() -> None:
    pool = Play(2, 1, lambda seed, attempt: (seed, attempt) == (3, 1))
    episodes = play(8, pool, 1)
    assert {episode.seed: episode.attempt for episode in episodes if episode.attempt > 1} == {3: 2}
    assert all(episode.error == "done" for episode in episodes)


def test_groups_are_long_at_first_and_end_as_single_batches() -> None:
    pool = Play(2, 2, lambda seed, attempt: False)
    play(200, pool, 2)
    assert pool.sizes[0] == 16 and pool.sizes[-1] <= 2 and pool.sizes == sorted(pool.sizes, reverse=True)


def test_few_trials_are_shared_evenly() -> None:
    pool = Play(2, 8, lambda seed, attempt: False)
    play(6, pool, 8)
    assert pool.sizes == [3, 3]


def test_workers_that_cannot_start_end_the_run() -> None:
    class Stillborn(Play):
        def wait(self) -> Iterator[tuple[int, Finished | WorkerLost | None]]:
            yield 0, WorkerLost("worker process", "exit code -11")

    pool = Stillborn(2, 1, lambda seed, attempt: False)
    pool.idle.clear()
    with pytest.raises(UserError, match=r"worker process died 6 times while starting.*exit code -11"):
        list(carry_out(trials(1), pool, 1))


class Reluctant(Play):
    """What its workers need is not to be had at first; that is noticed when they are given something to run."""

    refusals = 0

    def wait(self) -> Iterator[tuple[int, Finished | WorkerLost | None]]:
        if not self.refusals:
            yield from super().wait()
            return
        self.refusals -= 1
        worker = min(self._groups)
        del self._groups[worker]
        self.idle.add(worker)
        yield worker, WorkerLost("policy actor", "it cannot be built", has_begun=False)


def test_trials_that_were_not_begun_are_not_the_cause() -> None:
    pool = Reluctant(2, 2, lambda seed, attempt: False)
    pool.refusals = 5
    assert {episode.attempt for episode in play(40, pool, 2)} == {1}


def test_what_workers_need_and_cannot_have_ends_the_run() -> None:
    pool = Reluctant(2, 1, lambda seed, attempt: False)
    pool.refusals = 99
    with pytest.raises(UserError, match=r"policy actor died 6 times while starting.*it cannot be built"):
        list(carry_out(trials(4), pool, 1))


def test_a_worker_starts_without_what_only_statistics_need() -> None:
    code = "import sys, robodx.running.workers; print('scipy' in sys.modules)"
    assert subprocess.check_output([sys.executable, "-c", code], text=True) == "False\n"
