"""Where the policy breaks: an adaptive search for the severity at which success on one task falls to half."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

import polars as pl

from robodx.analysis.statistics.psychometric import Cliff, Floats, Psychometric, count, severities
from robodx.errors import UserError
from robodx.perturbations.base import PERTURBATIONS, PerturbationEntry
from robodx.records.design import Planned
from robodx.records.trial import Trial
from robodx.suites.base import SuiteRequest, suite
from robodx.tasks.base import TASKS, Task

# Whatever the number of workers, so that the answer does not depend on it.
WAVE = 8
FORM = "cliff/STRESSOR/FAMILY/TASK or cliff/STRESSOR=MAXIMUM/FAMILY/TASK"


@suite("cliff", grows=True)
def cliff(done: pl.DataFrame, request: SuiteRequest) -> Iterable[Planned]:
    """Searches the severity at which a task's success falls to half: `cliff/noise/primitive/pick_cube`."""
    search = Search.of(request)
    return [search.planned(trial) for trial in search.next(done)]


@dataclass(frozen=True)
class Point:
    """What came of one severity; `foreseen` is the success that the fitted curve has there."""

    severity: float
    successes: int
    n: int
    foreseen: float


@dataclass(frozen=True)
class Search:
    """The search for one task's cliff under one stressor; the request's seeds are its budget of episodes."""

    request: SuiteRequest
    task: Task
    stressor: PerturbationEntry
    maximum: float

    @classmethod
    def of(cls, request: SuiteRequest) -> Search:
        if len(request.within) < 2:
            raise UserError(f'"{"/".join(("cliff", *request.within))}" is not a cliff search: write {FORM}')
        if request.repeats > 1:
            raise UserError("a cliff search has no --repeats: each of its episodes is a new situation")
        stressed, *task = request.within
        stressor, _, level = stressed.partition("=")
        entry = PERTURBATIONS[stressor]
        if not entry.is_ordered:
            ordered = ", ".join(one.name for one in PERTURBATIONS.entries() if one.is_stressor and one.is_ordered)
            raise UserError(
                f"{stressor} is not ordered by severity, so it has no cliff; ordered stressors are: {ordered}"
            )
        maximum = entry.severity(level or max(entry.severities, key=lambda word: entry.severities[word]))
        if maximum <= 0:
            raise UserError(f"the largest severity of {stressor} must be above 0, not {maximum:g}")
        return cls(request, TASKS["/".join(task)], entry, maximum)

    @cached_property
    def procedure(self) -> Psychometric:
        return Psychometric(severities(self.maximum))

    def next(self, done: pl.DataFrame) -> list[Trial]:
        """The wave to be run after the episodes that are done; none if enough is known or the budget is spent."""
        return self._follow(_outcomes(done))[1]

    def planned(self, trial: Trial) -> Planned:
        severity = self._severity(trial)
        return Planned(trial, "stressed" if severity else "clean", factors=((self.stressor.name, severity),))

    def read(self, done: pl.DataFrame) -> Cliff:
        """What the episodes say of the cliff."""
        return self.procedure.read(*self._counts(done))

    def errors(self, done: pl.DataFrame) -> int:
        """How many of its episodes ended in an error."""
        outcomes = _outcomes(done)
        return sum(outcomes[trial.id] is None for trial in self._follow(outcomes)[0])

    def curve(self, done: pl.DataFrame) -> list[Point]:
        """What came of each severity that was asked for."""
        successes, failures = self._counts(done)
        foreseen = self.procedure.curve(successes, failures)
        return [
            Point(severity, int(won), int(won + lost), float(rate))
            for severity, won, lost, rate in zip(self.procedure.severities, successes, failures, foreseen, strict=True)
            if won + lost
        ]

    def _follow(self, outcomes: Mapping[str, bool | None]) -> tuple[list[Trial], list[Trial]]:
        """The trials that are done, and the wave that comes next: the search is gone through again from its start."""
        finished: list[Trial] = []
        while len(finished) < self.request.seeds:
            counts = self._count(finished, outcomes)
            if finished and self.procedure.read(*counts).is_settled:
                break
            places = self.procedure.wave(*counts, min(WAVE, self.request.seeds - len(finished)))
            # Each in a situation of its own, so that n counts situations.
            seed = self.request.first_seed + len(finished)
            wave = [self._trial(int(place), seed + at) for at, place in enumerate(places)]
            ended = [trial for trial in wave if trial.id in outcomes]
            finished += ended
            if len(ended) < len(wave):
                return finished, wave
        return finished, []

    def _counts(self, done: pl.DataFrame) -> tuple[Floats, Floats]:
        outcomes = _outcomes(done)
        return self._count(self._follow(outcomes)[0], outcomes)

    def _count(self, trials: Iterable[Trial], outcomes: Mapping[str, bool | None]) -> tuple[Floats, Floats]:
        """Successes and failures at each severity. Errors say nothing, and are not asked for again."""
        seen = [(trial, outcomes[trial.id]) for trial in trials]
        return count(
            self.procedure.severities, [(self._severity(trial), won) for trial, won in seen if won is not None]
        )

    def _trial(self, place: int, seed: int) -> Trial:
        severity = self.procedure.severities[place]
        # The clean variant is not stressed at all.
        stress = ((self.stressor.name, severity),) if severity else ()
        request = self.request
        return Trial(
            self.task.id, self.task.version, request.policy, seed, request.robot, 0,
            (*request.perturbations, *stress), "cliff", request.clock,
        )  # fmt: skip

    def _severity(self, trial: Trial) -> float:
        value = dict(trial.perturbations).get(self.stressor.name, 0.0)
        assert isinstance(value, float)
        return value


def _outcomes(done: pl.DataFrame) -> dict[str, bool | None]:
    """Whether each trial was a success; None if it ended in an error."""
    if done.is_empty():
        return {}
    rows = done.select("trial_id", "success", "outcome").iter_rows()
    return {trial: None if outcome == "error" else bool(won) for trial, won, outcome in rows}
