"""Distributes trials to workers that may die, and ensures that every trial ends as one episode."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from robodx.errors import UserError
from robodx.records.trial import Trial
from robodx.running.observers import Finished
from robodx.running.rollout import lost

# A worker that dies takes its trial along; after this many deaths the trial counts as the cause.
MAX_ATTEMPTS = 3
# Long groups keep a batch full and workers busy; yet what is left is shared evenly, so that all end at about the same
# time.
LONGEST_GROUP = 8  # batches
SHARES = 4  # groups that each worker can still expect


class WorkerLost(NamedTuple):
    """What a worker was running is lost. It starts anew by itself."""

    who: str
    detail: str
    # Something that several workers use has died: any of them may have been the cause.
    is_shared: bool = False
    # If not, it was still getting ready: none of the trials is the cause.
    has_begun: bool = True


class WorkerPool(Protocol):
    """Workers by number, each running one group of trials at a time."""

    # Those that wait for a group; a worker that is starting is not among them.
    idle: set[int]

    @property
    def size(self) -> int: ...

    def send(self, worker: int, trials: Sequence[Trial], attempt: int) -> None:
        """Give an idle worker a group to run."""

    def wait(self) -> Iterable[tuple[int, Finished | WorkerLost | None]]:
        """What has happened, at least one thing: an episode ended, a worker died, or (None) it became idle.

        What a worker raises is raised here.
        """

    def close(self) -> None:
        """Stop at once: what still runs is not waited for."""


@dataclass
class _Group:
    trials: list[Trial]  # in the order in which they are begun; those that have ended are taken out
    attempt: int = 1
    is_alone: bool = False  # nothing else runs meanwhile


def carry_out(trials: Sequence[Trial], pool: WorkerPool, batch: int) -> Iterator[Finished]:
    """Yield an episode for each trial, in the order in which they end."""
    work = _Work(trials, batch, pool.size)
    running: dict[int, _Group] = {}
    failed_starts = 0
    while work.is_left or running:
        for worker in sorted(pool.idle):
            group = work.take(running.values())
            if group is None:
                break
            running[worker] = group
            pool.send(worker, tuple(group.trials), group.attempt)
        for worker, event in pool.wait():
            if isinstance(event, Finished):
                group = running[worker]
                group.trials = [trial for trial in group.trials if trial.id != event.episode.trial_id]
                yield event
            elif isinstance(event, WorkerLost):
                lost_group = running.pop(worker, None)
                if lost_group is not None and event.has_begun:
                    failed_starts = 0
                    yield from work.lose(lost_group, event)
                    continue
                if lost_group is not None:
                    work.take_back(lost_group)
                failed_starts += 1
                if failed_starts >= MAX_ATTEMPTS * pool.size:
                    raise UserError(
                        f"the {event.who} died {failed_starts} times while starting, before it ran a trial; "
                        f"the last time: {event.detail}"
                    )
            else:
                failed_starts = 0
                running.pop(worker, None)


class _Work:
    """What is still to be given out."""

    def __init__(self, trials: Sequence[Trial], batch: int, workers: int) -> None:
        self._waiting = deque(trials)
        # Given out before the rest. A trial that was under way when its worker died comes without company: if it is the
        # cause, it costs no other.
        self._returned: deque[_Group] = deque()
        self._batch, self._workers = batch, workers
        self._fair_share = -(-len(trials) // workers)

    @property
    def is_left(self) -> bool:
        return bool(self._waiting or self._returned)

    def take(self, running: Collection[_Group]) -> _Group | None:
        """The next group, or None while there is none to be given out beside those that are running."""
        if any(group.is_alone for group in running):
            return None
        if self._returned:
            return None if self._returned[0].is_alone and running else self._returned.popleft()
        if not self._waiting:
            return None
        left = len(self._waiting)
        size = max(self._batch, min(LONGEST_GROUP * self._batch, left // (SHARES * self._workers)))
        return _Group([self._waiting.popleft() for _ in range(min(size, self._fair_share, left))])

    def take_back(self, group: _Group) -> None:
        """A group that was not begun."""
        self._returned.appendleft(group)

    def lose(self, group: _Group, death: WorkerLost) -> Iterator[Finished]:
        """Take back what a dead worker had not finished, or give it up as lost."""
        begun, untouched = group.trials[: self._batch], group.trials[self._batch :]
        self._waiting.extendleft(reversed(untouched))
        attempt = group.attempt + 1
        if attempt <= MAX_ATTEMPTS:
            # Where another worker's trial may have been the cause, the last attempt is made while no other runs.
            is_alone = death.is_shared and attempt == MAX_ATTEMPTS
            self._returned.extend(_Group([trial], attempt, is_alone) for trial in begun)
        else:
            message = (
                f"the {death.who} died {group.attempt} times while running this trial; the last time: {death.detail}"
            )
            yield from (Finished(lost(trial, message, group.attempt, 0.0), None) for trial in begun)
