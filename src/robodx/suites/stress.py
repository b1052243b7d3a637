"""When does it break: one stressor at a time on fixed carrier tasks, beside a clean and an identity arm."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import get_args

import polars as pl

from robodx.analysis.arms import IDENTITY
from robodx.analysis.estimates import TESTABLE
from robodx.errors import UserError
from robodx.perturbations.base import PERTURBATIONS, STRESS_LEVELS, PerturbationEntry
from robodx.registry import UnknownName, unknown
from robodx.running.clock import LONGEST_S, Clock
from robodx.running.trial import Trial
from robodx.suites.base import Plan, suite
from robodx.tasks.base import TASKS, Tier

CARRIERS = ("primitive/pick_cube", "control/stack_cube", "perception/touch_red_sphere")
# Where commands come late, what moves is harder to meet than what waits.
FURTHER_CARRIERS = {"actuator_latency": ("dynamic/place_rolling_sphere",)}
# A metric, not a perturbation: how steadily ever finer stacking is done.
STABILITY = ("control/stack_cube", "control/stack_three", "control/stack_four")
COGNITIVE = ("inference_frequency", "adaptability")
# Latencies are declared in steps of this, so that a busy moment does not make another trial of it.
LATENCY_STEP_S = 0.01

Path = tuple[str, ...]


@suite("stress", grows=True)
def stress(done: pl.DataFrame, plan: Plan) -> Iterable[Trial]:
    """Stressors at three levels on carrier tasks, with clean and identity arms: `stress/sensor`, `stress/noise/v2`."""
    stressors = [entry for entry in PERTURBATIONS.entries() if entry.is_stressor]
    _check(plan, stressors)
    asked = [entry for entry in stressors if _is_asked(plan.within, entry.kind, entry.name)]
    tasks = list(dict.fromkeys(task for entry in asked for task in carriers(entry.name)))
    clean = _arm(plan, tasks)
    trials = clean + _arm(plan, tasks, IDENTITY)
    # Stressed arms come when it is known where the policy has something to lose.
    solid = _testable(done, clean)
    for entry in asked:
        for index, level in enumerate(STRESS_LEVELS):
            if len(plan.within) < 2 or level == plan.within[1]:
                applied = (*plan.perturbations, (entry.name, entry.levels[level]))
                stressed = replace(plan, perturbations=applied)
                # Were its randomness that of the clean arm, a policy whom stress does not touch would do there just
                # what it did clean, and only the identity arm would vary.
                trials += _arm(stressed, [t for t in carriers(entry.name) if t in solid], IDENTITY + 1 + index)
    if _is_asked(plan.within, "execution", "stability"):
        trials += _arm(plan, STABILITY if len(plan.within) < 2 else [STABILITY[STRESS_LEVELS.index(plan.within[1])]])
    if _is_asked(plan.within, "cognitive", "adaptability"):
        trials += _arm(plan, _family("adaptability", plan.within))
    if _is_asked(plan.within, "cognitive", "inference_frequency"):
        trials += pursuits(done, plan, _family("pursuit", plan.within))
    return trials


def carriers(stressor: str) -> Path:
    return (*CARRIERS, *FURTHER_CARRIERS.get(stressor, ()))


def _arm(plan: Plan, tasks: Iterable[str], repeat: int = 0) -> list[Trial]:
    """The plan's trials of these tasks, with the policy's own randomness of that repeat."""
    trials = plan.trials((TASKS[task] for task in tasks), "stress")
    return [replace(trial, repeat=repeat) for trial in trials]


def _testable(done: pl.DataFrame, clean: list[Trial]) -> set[str]:
    """The tasks that were solved often enough without stress."""
    ids = [trial.id for trial in clean]
    rates = (
        done.filter(pl.col("trial_id").is_in(ids) & (pl.col("outcome") != "error"))
        .group_by("task")
        .agg(pl.col("success").mean())
    )
    return {task for task, rate in rates.iter_rows() if rate >= TESTABLE}


def pursuits(done: pl.DataFrame, plan: Plan, tasks: Sequence[str]) -> list[Trial]:
    """First the world waits, which tells how long the policy thinks; then it does not wait, for just so long."""
    waiting = _arm(replace(plan, clock="lockstep"), tasks)
    if Clock.parse(plan.clock).is_realtime:
        return waiting + _arm(plan, tasks)
    thought_ms = done.filter(pl.col("trial_id").is_in([trial.id for trial in waiting]))["inference_ms_p95"].median()
    if not isinstance(thought_ms, float):
        return waiting
    latency_s = min(LONGEST_S, LATENCY_STEP_S * max(1, math.ceil(thought_ms / 1000 / LATENCY_STEP_S)))
    return waiting + _arm(replace(plan, clock=f"realtime:{latency_s:.2f}"), tasks)


def _family(family: str, within: Path) -> list[str]:
    """A family's tasks, from easy to hard: its tiers are the three levels."""
    tiers = get_args(Tier) if len(within) < 2 else (get_args(Tier)[STRESS_LEVELS.index(within[1])],)
    found = [task for task in TASKS.entries() if task.family == family and "stress" in task.tags]
    return [task.id for tier in tiers for task in found if task.tier == tier]


def _is_asked(within: Path, kind: str, name: str) -> bool:
    return not within or within[0] in (kind, name)


def _check(plan: Plan, stressors: list[PerturbationEntry]) -> None:
    within = plan.within
    if plan.repeats > 1:
        raise UserError("the suite stress repeats situations in arms of its own: ask for more --seeds, not --repeats")
    names = [*(entry.name for entry in stressors), "stability", *COGNITIVE]
    kinds = dict.fromkeys([*(entry.kind for entry in stressors), "cognitive"])
    if within and within[0] not in (*names, *kinds):
        raise UnknownName(unknown("stressor", within[0], [*kinds, *names]))
    if len(within) > 1 and (len(within) > 2 or within[1] not in STRESS_LEVELS):
        raise UnknownName(unknown("level of stress", "/".join(within[1:]), STRESS_LEVELS))
