"""The next round: the trials that the suites of a request plan, given the episodes of all earlier rounds."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import polars as pl

from robodx.errors import UserError
from robodx.policy_contract import PolicySpec
from robodx.records.design import Planned, trials_of
from robodx.records.schema import SCHEMA
from robodx.records.trial import Trial
from robodx.running.request import Request
from robodx.running.stopping import Rule
from robodx.suites.base import SuiteRequest, ask, find_suite
from robodx.tasks.base import NEEDS_LANGUAGE, TASKS


@dataclass
class Rounds:
    """The rounds of one run. Suites and rules see whole rounds only, so that a killed run goes on as it would have."""

    request: Request
    spec: PolicySpec
    # When enough was seen; None if all is to be run.
    rule: Rule | None = None
    # What to run in place of what the request's suites ask for.
    brought: list[Planned] | None = None
    # The run's, where trajectories are stored: for suites that look at paths.
    folder: Path | None = None
    # Tasks that are left out, because they say nothing of such a policy.
    not_applicable: list[str] = field(default_factory=list, init=False)
    # The trials of all rounds so far, by id.
    known: set[str] = field(default_factory=set, init=False)
    # All that is asked for at first, whatever the rule allows of it.
    first: list[Trial] = field(default_factory=list, init=False)
    # What they are for, and what the trials to come are.
    wanted: list[Planned] = field(default_factory=list, init=False)

    def __post_init__(self) -> None:
        if self.brought is None:
            self.wanted, self.not_applicable = first_round(self.request, self.spec, self.folder)
        else:
            self.wanted = self.brought
        self.first = trials_of(self.wanted)
        if self.rule is not None:
            # Let it refuse, before anything is written, what it could never decide.
            self.rule(self.first, pl.DataFrame(schema=SCHEMA))

    def next(self, done: pl.DataFrame) -> list[Trial]:
        """The trials of the next round, given the episodes of those before; none if that was all."""
        seen = done.filter(pl.col("trial_id").is_in(self.known))
        if self.known and self.brought is None:
            self.wanted = plan_round(self.request, seen, self.spec, self.folder)
        trials = trials_of(self.wanted)
        allowed = trials if self.rule is None else self.rule(trials, seen)
        further = [trial for trial in allowed if trial.id not in self.known]
        self.known |= {trial.id for trial in further}
        return further

    @property
    def design(self) -> list[Planned]:
        """What the trials so far are for."""
        return [one for one in self.wanted if one.trial.id in self.known]


def plan_round(
    request: Request, done: pl.DataFrame, spec: PolicySpec | None = None, folder: Path | None = None
) -> list[Planned]:
    """What the request's suites ask for, given the completed rounds; a trial may be asked for by several.

    With a policy's spec, that alone which says something of such a policy.
    """
    planned = _asked(request, done, spec, folder)
    return [one for one in planned if spec is None or is_applicable(one.trial.task, spec)]


def _asked(request: Request, done: pl.DataFrame, spec: PolicySpec | None, folder: Path | None = None) -> list[Planned]:
    planned: list[Planned] = []
    for selector in request.selectors:
        name, within = find_suite(selector)
        asked = SuiteRequest(
            policy=request.label,
            seeds=request.seeds,
            robot=request.robot,
            repeats=request.repeats,
            perturbations=request.perturbations,
            clock=request.clock,
            within=within,
            first_seed=request.first_seed,
            spec=spec,
            folder=folder,
        )
        planned += ask(name, done, asked)
    return planned


def first_round(request: Request, spec: PolicySpec, folder: Path | None = None) -> tuple[list[Planned], list[str]]:
    """What to begin with, and the tasks that are left out because they say nothing of such a policy."""
    wanted = _asked(request, pl.DataFrame(schema=SCHEMA), spec, folder)
    planned = [one for one in wanted if is_applicable(one.trial.task, spec)]
    left_out = sorted({one.trial.task for one in wanted} - {one.trial.task for one in planned})
    if left_out and not planned:
        raise UserError(
            f"the policy {request.label} reads no instructions, but all of these tasks need them: {', '.join(left_out)}"
        )
    return planned, left_out


def is_applicable(task: str, spec: PolicySpec) -> bool:
    """Where the instruction says which of several things to do, one who cannot read it is not tested."""
    entry = TASKS[task]
    return spec.uses_language or not ("instruction" in entry.varies or NEEDS_LANGUAGE in entry.tags)
