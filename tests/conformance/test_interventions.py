"""Every intervention: it changes what it declares and nothing else, keeps its level in the placebo, and is solvable."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import chain

import numpy as np
import pytest

from robodx.interventions.base import INTERVENTIONS, PLACEBO, Intervention, NotApplicable, intervened
from robodx.interventions.changing import heard
from robodx.policy_contract import CameraRequest, make_policy
from robodx.records.trial import Trial
from robodx.running.rollout import rollout
from robodx.situations.features import features_of
from robodx.tasks.base import TASKS, Situation, Task

SEED = 3
# Of an intervention with many values, each is looked at in a few tasks; `make validate-interventions` takes all.
MANY_VALUES = 8
MOST_APPLIED = 24
# And of one with a value for every word, so many of them, where they apply as it is.
MOST_VALUES = 20
# In how many families the expert is asked to solve it, unless thoroughly.
MOST_FAMILIES = 3
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
    """Where it applies at one seed: the task, the changed situation, and its features before and after."""
    values, tasks = [*entry.values, PLACEBO], TASKS.entries()
    first = 7 * values.index(value) % len(tasks)
    count = 0
    for task in (*tasks[first:], *tasks[:first]):
        situation, before = placed(task)
        try:
            after = intervened(situation, ((entry.name, value),), SEED, task.id)
        except NotApplicable as no:
            assert str(no)
            continue
        yield task, after, before, features_of(after, task.varies, SHOWN)
        count += 1
        if len(values) > MANY_VALUES and count >= MOST_APPLIED // len(values):
            return


def found(entry: Intervention, value: str) -> Iterator[tuple[Task, Situation, dict[str, str], dict[str, str]]]:
    """Where it is so everywhere already, after another value; else in the random scenes of other seeds."""
    values = list(entry.values)
    here = values.index(value)
    # Values that stand beside each other in the list are often opposites.
    nearby = sorted(values, key=lambda other: abs(values.index(other) - here))[1:4]
    others = [((entry.name, other),) for other in nearby]
    carriers = [task for task in TASKS.entries() if task.family == "carrier"]
    at_seed = ((task, SEED, other) for other in others for task in TASKS.entries())
    at_others = ((task, seed, other) for seed in range(SEED, SEED + 9) for task in carriers for other in ((), *others))
    for task, seed, other in chain(at_seed, at_others):
        situation = placed(task)[0] if seed == SEED else task.placed(seed)
        try:
            situation = intervened(situation, other, seed, task.id)
            after = intervened(situation, ((entry.name, value),), seed, task.id)
        except NotApplicable:
            continue
        yield task, after, features_of(situation, task.varies, SHOWN), features_of(after, task.varies, SHOWN)
        return


@pytest.mark.parametrize("name", INTERVENTIONS)
def test_it_sets_what_it_says_and_changes_nothing_that_it_does_not_declare(name: str) -> None:
    entry = INTERVENTIONS[name]
    is_sampled = len(entry.values) > 2 * MOST_VALUES
    every = len(entry.values) // MOST_VALUES if is_sampled else 1
    count = 0
    # An odd number, for every second of them takes a word away.
    for value, levels in list(entry.values.items())[:: every | 1]:
        cases = list(applied(entry, value)) or list(() if is_sampled else found(entry, value))
        assert cases or is_sampled, f"{name}={value} applies to no task at seed {SEED}"
        count += len(cases)
        for task, _, before, after in cases:
            for attribute, level in levels.items():
                if attribute.startswith(UNTOLD):
                    continue
                assert after.get(attribute, "no") == level, (task.id, value)
            undeclared = [
                f"{attribute}: {before.get(attribute)} → {after.get(attribute)}"
                for attribute in {**before, **after}
                if before.get(attribute) != after.get(attribute) and not entry.declares(attribute)
            ]
            assert not undeclared, (task.id, value)
    assert count >= min(len(entry.values), MOST_VALUES // 4)


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
def test_the_expert_solves_it_in_tasks_of_several_families(name: str, is_thorough: bool) -> None:
    """One value in turn; `make validate-interventions` runs all of them in all tasks."""
    most = len(TASKS) if is_thorough else MOST_FAMILIES
    entry = INTERVENTIONS[name]
    families: dict[str, Trial] = {}
    is_reworded = False
    values = [*entry.values, PLACEBO]
    for place, task in enumerate(TASKS.entries()):
        # Those that show a partner's scene in another way are as hard for the expert as that.
        if task.family in families or task.draws_as:
            continue
        for value in (*values[place % len(values) :], *values):
            before = placed(task)[0]
            try:
                after = intervened(before, ((name, value),), SEED, task.id)
            except NotApplicable:
                continue
            # Who is told the same in other words, or in other light, does the same: once is enough.
            same = replace(
                after, instruction=before.instruction, scene=replace(after.scene, things=before.scene.things)
            )
            surroundings = replace(before, scene=replace(after.scene, things=before.scene.things))
            is_same_scene = after.scene.things == before.scene.things
            if is_same_scene and same == surroundings and heard(after).acts == heard(before).acts:
                if is_reworded:
                    break
                is_reworded = True
            trial = Trial(task.id, task.version, "expert", SEED)
            families[task.family] = replace(trial, interventions=((name, value),))
            break
    with_policy = make_policy("expert")
    # Others for each intervention.
    places = np.random.default_rng(len(name)).permutation(len(families))[:most]
    for trial in (list(families.values())[place] for place in places):
        ((episode, _),) = rollout([trial], with_policy)
        assert episode.success, (trial.task, trial.interventions, episode.failure_evidence, episode.error)
    assert families
