"""Observers of episodes: they store, measure or export them in the process that runs them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from robodx.policy_contract import Observation
from robodx.records.episode import Episode
from robodx.records.trajectory import Trajectory
from robodx.records.trial import Trial
from robodx.running.environment import Environment


class Finished(NamedTuple):
    """An executed trial; the trajectory is None where the episode did not get that far."""

    episode: Episode
    trajectory: Trajectory | None


class EpisodeObserver:
    """Hooks are named for when they are called, and do nothing unless overridden.

    It travels to the processes that run episodes, and must say the same of an episode in each of them. What it raises
    during an episode is that trial's error; what it raises after one, as where a disk is full, ends the run. Every
    episode that begins also ends, be it in an error; one that begins again has the same trial.
    """

    # Whether it writes files for this machine: then what runs elsewhere is shown to it here, when it has come back.
    writes_here = False

    def before_episode(self, environment: Environment) -> None: ...

    def before_query(self, environment: Environment, observation: Observation) -> None: ...

    def after_step(self, environment: Environment) -> None: ...

    def after_episode(self, trial: Trial, finished: Finished) -> Finished:
        """Returns what is to be recorded of it."""
        return finished


@dataclass(frozen=True)
class TrajectoryWriter(EpisodeObserver):
    """Stores the arrays of each episode in a folder."""

    folder: Path
    writes_here = True

    def after_episode(self, trial: Trial, finished: Finished) -> Finished:
        if finished.trajectory is not None:
            finished.trajectory.save(self.folder / f"{trial.id}.npz")
        return finished
