"""The sets that can be checked: those of suites, and the visual factors of any task, by selectors."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from robodx.errors import UserError
from robodx.interventions.base import INTERVENTIONS, NotApplicable, intervened
from robodx.records.instance import Instance
from robodx.records.values import Applied
from robodx.registry import UnknownName, require, unknown
from robodx.suites import bias
from robodx.tasks.base import TASKS, Situation

# By the name of a suite, all that its trials may begin from.
SETS: dict[str, Callable[[], Iterable[Instance]]] = {bias.NAME: bias.instances}
# What is checked where nothing is selected and no suite has a set.
DEFAULT_TASK = "bias/put_solid_in_box"
# Of a factor the value that nothing was done for.
AS_IT_IS = "as it is"


def situation_of(instance: Instance) -> Situation:
    task = TASKS[instance.task]
    return intervened(task.placed(instance.seed), instance.interventions, instance.seed, task.id)


def instances_of(task: str, interventions: Iterable[str] = (), seeds: Iterable[int] = (0,)) -> Iterator[Instance]:
    """Each of these interventions at each of its values, and without; by default all that change how things look.

    Values that a situation has already, or cannot be given, are left out.
    """
    entry = TASKS[task]
    names = tuple(interventions) or tuple(one.name for one in INTERVENTIONS.entries() if one.factor == "looks")
    for seed in seeds:
        placed = entry.placed(seed)
        for name in names:
            yield Instance(f"{name}: {AS_IT_IS}, seed {seed}", name, task, seed)
            for value in INTERVENTIONS[name].values:
                applied: tuple[Applied, ...] = ((name, value),)
                try:
                    intervened(placed, applied, seed, task)
                except NotApplicable:
                    continue
                yield Instance(f"{name}: {value}, seed {seed}", name, task, seed, applied)


def selected(selectors: Sequence[str], seeds: Sequence[int] = (0,)) -> list[Instance]:
    """SUITE, SUITE/FACTOR, TASK or TASK:INTERVENTION; none selects all sets. What is selected twice is checked once."""
    found: dict[str, Instance] = {}
    several = len(selectors) > 1
    for selector in selectors or tuple(SETS) or (DEFAULT_TASK,):
        for one in _of(selector, seeds):
            # Names are unique within a set, and two tasks have the same factors.
            name = f"{one.task} {one.name}" if several and one.name in found and found[one.name] != one else one.name
            found.setdefault(name, Instance(name, one.factor, one.task, one.seed, one.interventions))
    return list(found.values())


def _of(selector: str, seeds: Sequence[int]) -> Iterator[Instance]:
    task, colon, name = (part.strip() for part in selector.partition(":"))
    suite, _, factor = selector.partition("/")
    # A family of tasks may have the name of a suite.
    if task in TASKS:
        if colon and not name:
            raise UserError(f'"{selector}" names no intervention after its colon; see: robodx list interventions')
        yield from instances_of(task, (name,) if name else (), seeds)
    elif suite in SETS:
        of_suite = list(SETS[suite]())
        if factor:
            require(f"factor of {suite}", factor, list(dict.fromkeys(one.factor for one in of_suite)))
        yield from (one for one in of_suite if factor in ("", one.factor))
    else:
        raise UnknownName(unknown("suite or task", task, [*SETS, *TASKS]))
