"""Is perception isolated: easy perception tasks, plain and entangled with one other factor at a time."""

from __future__ import annotations

from collections.abc import Iterable

import polars as pl

from robodx.registry import UnknownName, unknown
from robodx.running.trial import Trial
from robodx.suites.base import Plan, suite
from robodx.tasks.base import TASKS, Task


@suite("isolation")
def isolation(done: pl.DataFrame, plan: Plan) -> Iterable[Trial]:
    """Every task tagged `isolation` and its plain partner, narrowed by a factor or a task: `isolation/control`."""
    entangled = [task for task in TASKS.entries() if "isolation" in task.tags]
    plain = {f"perception/{_words(task)[0]}": None for task in entangled}
    tasks = [*(TASKS[name] for name in plain), *entangled]
    found = [task for task in tasks if all(word in _words(task) for word in plan.within)]
    if not found:
        valid = {word for task in tasks for word in _words(task)}
        raise UnknownName(unknown("factor or task of the isolation check", "/".join(plan.within), valid))
    return plan.trials(found, "isolation")


def _words(task: Task) -> tuple[str, ...]:
    """What a task can be selected by: its plain partner's name, its factor, its own name."""
    name = task.id.partition("/")[2]
    plain, _, factor = name.partition("_with_")
    return (plain, factor, name) if factor else (plain,)
