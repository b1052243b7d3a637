"""When does it break: one stressor at a time on fixed carrier tasks, beside a clean and an identity arm."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace

import polars as pl

from robodx.perturbations.base import PERTURBATIONS, STRESS_LEVELS, PerturbationEntry
from robodx.registry import UnknownName, unknown
from robodx.running.clock import Clock
from robodx.running.trial import Trial
from robodx.suites.base import Plan, suite
from robodx.tasks.base import TASKS

CARRIERS = ("primitive/pick_cube", "control/stack_cube", "perception/touch_red_sphere")
# Where commands come late, what moves is harder to meet than what waits.
FURTHER_CARRIERS = {"actuator_latency": ("dynamic/place_rolling_sphere",)}
# A metric, not a perturbation: how steadily ever finer stacking is done.
STABILITY = ("control/stack_cube", "control/stack_three", "control/stack_four")
COGNITIVE = ("inference_frequency", "adaptability")
# Below this success rate without stress there is nothing to lose: the carrier is not testable.
TESTABLE = 0.2
# Latencies are declared in steps of this, so that a busy moment does not make another trial of it.
LATENCY_STEP_S = 0.01

Path = tuple[str, ...]


@suite("stress")
def stress(done: pl.DataFrame, plan: Plan) -> Iterable[Trial]:
    """Stressors at three levels on carrier tasks, with clean and identity arms: `stress/sensor`, `stress/noise/v2`."""
    stressors = [entry for entry in PERTURBATIONS.entries() if entry.is_stressor]
    _check(plan.within, stressors)
    asked = [entry for entry in stressors if _is_asked(plan.within, entry.kind, entry.name)]
    tasks = list(dict.fromkeys(task for entry in asked for task in carriers(entry.name)))
    clean = _arm(plan, tasks)
    trials = clean + _arm(plan, tasks, is_again=True)
    # Stressed arms come when it is known where the policy has something to lose.
    solid = _testable(done, clean)
    for entry in asked:
        levels = [level for level in STRESS_LEVELS if len(plan.within) < 2 or level == plan.within[-1]]
        for level in levels:
            applied = (*plan.perturbations, (entry.name, entry.levels[level]))
            stressed = replace(plan, perturbations=applied)
            trials += _arm(stressed, [task for task in carriers(entry.name) if task in solid])
    if _is_asked(plan.within, "execution", "stability"):
        trials += _arm(plan, _leveled(STABILITY, plan.within))
    if _is_asked(plan.within, "cognitive", "adaptability"):
        trials += _arm(plan, _leveled(_family("adaptability"), plan.within))
    if _is_asked(plan.within, "cognitive", "inference_frequency"):
        trials += _pursuits(done, plan)
    return trials


def carriers(stressor: str) -> Path:
    return (*CARRIERS, *FURTHER_CARRIERS.get(stressor, ()))


def _arm(plan: Plan, tasks: Iterable[str], *, is_again: bool = False) -> list[Trial]:
    """The plan's trials of these tasks; `is_again` the same situations with other randomness of the policy."""
    trials = plan.trials((TASKS[task] for task in tasks), "stress")
    return [replace(trial, repeat=trial.repeat + plan.repeats) for trial in trials] if is_again else trials


def _testable(done: pl.DataFrame, clean: list[Trial]) -> set[str]:
    """The tasks whose clean arm is complete and solved often enough."""
    ids = [trial.id for trial in clean]
    rates = (
        done.filter(pl.col("trial_id").is_in(ids) & (pl.col("outcome") != "error"))
        .group_by("task")
        .agg(pl.col("success").mean())
    )
    return {task for task, rate in rates.iter_rows() if rate >= TESTABLE}


def _pursuits(done: pl.DataFrame, plan: Plan) -> list[Trial]:
    """First the world waits, which tells how long the policy thinks; then it does not wait, for just so long."""
    tasks = _leveled(_family("pursuit"), plan.within)
    waiting = _arm(replace(plan, clock="lockstep"), tasks)
    if Clock.parse(plan.clock).is_realtime:
        return waiting + _arm(plan, tasks)
    thought_ms = done.filter(pl.col("trial_id").is_in([trial.id for trial in waiting]))["inference_ms_p95"].median()
    if not isinstance(thought_ms, float):
        return waiting
    latency_s = LATENCY_STEP_S * max(1, math.ceil(thought_ms / 1000 / LATENCY_STEP_S))
    return waiting + _arm(replace(plan, clock=f"realtime:{latency_s:.2f}"), tasks)


def _family(family: str) -> Path:
    """A family's tasks from easy to hard, which are its three levels."""
    tiers = ("easy", "medium", "hard")
    found = [task for task in TASKS.entries() if task.family == family and "stress" in task.tags]
    return tuple(task.id for task in sorted(found, key=lambda task: tiers.index(task.tier or "easy")))


def _leveled(tasks: Path, within: Path) -> Path:
    return tasks if len(within) < 2 else (tasks[STRESS_LEVELS.index(within[1])],)


def _is_asked(within: Path, kind: str, name: str) -> bool:
    return not within or within[0] in (kind, name)


def _check(within: Path, stressors: list[PerturbationEntry]) -> None:
    names = [*(entry.name for entry in stressors), "stability", *COGNITIVE]
    kinds = dict.fromkeys([*(entry.kind for entry in stressors), "cognitive"])
    if within and within[0] not in (*names, *kinds):
        raise UnknownName(unknown("stressor", within[0], [*kinds, *names]))
    if len(within) > 1 and (len(within) > 2 or within[1] not in STRESS_LEVELS):
        raise UnknownName(unknown("level of stress", "/".join(within[1:]), STRESS_LEVELS))
