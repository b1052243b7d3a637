"""What was done to a policy in the screening and cost it a success: stress, and a world that does not wait."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

import polars as pl

from robodx.analysis.findings.conditions import Condition
from robodx.analysis.findings.variants import CLOCK, variants
from robodx.perturbations.base import PERTURBATIONS
from robodx.records.trial import Trial
from robodx.records.values import Applied
from robodx.suites.stress import CARRIERS

MOST_VARIANTS = 3


class Costly(NamedTuple):
    """One such thing, how many successes it cost, and in which tasks it is to be done again."""

    condition: Condition
    lost: int
    tasks: list[str]
    change: Callable[[Trial], Trial]


def costly_variants(screened: pl.DataFrame, tasks: Sequence[str], applied: tuple[Applied, ...]) -> list[Costly]:
    """The worst of them; `applied` is what is done to the policy anyway."""
    lost = {
        one.condition: sum(each.placebo_success and not each.treated_success for each in one.put_in)
        for one in variants(screened)
    }
    worst = sorted((one for one in lost if lost[one]), key=lambda one: (-lost[one], one))[:MOST_VARIANTS]
    return [_in_real_time(one, lost[one], screened) if one.attribute == CLOCK
            else _stressed(one, lost[one], tasks, applied) for one in worst]  # fmt: skip


def _in_real_time(condition: Condition, lost: int, screened: pl.DataFrame) -> Costly:
    hurried = screened.filter("is_realtime")
    clock = hurried["clock"].unique().sort()[0]
    tasks = hurried["task"].unique().sort().to_list()
    return Costly(condition, lost, tasks, lambda trial: replace(trial, clock=clock))


def _stressed(condition: Condition, lost: int, tasks: Sequence[str], applied: tuple[Applied, ...]) -> Costly:
    name, _, level = condition.levels[0].partition("/")
    stressor = (name, PERTURBATIONS[name].parse(level))
    carriers = [task for task in CARRIERS if task in tasks]
    return Costly(condition, lost, carriers, lambda trial: replace(trial, perturbations=(*applied, stressor)))
