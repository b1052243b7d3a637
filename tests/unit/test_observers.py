"""What watches episodes sees each of them begin, act and end, and may change what is recorded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from robodx.policy_contract import ActionChunk, EpisodeStart, Observation, PolicySpec, make_policy
from robodx.records.table import load
from robodx.records.trajectory import Trajectory
from robodx.records.trial import Trial
from robodx.running.environment import Environment
from robodx.running.observers import EpisodeObserver, Finished
from robodx.running.request import Request
from robodx.running.rollout import rollout
from robodx.running.run import Execution, run
from robodx.tasks.base import TASKS

TASK = "primitive/press_switch"


@dataclass
class Diary(EpisodeObserver):
    seen: list[str] = field(default_factory=list)

    def before_episode(self, environment: Environment) -> None:
        self.seen.append("begins")

    def before_query(self, environment: Environment, observation: Observation) -> None:
        self.seen.append("query")

    def after_step(self, environment: Environment) -> None:
        self.seen.append("step")

    def after_episode(self, trial: Trial, finished: Finished) -> Finished:
        self.seen.append(finished.episode.outcome)
        return finished._replace(episode=replace(finished.episode, tags=("watched",)))


@dataclass(frozen=True)
class Tagged(EpisodeObserver):
    def after_episode(self, trial: Trial, finished: Finished) -> Finished:
        assert finished.trajectory is not None, "those after the writer see it too"
        return finished._replace(episode=replace(finished.episode, tags=("watched",)))


class Failing:
    """Errs when it is asked for the third time."""

    spec = PolicySpec(action_space="joint", state=())

    def __init__(self) -> None:
        self.asked = 0
        self._inner = make_policy("still")
        self.spec = self._inner.spec

    def reset(self, starts: Sequence[EpisodeStart]) -> None:
        self._inner.reset(starts)

    def act(self, observations: Sequence[Observation]) -> Sequence[ActionChunk | Exception]:
        self.asked += 1
        if self.asked == 3:
            raise RuntimeError("no more")
        return self._inner.act(observations)

    def finish(self, episode_ids: Sequence[str]) -> None:
        self._inner.finish(episode_ids)


def trial(seed: int = 0) -> Trial:
    return Trial(TASK, TASKS[TASK].version, "expert", seed)


def test_an_episode_is_seen_from_its_beginning_to_its_end() -> None:
    diary = Diary()
    (finished,) = rollout([trial()], make_policy("expert"), observers=[diary])
    steps = finished.episode.steps
    assert diary.seen[0] == "begins" and diary.seen[-1] == "success"
    assert diary.seen.count("query") == diary.seen.count("step") == steps > 0
    assert finished.episode.tags == ("watched",)


def test_an_episode_that_errs_is_seen_to_end_too() -> None:
    diary = Diary()
    (finished,) = rollout([trial()], Failing(), observers=[diary])
    assert finished.episode.outcome == "error" and (diary.seen[0], diary.seen[-1]) == ("begins", "error")


def test_what_an_observer_raises_during_an_episode_is_that_trials_error_and_afterwards_ends_the_run() -> None:
    class Broken(EpisodeObserver):
        def after_step(self, environment: Environment) -> None:
            if environment.trial.seed == 0:
                raise RuntimeError("broken")

    class Full(EpisodeObserver):
        def after_episode(self, trial: Trial, finished: Finished) -> Finished:
            raise OSError("disk full")

    outcomes = [
        one.episode.outcome for one in rollout([trial(0), trial(1)], make_policy("still"), observers=[Broken()])
    ]
    assert outcomes == ["error", "timeout"]
    with pytest.raises(OSError, match="disk full"):
        list(rollout([trial()], make_policy("still"), observers=[Full()]))


@pytest.mark.parametrize("workers", [1, 2])
def test_a_run_has_observers_in_whichever_process_its_episodes_run(workers: int, tmp_path: Path) -> None:
    run(Request((TASK,), "expert", 2), tmp_path, Execution(workers=workers), episode_observers=[Tagged()])
    table = load(tmp_path)
    assert table["tags"].to_list() == [["watched"]] * 2 and table["length_ratio"].to_list() == [1.0, 1.0]
    assert all(Trajectory.load(tmp_path / "trajectories" / f"{id}.npz").index for id in table["trial_id"])
