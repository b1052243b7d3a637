"""The language family: one picture, many instructions, each of them meaning exactly one of three cubes."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from numpy.typing import NDArray

from robodx.language.meaning import resolve_all
from robodx.language.phrasing import phrase, phrasing_count
from robodx.language.reference import Reference, candidates
from robodx.policies.base import CameraRequest, PolicySpec
from robodx.running.environment import Environment
from robodx.running.trial import Trial
from robodx.scoring.contact import Grasped
from robodx.scoring.from_meaning import looks
from robodx.tasks.base import TASKS, Situation

SEEDS = range(25)
NAMES = [task for task in TASKS if task.startswith("language/")]
EVERY_TASK = pytest.mark.parametrize("task", NAMES)


def target(situation: Situation) -> str:
    """The cube whose grasp succeeds."""
    grasped = situation.stages[-1]
    assert isinstance(grasped, Grasped)
    return grasped.thing


def first_picture(task: str, seed: int) -> NDArray[np.uint8]:
    environment = Environment(
        Trial(task, TASKS[task].version, "still", seed), PolicySpec(cameras=(CameraRequest("front", 64, 64),))
    )
    picture = environment.observe().images["front"].copy()
    environment.close()
    return picture


def test_there_are_nine_in_three_tiers() -> None:
    assert Counter(TASKS[task].tier for task in NAMES) == {"easy": 3, "medium": 3, "hard": 3}


@EVERY_TASK
def test_instructions_are_all_different(task: str) -> None:
    assert len({TASKS[task].situation(seed).instruction.text for seed in SEEDS}) == len(SEEDS)


@EVERY_TASK
def test_who_always_takes_the_same_cube_is_right_in_36_percent_at_most(task: str) -> None:
    counts = Counter(target(TASKS[task].situation(seed)) for seed in SEEDS)
    assert sorted(counts.values()) == [8, 8, 9]


@EVERY_TASK
def test_each_instruction_means_one_cube_and_no_other_may_be_grasped(task: str) -> None:
    for seed in range(300):
        situation = TASKS[task].situation(seed)
        seen = looks(situation.scene)
        (clause,) = situation.instruction.meaning.decided(seen)
        assert clause.action == "pick" and clause.place is None
        assert resolve_all((clause,), seen)[clause.target] == target(situation)
        others = {Grasped(name) for name in seen if name != target(situation)}
        assert len(seen) == 3 and set(situation.never) == others


@EVERY_TASK
def test_the_words_are_natural_and_can_be_said_otherwise(task: str) -> None:
    for seed in SEEDS:
        instruction = TASKS[task].situation(seed).instruction
        assert instruction.text[0].isupper() and instruction.text[-1] in ".?" and "  " not in instruction.text
        for split in ("train", "test"):
            assert phrasing_count(instruction.meaning, split) >= 3
            assert phrase(instruction.meaning, split, 1).text != instruction.text


@EVERY_TASK
def test_the_first_picture_is_the_same_in_every_trial(task: str) -> None:
    first = first_picture(task, 0)
    assert first.std() > 0
    for seed in (1, 2, 3, 24):
        np.testing.assert_array_equal(first_picture(task, seed), first)


def test_the_same_cubes_lie_in_all_tasks_but_that_of_attribute_pairs() -> None:
    scenes = {TASKS[task].situation(0).scene.things for task in NAMES if task != "language/attribute_pair"}
    assert len(scenes) == 1


def test_of_an_attribute_pair_neither_is_enough() -> None:
    seen = looks(TASKS["language/attribute_pair"].situation(0).scene)
    for alone in (Reference(colour="red"), Reference(size="big"), Reference(is_striped=True)):
        assert len(candidates(alone, seen)) == 2


def test_conditions_are_true_and_false_by_turns() -> None:
    facts = []
    for seed in SEEDS:
        situation = TASKS["language/conditional"].situation(seed)
        (choice,) = situation.instruction.meaning.clauses
        facts.append(choice.fact.holds(looks(situation.scene)))  # type: ignore[union-attr]
    assert 10 <= sum(facts) <= 15
