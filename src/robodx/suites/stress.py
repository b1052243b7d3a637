"""When the policy breaks: one stressor at a time on fixed carrier tasks, with clean and repeated trials."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import get_args

import polars as pl

from robodx.analysis.statistics.estimates import TESTABLE
from robodx.perturbations.base import PERTURBATIONS, STRESS_LEVELS, PerturbationEntry
from robodx.records.clock import LONGEST_S, Clock
from robodx.records.design import Planned
from robodx.records.trial import Trial
from robodx.records.values import as_factors
from robodx.registry import UnknownName, unknown
from robodx.suites.base import SuiteRequest, suite
from robodx.tasks.base import TASKS, Tier

CARRIERS = ("primitive/pick_cube", "control/stack_cube", "perception/touch_red_sphere")
# Where commands come late, what moves is harder to meet than what waits.
FURTHER_CARRIERS = {"actuator_latency": ("dynamic/place_rolling_sphere",)}
# A metric, not a perturbation: how steadily ever finer stacking is done.
STABILITY = ("control/stack_cube", "control/stack_three", "control/stack_four")
COGNITIVE = ("inference_frequency", "adaptability")
# Latencies are declared in steps of this, so that a busy moment does not make another trial of it.
LATENCY_STEP_S = 0.01
# Each variant of a situation has a repeat of its own: clean, repeated, and one for each level.
CLEAN, REPEATED = 0, 1
VARIANTS = 2 + len(STRESS_LEVELS)

Path = tuple[str, ...]


@suite("stress", grows=True)
def stress(done: pl.DataFrame, request: SuiteRequest) -> Iterable[Planned]:
    """Stressors at three levels on carrier tasks, paired with clean and repeated trials: `stress/noise/v2`."""
    stressors = [entry for entry in PERTURBATIONS.entries() if entry.is_stressor]
    _check(request, stressors)
    asked = [entry for entry in stressors if _is_asked(request.within, entry.kind, entry.name)]
    tasks = list(dict.fromkeys(task for entry in asked for task in carriers(entry.name)))
    clean = _trials(request, tasks)
    yield from map(Planned, clean)
    yield from (Planned(trial, "repeated", _clean(trial, request)) for trial in _trials(request, tasks, REPEATED))
    # Stressed variants come when it is known where the policy has something to lose.
    solid = _testable(done, clean)
    for entry in asked:
        for index, level in enumerate(STRESS_LEVELS):
            if len(request.within) < 2 or level == request.within[1]:
                stressor = (entry.name, entry.levels[level])
                stressed = replace(request, perturbations=(*request.perturbations, stressor))
                # Were its randomness that of the clean variant, a policy whom stress does not touch would do there just
                # what it did clean, and only the repeated variant would vary.
                for trial in _trials(stressed, [t for t in carriers(entry.name) if t in solid], REPEATED + 1 + index):
                    yield Planned(trial, "stressed", _clean(trial, request), as_factors([stressor]), level)
    if _is_asked(request.within, "execution", "stability"):
        yield from _graded(request, [task for task in STABILITY if _is_at(task, request.within)])
    if _is_asked(request.within, "cognitive", "adaptability"):
        yield from _graded(request, _family("adaptability", request.within))
    if _is_asked(request.within, "cognitive", "inference_frequency"):
        yield from pursuits(done, request, _family("pursuit", request.within))


def carriers(stressor: str) -> Path:
    return (*CARRIERS, *FURTHER_CARRIERS.get(stressor, ()))


def _trials(request: SuiteRequest, tasks: Iterable[str], variant: int = CLEAN) -> list[Trial]:
    """The request's trials of these tasks, each variant with a randomness of its own: one of every five repeats."""
    trials = request.trials((TASKS[task] for task in tasks), "stress")
    return [replace(trial, repeat=VARIANTS * trial.repeat + variant) for trial in trials]


def _clean(trial: Trial, request: SuiteRequest) -> Trial:
    """What a variant is held against: the same situation and the same repeat of it, without what was added."""
    return replace(trial, repeat=trial.repeat - trial.repeat % VARIANTS, perturbations=request.perturbations)


def _graded(request: SuiteRequest, tasks: Iterable[str]) -> Iterator[Planned]:
    """Tasks whose tiers are the levels."""
    return (Planned(trial, level=_grade(trial.task)) for trial in _trials(request, tasks))


def _grade(task: str) -> str | None:
    tier = TASKS[task].tier
    return None if tier is None else STRESS_LEVELS[get_args(Tier).index(tier)]


def _is_at(task: str, within: Path) -> bool:
    return len(within) < 2 or _grade(task) == within[1]


def _testable(done: pl.DataFrame, clean: list[Trial]) -> set[str]:
    """The tasks that were solved often enough without stress."""
    ids = [trial.id for trial in clean]
    rates = (
        done.filter(pl.col("trial_id").is_in(ids) & (pl.col("outcome") != "error"))
        .group_by("task")
        .agg(pl.col("success").mean())
    )
    return {task for task, rate in rates.iter_rows() if rate >= TESTABLE}


def pursuits(done: pl.DataFrame, request: SuiteRequest, tasks: Sequence[str]) -> list[Planned]:
    """First the world waits, which tells how long the policy thinks; then it does not wait, for just so long."""
    waiting = list(_graded(replace(request, clock="lockstep"), tasks))
    clock = request.clock
    if not Clock.parse(clock).is_realtime:
        ids = [one.trial.id for one in waiting]
        thought_ms = done.filter(pl.col("trial_id").is_in(ids))["inference_ms_p95"].median()
        if not isinstance(thought_ms, float):
            return waiting
        latency_s = min(LONGEST_S, LATENCY_STEP_S * max(1, math.ceil(thought_ms / 1000 / LATENCY_STEP_S)))
        clock = f"realtime:{latency_s:.2f}"
    hurried = [
        Planned(replace(one.trial, clock=clock), "stressed", one.trial, (("clock", clock),), one.level)
        for one in waiting
    ]
    return waiting + hurried


def _family(family: str, within: Path) -> list[str]:
    """A family's tasks, from easy to hard: its tiers are the three levels."""
    found = [task for task in TASKS.entries() if task.family == family and "stress" in task.tags]
    return [task.id for tier in get_args(Tier) for task in found if task.tier == tier and _is_at(task.id, within)]


def _is_asked(within: Path, kind: str, name: str) -> bool:
    return not within or within[0] in (kind, name)


def _check(request: SuiteRequest, stressors: list[PerturbationEntry]) -> None:
    within = request.within
    names = [*(entry.name for entry in stressors), "stability", *COGNITIVE]
    kinds = dict.fromkeys([*(entry.kind for entry in stressors), "cognitive"])
    if within and within[0] not in (*names, *kinds):
        raise UnknownName(unknown("stressor", within[0], [*kinds, *names]))
    if len(within) > 1 and (len(within) > 2 or within[1] not in STRESS_LEVELS):
        raise UnknownName(unknown("level of stress", "/".join(within[1:]), STRESS_LEVELS))
