"""All registered tasks, without perturbations."""

from __future__ import annotations

from collections.abc import Iterable

import polars as pl

from robodx.records.trial import Trial
from robodx.suites.base import SuiteRequest, select, suite


@suite("tasks")
def tasks(done: pl.DataFrame, request: SuiteRequest) -> Iterable[Trial]:
    """Every selected task at every seed."""
    return request.trials(select(request.within), "tasks")
