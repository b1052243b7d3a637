"""What a suite is, and how selectors on the command line select tasks."""

from __future__ import annotations

import difflib
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import polars as pl

from robodx.errors import UserError
from robodx.policy_contract import PolicySpec
from robodx.records.design import Planned
from robodx.records.trial import DEFAULT_ROBOT, Trial
from robodx.records.values import Applied
from robodx.registry import Registry, UnknownName, unknown
from robodx.tasks.base import TASKS, Task, Tier
from robodx.users_code import calling


@dataclass(frozen=True)
class SuiteRequest:
    """What the user asked of a suite."""

    policy: str
    seeds: int
    robot: str = DEFAULT_ROBOT
    repeats: int = 1
    perturbations: tuple[Applied, ...] = ()
    clock: str = "lockstep"
    # What follows the suite's name in a selector: `capability/control/easy` gives ("control", "easy").
    within: tuple[str, ...] = ()
    # The situations are seeds from here on: another run may have had those before.
    first_seed: int = 0
    # What the policy is given; None where that is not known.
    spec: PolicySpec | None = None
    # Where the trajectories of what is done are stored; None where they are not.
    folder: Path | None = None

    def trials(self, tasks: Iterable[Task], suite: str) -> list[Trial]:
        return [
            Trial(task.id, task.version, self.policy, seed, self.robot, repeat, self.perturbations, suite, self.clock)
            for task in tasks
            for seed in range(self.first_seed, self.first_seed + self.seeds)
            for repeat in range(self.repeats)
        ]


# Called in rounds with the completed episodes, until it yields no trial that is not done. A trial that is held against
# another, or stands for more than itself, comes as `Planned`, which says so.
Suite = Callable[[pl.DataFrame, SuiteRequest], Iterable[Trial | Planned]]

SUITES: Registry[Suite] = Registry("suite", "suites")
# Those that ask for other trials when they have seen some.
GROWING: set[str] = set()
# How many seeds they have if nobody says so, where that is not as usual.
USUAL_SEEDS = 25
SEEDS: dict[str, int] = {}
# Those of which a balanced part can be run: the last word of their selector is `quick`.
QUICK = "quick"
QUICKENED: set[str] = set()


def suite(
    name: str, *, grows: bool = False, seeds: int = USUAL_SEEDS, can_be_quick: bool = False
) -> Callable[[Suite], Suite]:
    def register(generate: Suite) -> Suite:
        SEEDS[name] = seeds
        if grows:
            GROWING.add(name)
        if can_be_quick:
            QUICKENED.add(name)
        return SUITES.add(name, generate)

    return register


def ask(name: str, done: pl.DataFrame, request: SuiteRequest) -> list[Planned]:
    """What a suite wants to be run, with what for: a bare trial is a clean one."""
    suite = SUITES[name]
    try:
        with calling(f"the suite {name}", suite):
            asked = list(suite(done, request))
    except UnknownName as error:
        # What follows the suite's name is all that it knows of what was typed.
        raise UnknownName(f"{'/'.join((name, *request.within))}: {error}" if request.within else str(error)) from error
    for one in asked:
        if not isinstance(one, Trial | Planned):
            raise UserError(f"the suite {name} asks for {one!r}: it must yield trials, or Planned trials")
    return [one if isinstance(one, Planned) else Planned(one) for one in asked]


def select(words: Sequence[str], tasks: Iterable[Task] | None = None) -> list[Task]:
    """The tasks that a path names: a task's id, a family, a tier, or a family and a tier. No path names all of them."""
    entries = list(TASKS.entries() if tasks is None else tasks)
    found = [task for task in entries if all(_is_under(task, place, word) for place, word in enumerate(words))]
    # A family may have the name of a tier.
    found = found or [task for task in entries if (task.tier,) == tuple(words)]
    if not found:
        families, tiers = (dict.fromkeys(getattr(task, of) for task in entries) for of in ("family", "tier"))
        valid = {task.id for task in entries} | {*families} | {tier for tier in tiers if tier}
        valid |= {f"{task.family}/{task.tier}" for task in entries if task.tier}
        message = unknown("task, family or tier", "/".join(words), valid)
        # A wall of all tasks helps nobody.
        raise UnknownName(
            message
            if "Did you mean" in message
            else f'No task, family or tier "{"/".join(words)}". Families: {", ".join(families)}. '
            f"Tiers, also after a family and a slash: {', '.join(tier for tier in get_args(Tier) if tier in tiers)}."
        )
    return found


def _is_under(task: Task, place: int, word: str) -> bool:
    return word == task.family if place == 0 else word in (task.tier, task.id.split("/", 1)[1])


def find_suite(selector: str) -> tuple[str, tuple[str, ...]]:
    """A selector's suite and the path within it: the suite's own name first, or a plain path of the suite `tasks`."""
    head, *rest = selector.split("/")
    if not all((head, *rest)):
        raise UserError(
            f'the selector "{selector}" has an empty part: write suite/family/tier, family/tier, family/task or tier'
        )
    parts = rest if head in SUITES else [head, *rest]
    # A task may be called as its family is.
    if selector not in TASKS and (twice := [part for part in parts if parts.count(part) > 1]):
        raise UserError(f'the selector "{selector}" has the part "{twice[0]}" twice')
    if head in SUITES:
        return head, tuple(rest)
    try:
        select((head, *rest))
    except UnknownName as error:
        # Of a word that is near the name of a suite, that is what was meant.
        near = difflib.get_close_matches(head, list(SUITES), n=1)
        raise UnknownName(unknown("suite", head, SUITES) if near else str(error)) from None
    return "tasks", (head, *rest)


def usual_seeds(selectors: Sequence[str]) -> int:
    """The fewest that any of their suites has if nobody says so."""
    return min((SEEDS.get(find_suite(selector)[0], USUAL_SEEDS) for selector in selectors), default=USUAL_SEEDS)


def quickened(selectors: Sequence[str]) -> list[str]:
    """The selectors of a balanced part of what these select."""
    for selector in selectors:
        if find_suite(selector)[0] not in QUICKENED:
            raise UserError(f"{selector} has no quick part: only of {', '.join(sorted(QUICKENED))} there is one")
    return [selector if QUICK in selector.split("/") else f"{selector}/{QUICK}" for selector in selectors]


if not TYPE_CHECKING:  # a type checker shall not take any name for one of this module

    def __getattr__(name: str) -> Any:
        if name == "Plan":  # as it was called in 0.1
            warnings.warn("robodx.suites.base.Plan is called SuiteRequest now", DeprecationWarning, stacklevel=2)
            return SuiteRequest
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
