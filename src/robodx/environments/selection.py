"""The trials of a selector with open seeds: other harnesses choose the situations themselves."""

from __future__ import annotations

from typing import NamedTuple

from robodx.records.design import trials_of
from robodx.records.table import to_table
from robodx.records.trial import DEFAULT_ROBOT
from robodx.records.values import Applied, as_option
from robodx.running.request import Request
from robodx.running.rounds import plan_round
from robodx.tasks.base import TASKS, Task


class Setting(NamedTuple):
    """A task and the perturbations under which it is run; `name` is the task's id where there are none."""

    name: str
    task: Task
    perturbations: tuple[Applied, ...]


def settings(selector: str, *, robot: str = DEFAULT_ROBOT, perturbations: tuple[Applied, ...] = ()) -> list[Setting]:
    """The settings of a suite, a family, a tier or a task, in the suite's order.

    Of a suite that decides its later trials by the episodes it has seen, this is the first round.
    """
    request = Request((selector,), "lent", seeds=1, robot=robot, perturbations=perturbations)
    variants = dict.fromkeys(
        (trial.task, trial.perturbations) for trial in trials_of(plan_round(request, to_table([])))
    )
    return [Setting(_name(task, applied), TASKS[task], applied) for task, applied in variants]


def _name(task: str, perturbations: tuple[Applied, ...]) -> str:
    return " ".join([task, *(as_option(name, value) for name, value in perturbations)])
