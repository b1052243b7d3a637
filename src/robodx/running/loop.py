"""The one loop that runs all rounds of trials, into a run folder or into memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

import numpy as np
import polars as pl

from robodx.errors import Stop
from robodx.policy_contract import Policy
from robodx.records.design import design_table, united, with_design
from robodx.records.episode import Episode
from robodx.records.table import to_table
from robodx.records.trial import Trial
from robodx.running.observers import EpisodeObserver
from robodx.running.rollout import rollout
from robodx.running.rounds import Rounds
from robodx.running.worker_pool import MAX_ATTEMPTS

# A server that was restarted, a worker that was killed: most errors do not come twice.
RETRIES = 2
# Of errors that read alike, beside those of all episodes under way: a lost server takes them along.
LONGEST_STREAK = 10
# Of why episodes are run again.
SHOWN_REASONS = 3

# Yields an episode for each of the trials, in the order in which they end.
Execute = Callable[[list[Trial]], Iterator[Episode]]


class RunObserver(Protocol):
    """Watches a run where it is driven from: called before each round, with None, and after each episode."""

    def __call__(self, episode: Episode | None, *, done: int, total: int, solved: int) -> None: ...


class Store(Protocol):
    """Where episodes are kept, and what they were for."""

    def episodes(self) -> pl.DataFrame: ...

    def note_design(self, rows: pl.DataFrame) -> None: ...

    def append(self, episode: Episode) -> None: ...

    def flush(self) -> None: ...


@dataclass
class Memory:
    """Episodes that are kept nowhere else."""

    _episodes: list[Episode] = field(default_factory=list)
    _design: list[pl.DataFrame] = field(default_factory=list)

    def episodes(self) -> pl.DataFrame:
        return with_design(to_table(self._episodes), united(self._design))

    def note_design(self, rows: pl.DataFrame) -> None:
        self._design.append(rows)

    def append(self, episode: Episode) -> None:
        self._episodes.append(episode)

    def flush(self) -> None: ...


@dataclass(frozen=True)
class Loop:
    """How rounds are driven: in which order, how often what erred is tried again, and when it is no use to go on."""

    execute: Execute
    observers: Sequence[RunObserver] = ()
    retries: int = RETRIES
    # Execute in a random order, from this seed.
    shuffle: int | None = None
    # Which of a round's trials are run here.
    part_of: Callable[[list[Trial]], list[Trial]] = lambda trials: trials
    # After how many errors in a row that read alike it is no use to go on; None: never.
    longest_streak: int | None = None
    # Recorded trials that are run again all the same, and why.
    again: Mapping[str, str] = field(default_factory=dict)
    tell: Callable[[str], None] = lambda line: None

    def drive(self, rounds: Rounds, store: Store) -> Iterator[None]:
        """Run what is missing, and pause after each round, before it is known whether another one follows."""
        done = store.episodes()
        tried = dict(done.select("trial_id", "attempt").iter_rows())
        # Trials that erred in an earlier call are tried again.
        kept = done.filter((pl.col("outcome") != "error") & ~pl.col("trial_id").is_in(list(self.again)))
        finished, solved = set(kept["trial_id"]), int(kept["success"].sum())
        recorded = dict(done.select("trial_id", "trajectory_hash").iter_rows())
        total = 0
        while trials := rounds.next(done):
            store.note_design(design_table(rounds.design))
            mine = self.part_of(trials)
            total += len(mine)
            self._tell(None, len(finished), total, solved)
            self._tell_again([self.again[trial.id] for trial in mine if trial.id in self.again])
            streak = _Streak(self.longest_streak)
            for episode in self._persist(self._in_order([trial for trial in mine if trial.id not in finished])):
                tried[episode.trial_id] = episode.attempt + tried.get(episode.trial_id, 0)
                is_known = episode.trial_id in self.again
                # An error would take the place of what is known of the trial.
                if not (is_known and episode.outcome == "error"):
                    store.append(replace(episode, attempt=tried[episode.trial_id]))
                    if is_known and episode.trajectory_hash != recorded[episode.trial_id]:
                        self.tell(f"{episode.task} seed {episode.seed} went differently: the new result counts.")
                finished.add(episode.trial_id)
                solved += episode.success
                self._tell(episode, len(finished), total, solved)
                streak.note(episode)
            store.flush()
            done = store.episodes()
            yield

    def _tell(self, episode: Episode | None, done: int, total: int, solved: int) -> None:
        for observer in self.observers:
            observer(episode, done=done, total=max(total, done), solved=solved)

    def _tell_again(self, reasons: list[str]) -> None:
        if reasons:
            further = f"; and {len(reasons) - SHOWN_REASONS} more" if len(reasons) > SHOWN_REASONS else ""
            episodes = "1 episode" if len(reasons) == 1 else f"{len(reasons)} episodes"
            self.tell(f"Running {episodes} again: {'; '.join(reasons[:SHOWN_REASONS])}{further}.")

    def _in_order(self, trials: list[Trial]) -> list[Trial]:
        if self.shuffle is None:
            return trials
        return [trials[index] for index in np.random.default_rng(self.shuffle).permutation(len(trials))]

    def _persist(self, trials: list[Trial]) -> Iterator[Episode]:
        """Episodes as they end; trials that erred come again, when the others are done."""
        for _ in range(self.retries + 1):
            if not trials:
                return
            erred = set()
            for episode in self.execute(trials):
                # A trial that killed one worker after the other has been tried enough.
                if episode.outcome == "error" and episode.attempt < MAX_ATTEMPTS:
                    erred.add(episode.trial_id)
                yield episode
            trials = [trial for trial in trials if trial.id in erred]


def collect(policy: Policy, rounds: Rounds, observers: Sequence[EpisodeObserver] = ()) -> pl.DataFrame:
    """The episodes of all rounds, run in this process and kept in memory."""

    def execute(trials: list[Trial]) -> Iterator[Episode]:
        batch = rounds.request.batch
        return (finished.episode for finished in rollout(trials, policy, batch=batch, observers=observers))

    store = Memory()
    for _ in Loop(execute, retries=0).drive(rounds, store):
        pass
    return store.episodes()


@dataclass
class _Streak:
    """Errors in a row that read alike: then it is not the trials, and going on would cost hours for nothing."""

    longest: int | None
    text: str = ""
    length: int = 0

    def note(self, episode: Episode) -> None:
        text = "".join((episode.error or "").strip().splitlines()[-1:]) if episode.outcome == "error" else ""
        self.length = self.length + 1 if text and text == self.text else bool(text)
        self.text = text
        if self.longest is not None and self.length >= self.longest:
            raise Stop(f"{self.length} episodes in a row ended with the same error; finished episodes are kept: {text}")
