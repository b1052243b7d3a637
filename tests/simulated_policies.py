"""Policies that are a function from what a situation is like to whether they succeed: a diagnosis without physics."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from functools import cache
from typing import Any

import polars as pl

from robodx.analysis.findings.base import Diagnosis
from robodx.analysis.findings.conditions import Condition, Features
from robodx.analysis.findings.diagnose import diagnose
from robodx.interventions.base import intervened
from robodx.records.design import Planned, design_table, with_design
from robodx.records.features import features
from robodx.records.schema import SCHEMA
from robodx.records.trial import Trial
from robodx.records.values import Applied, applied_record
from robodx.running.description import perturbation_cards
from robodx.scoring.events import NewInstruction
from robodx.situations.attributes import attributes
from robodx.situations.requirements import requirements
from robodx.suites.base import SuiteRequest, ask
from robodx.tasks.base import TASKS

EMPTY = pl.DataFrame(schema=SCHEMA)
# How it fails in such a trial, as its failure type; None where it succeeds.
Policy = Callable[[Trial, Features], str | None]
FAILS = "incomplete execution"


@dataclass(frozen=True)
class Facts:
    """What an episode of a situation records before anything is done there."""

    attributes: Mapping[str, Any]
    requirements: tuple[str, ...]
    text: str

    @property
    def features(self) -> Features:
        values = {one["name"]: one["value"] for part in ("texts", "numbers") for one in self.attributes[part]}
        return features(values, self.requirements, self.text)


@cache
def facts(task: str, seed: int, interventions: tuple[Applied, ...] = ()) -> Facts:
    """Laid out once for all tests of a process."""
    situation = intervened(TASKS[task].placed(seed), interventions, seed, task)
    later = [e.effect.instruction.meaning for e in situation.events if isinstance(e.effect, NewInstruction)]
    meanings = [situation.instruction.meaning, *later]
    required = requirements(meanings, situation.scene, situation.events, TASKS[task].varies)
    found = attributes(situation.instruction, situation.scene, (), situation.events, situation.waits)
    return Facts(asdict(found), tuple(required), situation.instruction.text)


def fails_when(condition: str, how: str = FAILS) -> Policy:
    """By the name of a condition: "target_side=right", "requires language/negation"."""
    wanted = Condition.parse(condition)
    return lambda trial, features: how if wanted.holds(features) else None


def played(trials: list[Trial], policy: Policy) -> pl.DataFrame:
    """The episodes of these trials, as if the policy had done so there."""
    rows = []
    for trial in trials:
        known = facts(trial.task, trial.seed, trial.interventions)
        failure = policy(trial, known.features)
        task = TASKS[trial.task]
        row = {
            "trial_id": trial.id, "pair_id": trial.pair_id, "suite": trial.suite, "task": trial.task,
            "task_version": 1, "family": task.family, "tier": task.tier, "robot": "panda",
            "policy": trial.policy, "seed": trial.seed, "repeat": trial.repeat, "clock": trial.clock,
            "perturbations": [applied_record(one) for one in trial.perturbations],
            "interventions": [applied_record(one) for one in trial.interventions],
            "outcome": "failure" if failure else "success", "success": not failure,
            "failure_kind": "timeout" if failure else None, "failure_type": failure,
            "quality_flags": [], "requirements": known.requirements, "mistaken": [], "attributes": known.attributes,
            "instructions": [{"step": 0, "text": known.text}], "attempt": 1, "tags": [], "stage_steps": [], "steps": 1,
            "events": [], "trajectory_hash": trial.id, "inference_ms_p95": 1.0,
        }  # fmt: skip
        rows.append({name: row.get(name) for name in SCHEMA})
    return pl.DataFrame(rows, schema=SCHEMA)


@dataclass(frozen=True)
class Run:
    """A diagnosis as it was run: the episodes of each round, and what all of them were for."""

    rounds: tuple[pl.DataFrame, ...]
    planned: tuple[Planned, ...]

    @property
    def episodes(self) -> pl.DataFrame:
        return with_design(pl.concat([EMPTY, *self.rounds]), design_table(self.planned))

    @property
    def pairs(self) -> list[Planned]:
        return [one for one in self.planned if one.variant == "intervened" and one.factors]

    @property
    def diagnosis(self) -> Diagnosis:
        (found,) = diagnose(self.episodes, {"perturbations": perturbation_cards()})
        return found


def run(policy: Policy, request: SuiteRequest | None = None) -> Run:
    """In rounds, until the suite asks for nothing more."""
    rounds: list[pl.DataFrame] = []
    while True:
        done = pl.concat([EMPTY, *rounds])
        known = set(done["trial_id"])
        planned = ask("diagnosis", done, request or SuiteRequest("a", 1))
        missing = {one.trial.id: one.trial for one in planned if one.trial.id not in known}
        if not missing:
            return Run(tuple(rounds), tuple(planned))
        rounds.append(played(list(missing.values()), policy))
