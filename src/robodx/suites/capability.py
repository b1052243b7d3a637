"""What can the policy do: tasks in which one capability is the bottleneck, by family and tier."""

from __future__ import annotations

from collections.abc import Iterable

import polars as pl

from robodx.running.trial import Trial
from robodx.suites.base import Plan, select, suite
from robodx.tasks.base import TASKS


@suite("capability")
def capability(done: pl.DataFrame, plan: Plan) -> Iterable[Trial]:
    """Every task tagged `capability`, narrowed by `capability/family/tier`."""
    tagged = [task for task in TASKS.entries() if "capability" in task.tags]
    return plan.trials(select(plan.within, tagged), "capability")
