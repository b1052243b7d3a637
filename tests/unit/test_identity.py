"""A trial's id is what resumes, pairs and joins runs: those of version 0.1.0 stay what they were."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from robodx.perturbations.base import PERTURBATIONS
from robodx.records.design import trials_of
from robodx.records.table import load
from robodx.records.trial import Trial
from robodx.records.values import Applied, applied_record
from robodx.suites.base import SuiteRequest, ask

GOLDEN = Path(__file__).parent.parent / "golden"
DONE = pl.Schema(
    {
        "trial_id": pl.String(),
        "outcome": pl.String(),
        "success": pl.Boolean(),
        "task": pl.String(),
        "inference_ms_p95": pl.Float64(),
    }
)
ASKED: dict[str, dict[str, Any]] = {
    "tasks": {},
    "tasks, repeated": {"repeats": 3},
    "tasks, other seeds": {"first_seed": 1000},
    "tasks, stressed": {"perturbations": (("noise", 25.0), ("actuator_latency", 0.1))},
    "tasks, severity of a whole number": {"perturbations": (("noise", 25),)},
    "tasks, in real time": {"clock": "realtime:0.2"},
    "tasks, another policy": {"policy": "fault:colour_blind+weak_grip=0.5"},
    "capability": {},
    "isolation": {},
    "stress": {},
    "stress, in real time": {"clock": "realtime:0.05"},
    "stress, perturbed": {"perturbations": (("brightness", 0.5),)},
    "cliff": {"within": ("noise", "primitive", "pick_cube"), "seeds": 30},
}


@cache
def golden() -> dict[str, Any]:
    read: dict[str, Any] = json.loads((GOLDEN / "trial-ids.json").read_text())
    return read


def digest(ids: Iterable[str]) -> str:
    return hashlib.blake2b("\n".join(sorted(ids)).encode(), digest_size=16).hexdigest()


def solved(trials: list[Trial]) -> pl.DataFrame:
    return pl.DataFrame([(trial.id, "success", True, trial.task, 33.0) for trial in trials], schema=DONE, orient="row")


def as_of_then(trials: list[Trial]) -> list[Trial]:
    """Tasks and stressors have joined since, and others have got new versions and levels: what was asked for then."""
    return [
        replace(trial, task_version=1, perturbations=tuple(map(at_level_of_then, trial.perturbations)))
        for trial in trials
        if trial.task in golden()["tasks"] and not any(has_joined(name) for name, _ in trial.perturbations)
    ]


def has_joined(name: str) -> bool:
    return PERTURBATIONS[name].is_stressor and name not in golden()["levels"]


def at_level_of_then(applied: Applied) -> Applied:
    name, value = applied
    levels, then = list(PERTURBATIONS[name].levels.values()), golden()["levels"].get(name)
    return (name, then[levels.index(value)]) if then and value in levels else applied


@pytest.mark.parametrize("name", list(ASKED))
def test_every_trial_that_the_first_version_asked_for_keeps_its_id(name: str) -> None:
    suite, plan = name.split(",")[0], SuiteRequest(**{"policy": "expert", "seeds": 25, **ASKED[name]})
    trials = trials_of(ask(suite, solved([]), plan))
    if suite == "stress":
        trials = trials_of(ask(suite, solved(trials), plan))
    ids = {trial.id for trial in as_of_then(trials)}
    assert (len(ids), digest(ids)) == (golden()["sets"][name]["trials"], golden()["sets"][name]["digest"])


def test_single_trials_keep_their_id_their_situation_and_the_policys_seed() -> None:
    for id, (task, version, policy, seed, robot, repeat, applied, suite, clock, pair, draws) in golden()[
        "trials"
    ].items():
        perturbations = tuple((name, value) for name, value in applied)
        trial = Trial(task, version, policy, seed, robot, repeat, perturbations, suite, clock)
        assert (trial.id, trial.pair_id, trial.policy_seed) == (id, pair, draws)


@pytest.mark.parametrize("version", [1, 2, 3])
def test_trials_are_read_back_from_the_rows_of_every_version(version: int) -> None:
    for row in load(GOLDEN / f"run-v{version}").iter_rows(named=True):
        assert Trial.of_row(row).id == row["trial_id"]


@pytest.mark.parametrize("value", [25, 0.5, "red", {"y_m": 0, "x_m": 0.02}, (("x_m", 0.02), ("y_m", 0.0))])
def test_a_perturbation_is_set_to_a_number_a_word_or_named_numbers_and_stays_what_it_was(value: Any) -> None:
    trial = Trial("a/b", 1, "expert", 0, perturbations=(("shift", value),))
    row = {
        "task": "a/b", "task_version": 1, "policy": "expert", "seed": 0, "robot": "panda", "repeat": 0,
        "perturbations": [applied_record(one) for one in trial.perturbations], "suite": "tasks", "clock": "lockstep",
    }  # fmt: skip
    assert Trial.of_row(row) == trial and Trial.of_row(row).id == trial.id
    assert trial.id != replace(trial, perturbations=()).id


def test_a_field_that_joins_later_changes_no_id_where_it_has_its_default() -> None:
    @dataclass(frozen=True)
    class Later(Trial):
        lighting: str = "day"

    trial, later = Trial("a/b", 1, "expert", 0), Later("a/b", 1, "expert", 0)
    assert later.id == trial.id
    assert replace(later, lighting="night").id != trial.id
