"""Delta debugging where nearly everything fails: from a failure to the nearest success, which differences matter.

A failed trial is changed towards one that succeeds, first in all that differs; then in ever fewer things, until none
can be left out (Zeller and Hildebrandt's ddmin). What remains is tested on fresh situations like any other condition.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import islice

from robodx.analysis.findings.conditions import Condition, Features
from robodx.interventions.base import INTERVENTIONS, NotApplicable, intervened
from robodx.records.design import Planned
from robodx.records.trial import Trial
from robodx.records.values import Applied
from robodx.tasks.base import TASKS

# Failures that are tried, each with its nearest success, and the episodes that one may take.
STARTS = 4
MOST_RUNS = 20


@dataclass(frozen=True)
class Start:
    """A failed trial, what would make it like a success of the same task, and what it is like in these respects."""

    failed: Trial
    changes: tuple[Applied, ...]
    # By change, the condition that it takes away.
    conditions: Mapping[Applied, Condition]
    # What the success is like.
    like: Features


def starts(trials: Sequence[tuple[Trial, Features, bool]]) -> list[Start]:
    """Failures with the fewest differences from a success of their task, of which some can be changed."""
    found: list[tuple[int, str, Trial, Features, Features]] = []
    settable = {name for entry in INTERVENTIONS.entries() for name in entry.attributes}
    told = [frozenset((name, features[name]) for name in settable & features.keys()) for _, features, _ in trials]
    for (failed, features, success), own in zip(trials, told, strict=True):
        near = [
            (len(own ^ others), place)
            for place, ((each, _, won), others) in enumerate(zip(trials, told, strict=True))
            if won and not success and each.task == failed.task
        ]
        if near:
            differing, place = min(near)
            found.append((differing, failed.id, failed, features, trials[place][1]))
    ranked = sorted(found, key=lambda each: each[:2])
    return list(islice(filter(None, (_start(*each[2:]) for each in ranked)), STARTS))


def _start(failed: Trial, features: Features, like: Features) -> Start | None:
    changes: list[Applied] = []
    conditions: dict[Applied, Condition] = {}
    named: set[str] = set()
    for entry in INTERVENTIONS.entries():
        for value, levels in entry.values.items():
            wanted = {name: level for name, level in levels.items() if like.get(name, "no") == level}
            differing = [name for name in wanted if features.get(name, "no") != wanted[name] and name not in named]
            if len(wanted) == len(levels) and differing:
                change = (entry.name, value)
                changes.append(change)
                conditions[change] = Condition(differing[0], (features.get(differing[0], "no"),))
                named.update(differing)
                break
    usable = _applicable(failed, tuple(changes))
    return Start(failed, usable, conditions, like) if usable else None


@lru_cache(maxsize=1024)
def _applicable(failed: Trial, changes: tuple[Applied, ...]) -> tuple[Applied, ...]:
    """Those that can be made one after the other."""
    kept: tuple[Applied, ...] = ()
    situation = TASKS[failed.task].placed(failed.seed)
    for change in changes:
        try:
            situation = intervened(situation, (change,), failed.seed, failed.task)
        except NotApplicable:
            continue
        kept += (change,)
    return kept


def narrow(start: Start, outcomes: Mapping[str, bool]) -> tuple[list[Planned], tuple[Applied, ...] | None]:
    """The trials so far, of which the last may have to be run yet, and the least that makes it succeed, when known."""
    planned: list[Planned] = []

    def passes(changes: tuple[Applied, ...]) -> bool | None:
        if _applicable(start.failed, changes) != changes:
            # Without those left out another of them cannot be made.
            return False
        trial = replace(start.failed, interventions=changes)
        planned.append(
            Planned(trial, "intervened", start.failed, level=f"narrowing · {len(planned)}", suite="diagnosis")
        )
        return outcomes.get(trial.id)

    needed = start.changes
    if passes(needed) is not True:
        return planned, None
    for part in _halves(needed):
        if len(planned) >= MOST_RUNS:
            break
        left = tuple(change for change in needed if change not in part)
        if not left or not set(part) <= set(needed):
            continue
        passed = passes(left)
        if passed is None:
            return planned, None
        if passed:
            # Without these it succeeds as well: they do not matter.
            needed = left
    return planned, needed


def _halves(changes: tuple[Applied, ...]) -> Iterator[tuple[Applied, ...]]:
    """Halves, quarters and so on, down to one at a time."""
    size = len(changes)
    while size > 1:
        size = (size + 1) // 2
        yield from (changes[place : place + size] for place in range(0, len(changes), size))
