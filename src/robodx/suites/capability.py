"""What the policy can do: tasks in which one capability is the bottleneck, by family and tier."""

from __future__ import annotations

from collections.abc import Iterable
from typing import get_args

import polars as pl

from robodx.records.trial import Trial
from robodx.suites.base import SuiteRequest, select, suite
from robodx.tasks.base import TASKS, Task, Tier

FAMILIES = ("primitive", "control", "perception", "language", "spatial", "dynamic", "robustness")
TIERS = (None, *get_args(Tier))


@suite("capability")
def capability(done: pl.DataFrame, request: SuiteRequest) -> Iterable[Trial]:
    """Every task of the capability suite; select a part with `capability/control/easy` or `capability/easy`."""
    return request.trials(select(request.within, capability_tasks()), "capability")


def capability_tasks() -> list[Task]:
    """Family by family, easy tasks first; families of others come last."""
    tagged = [task for task in TASKS.entries() if "capability" in task.tags]
    families = [*FAMILIES, *sorted({task.family for task in tagged} - set(FAMILIES))]
    return sorted(tagged, key=lambda task: (families.index(task.family), TIERS.index(task.tier), task.id))
