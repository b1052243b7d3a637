"""Whether perception is isolated: easy perception tasks, plain and with one other factor added at a time."""

from __future__ import annotations

from collections.abc import Iterable

import polars as pl

from robodx.records.design import Planned
from robodx.registry import UnknownName, unknown
from robodx.suites.base import SuiteRequest, suite
from robodx.tasks.base import TASKS, Task


@suite("isolation")
def isolation(done: pl.DataFrame, request: SuiteRequest) -> Iterable[Planned]:
    """Perception tasks with one other factor added, beside the plain tasks: `isolation/control`."""
    entangled = [task for task in TASKS.entries() if "isolation" in task.tags]
    found = [task for task in entangled if all(word in _words(task) for word in request.within)]
    if not found:
        valid = {word for task in entangled for word in _words(task)[:2]}
        raise UnknownName(unknown("factor or task of the isolation check", "/".join(request.within), valid))
    partners = dict.fromkeys(f"perception/{_words(task)[0]}" for task in found)
    plain = {name: request.trials([TASKS[name]], "isolation") for name in partners}
    yield from (Planned(trial, "source") for trials in plain.values() for trial in trials)
    for task in found:
        partner, factor, _ = _words(task)
        for trial, source in zip(request.trials([task], "isolation"), plain[f"perception/{partner}"], strict=True):
            yield Planned(trial, "follow-up", source, (("entangled_with", factor),))


def _words(task: Task) -> tuple[str, str, str]:
    """What a task can be selected by: its plain partner's name, its factor, its own name."""
    name = task.id.partition("/")[2]
    plain, _, factor = name.partition("_with_")
    return (plain, factor, name)
