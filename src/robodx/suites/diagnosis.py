"""What is wrong with the policy: a few situations of all tasks, then fresh ones to test weaknesses."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import cycle, islice

import polars as pl

from robodx.analysis.findings.diagnose import screen
from robodx.analysis.findings.prepare import situations, with_variants
from robodx.analysis.findings.search import Candidate
from robodx.errors import UserError
from robodx.records.design import Planned
from robodx.suites.base import SuiteRequest, select, suite
from robodx.suites.stress import pursuits
from robodx.tasks.base import TASKS, Task

# Enough that a weakness of one sort of trial is told from bad luck, whatever else the policy fails at.
PER_CANDIDATE = 24
# Where only some seeds of a task are what is wanted, others are run in vain; this many times as many at most.
MOST_IN_VAIN = 1.75
# Of everything, to hold it against; and at least so many of what is outside of a candidate.
BESIDE = 24
OUTSIDE = 12
# All in all.
MOST_FRESH = 230
SUITE = "diagnosis"
# So the trials of the second round say who asked for them, since version 0.1.0.
CONFIRMATION = "confirmation"
TAGS = {"capability", "stress"}
# What else is said in various ways: conditions are rare among the others.
MORE_WORDS = "isolation"


@suite(SUITE, grows=True)
def diagnosis(done: pl.DataFrame, request: SuiteRequest) -> Iterable[Planned]:
    """Screens all tasks, then tests weaknesses on fresh seeds; select a part with `diagnosis/language`."""
    if request.repeats > 1:
        raise UserError("a diagnosis has no --repeats, because it tests on fresh situations: give more --seeds")
    tasks = select(request.within, [task for task in TASKS.entries() if _is_asked(task)])
    screening = _screening(done, request, tasks)
    screened = done.filter(pl.col("trial_id").is_in([one.trial.id for one in screening]))
    # Tasks that say nothing of such a policy were asked for and are never run.
    met = set(done["task"])
    if not met or len(screened) < sum(one.trial.task in met for one in screening):
        return screening
    return [*screening, *_confirming(screened, request, tasks)]


def _is_asked(task: Task) -> bool:
    return bool(TAGS & set(task.tags)) or (MORE_WORDS in task.tags and "instruction" in task.varies)


def _screening(done: pl.DataFrame, request: SuiteRequest, tasks: list[Task]) -> list[Planned]:
    """Also in real time where real time matters, once it is known how long the policy thinks."""
    realtime = [task.id for task in tasks if task.family == "pursuit"]
    every = [*map(Planned, request.trials(tasks, SUITE)), *(pursuits(done, request, realtime) if realtime else ())]
    return list(
        {
            one.trial.id: replace(one, trial=replace(one.trial, suite=SUITE), variant="screening", suite=SUITE)
            for one in every
        }.values()
    )


def _confirming(screened: pl.DataFrame, request: SuiteRequest, tasks: list[Task]) -> list[Planned]:
    table = situations(with_variants(screened, {}))
    suspected = screen(table)
    if not suspected:
        return []
    spread = [task.id for task in tasks[:: max(1, len(tasks) // BESIDE)]]
    wanted = list(islice(spread, BESIDE))
    for candidate in suspected:
        wanted += _tasks_of(candidate, table)
        wanted += _tasks_beside(candidate, table, wanted)
    fresh = list(_fresh(wanted[:MOST_FRESH], request))
    if not any(candidate.stratum.sort == "clock" for candidate in suspected):
        return fresh
    realtime = dict(table.filter("is_realtime").select("task", "clock").iter_rows())
    return [*fresh, *(_hurried(one, realtime[one.trial.task]) for one in fresh if one.trial.task in realtime)]


def _hurried(planned: Planned, clock: str) -> Planned:
    trial = replace(planned.trial, clock=clock)
    return replace(planned, trial=trial, source=planned.trial, factors=(("clock", clock),))


def _tasks_of(candidate: Candidate, table: pl.DataFrame) -> list[str]:
    """The tasks to run again, each as often as it is named: in turn those in which the stratum holds most often."""
    shares = _shares(table, pl.Series(candidate.stratum.inside))
    turns: list[str] = []
    expected = 0.0
    for task, share in cycle(shares):
        if expected >= PER_CANDIDATE or len(turns) >= MOST_IN_VAIN * PER_CANDIDATE:
            break
        turns.append(task)
        expected += share
    return turns


def _tasks_beside(candidate: Candidate, table: pl.DataFrame, wanted: list[str]) -> list[str]:
    """What lacks of tasks outside of the stratum: of a wide one there are few."""
    shares = dict(_shares(table, pl.Series(candidate.stratum.outside)))
    lacking = OUTSIDE - sum(shares.get(task, 0.0) for task in wanted)
    return (
        list(islice(cycle(shares), max(0, math.ceil(lacking)))) if shares and not candidate.stratum.is_variant else []
    )


def _shares(table: pl.DataFrame, inside: pl.Series) -> list[tuple[str, float]]:
    """Of each task, in how many of its episodes the stratum holds; those first in which it mostly does."""
    shares = table.with_columns(inside=inside).group_by("task").agg(pl.col("inside").mean())
    return list(shares.filter(pl.col("inside") > 0).sort("inside", "task", descending=[True, False]).iter_rows())


def _fresh(wanted: list[str], request: SuiteRequest) -> Iterator[Planned]:
    """A seed that was not screened for each time that a task is named."""
    for task, count in Counter(wanted).items():
        fresh = replace(request, first_seed=request.first_seed + request.seeds, seeds=count)
        for trial in fresh.trials([TASKS[task]], CONFIRMATION):
            yield Planned(trial, "confirmation", suite=SUITE)
