"""Any registered tasks, as they are."""

from __future__ import annotations

from collections.abc import Iterable

import polars as pl

from robodx.records.trial import Trial
from robodx.suites.base import Plan, select, suite


@suite("tasks")
def tasks(done: pl.DataFrame, plan: Plan) -> Iterable[Trial]:
    """Every selected task at every seed."""
    return plan.trials(select(plan.within), "tasks")
