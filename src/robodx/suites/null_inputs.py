"""What the policy does not use: tasks with one input taken away, beside clean and repeated trials."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, replace

import polars as pl

from robodx.analysis.null_inputs import ON, ROOM, SUITE, nulls_of, room
from robodx.policy_contract import PolicySpec
from robodx.records.design import Planned
from robodx.records.trial import Trial
from robodx.records.values import Applied, as_factors
from robodx.suites.base import SuiteRequest, select, suite
from robodx.tasks.base import TASKS, Task

# Easy, of six families, and most of them with a choice that only the words decide.
USUAL = (
    "primitive/pick_cube", "control/stack_cube", "perception/touch_red_sphere", "language/direct",
    "spatial/pick_leftmost", "dynamic/press_switch_in_time",
)  # fmt: skip
# Each variant of a situation has a repeat of its own, for the reason that `stress` has: clean, repeated, and one
# without the input.
CLEAN, REPEATED, WITHOUT = range(3)
VARIANTS = 3


@suite(SUITE, grows=True)
def null_inputs(done: pl.DataFrame, request: SuiteRequest) -> Iterable[Planned]:
    """One input at a time taken away, of easy tasks or those you name: `null_inputs/language/direct`."""
    tasks = select(request.within) if request.within else [TASKS[name] for name in USUAL]
    clean = _trials(request, tasks)
    yield from map(Planned, clean)
    yield from (Planned(trial, "repeated", _clean(trial, request)) for trial in _trials(request, tasks, REPEATED))
    # The others come when it is known where the policy has something to lose.
    rates = _rates(done, clean)
    for name, level in nulls_of(asdict(request.spec or PolicySpec())):
        null: Applied = (name, 1.0 if level == ON else level)
        without = replace(request, perturbations=(*request.perturbations, null))
        rich = [task for task in tasks if task.id in rates and room(rates[task.id], task.chance, null[0]) >= ROOM]
        for trial in _trials(without, rich, WITHOUT):
            yield Planned(trial, "stressed", _clean(trial, request), as_factors([null]), level)


def _trials(request: SuiteRequest, tasks: Iterable[Task], variant: int = CLEAN) -> list[Trial]:
    return [replace(trial, repeat=VARIANTS * trial.repeat + variant) for trial in request.trials(tasks, SUITE)]


def _clean(trial: Trial, request: SuiteRequest) -> Trial:
    """What a variant is held against: the same situation and the same repeat of it, with all its inputs."""
    return replace(trial, repeat=trial.repeat - trial.repeat % VARIANTS, perturbations=request.perturbations)


def _rates(done: pl.DataFrame, clean: list[Trial]) -> dict[str, float]:
    ids = [trial.id for trial in clean]
    ended = done.filter(pl.col("trial_id").is_in(ids) & (pl.col("outcome") != "error"))
    return dict(ended.group_by("task").agg(pl.col("success").mean()).iter_rows())
