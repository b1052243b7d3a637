"""Every intervention: it changes what it declares and nothing else, keeps its level in the placebo, and is solvable."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from itertools import product

import pytest

from robodx.interventions.base import INTERVENTIONS, PLACEBO, Intervention, NotApplicable, intervened
from robodx.policy_contract import CameraRequest, make_policy
from robodx.records.trial import Trial
from robodx.running.rollout import rollout
from robodx.situations.features import features_of
from robodx.tasks.base import TASKS, Situation, Task

SEED = 3
# Told apart at run time alone.
UNTOLD = ("expert_",)
# A policy with a camera: only that has something to record of cameras.
SHOWN = (CameraRequest("front"),)
CACHE: dict[str, tuple[Situation, dict[str, str]]] = {}


def placed(task: Task) -> tuple[Situation, dict[str, str]]:
    if task.id not in CACHE:
        situation = task.placed(SEED)
        CACHE[task.id] = situation, features_of(situation, task.varies, SHOWN)
    return CACHE[task.id]


def applied(entry: Intervention, value: str) -> Iterator[tuple[Task, Situation, dict[str, str], dict[str, str]]]:
    """Wherever it applies at one seed: the task, the changed situation, and its features before and after."""
    for task in TASKS.entries():
        situation, before = placed(task)
        try:
            after = intervened(situation, ((entry.name, value),), SEED, task.id)
        except NotApplicable as no:
            assert str(no)
            continue
        yield task, after, before, features_of(after, task.varies, SHOWN)


def applies_later(entry: Intervention, value: str) -> bool:
    """Few targets are striped: what takes stripes away has something to do at some seeds only."""
    for task, seed in product(TASKS.entries(), range(SEED + 1, SEED + 4)):
        with suppress(NotApplicable):
            intervened(task.placed(seed), ((entry.name, value),), seed, task.id)
            return True
    return False


@pytest.mark.parametrize("name", INTERVENTIONS)
def test_it_sets_what_it_says_and_changes_nothing_that_it_does_not_declare(name: str) -> None:
    entry = INTERVENTIONS[name]
    for value, levels in entry.values.items():
        count = 0
        for task, _, before, after in applied(entry, value):
            count += 1
            for attribute, level in levels.items():
                assert after.get(attribute, "no") == level, (task.id, value)
            undeclared = [
                f"{attribute}: {before.get(attribute)} → {after.get(attribute)}"
                for attribute in {**before, **after}
                if before.get(attribute) != after.get(attribute) and not entry.declares(attribute)
            ]
            assert not undeclared, (task.id, value)
        assert count or applies_later(entry, value), f"{name}={value} applies to no task at seed {SEED} or soon after"


@pytest.mark.parametrize("name", INTERVENTIONS)
def test_its_placebo_changes_the_situation_and_keeps_the_level(name: str) -> None:
    entry = INTERVENTIONS[name]
    count = 0
    for task, _, before, after in applied(entry, PLACEBO):
        count += 1
        for attribute in entry.attributes:
            assert after.get(attribute) == before.get(attribute), (task.id, attribute)
    assert count


@pytest.mark.parametrize("name", INTERVENTIONS)
def test_the_expert_solves_it_in_a_task_of_each_family(name: str) -> None:
    """One value in turn; `make validate-interventions` runs all of them in all tasks."""
    entry = INTERVENTIONS[name]
    families: dict[str, Trial] = {}
    values = [*entry.values, PLACEBO]
    for place, task in enumerate(TASKS.entries()):
        if task.family in families:
            continue
        for value in (*values[place % len(values) :], *values):
            situation = placed(task)[0]
            try:
                after = intervened(situation, ((name, value),), SEED, task.id)
            except NotApplicable:
                continue
            if replace(situation, scene=replace(after.scene, things=situation.scene.things)) == after:
                # Of light, room and cameras the expert knows nothing.
                return
            trial = Trial(task.id, task.version, "expert", SEED)
            families[task.family] = replace(trial, interventions=((name, value),))
            break
    with_policy = make_policy("expert")
    for trial in families.values():
        ((episode, _),) = rollout([trial], with_policy)
        assert episode.success, (trial.task, trial.interventions, episode.failure_evidence, episode.error)
    assert families
