"""The language family: one picture, many instructions, each of them meaning exactly one of three cubes."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from itertools import pairwise
from typing import get_args

import numpy as np
import pytest
from numpy.typing import NDArray

from robodx.language.lexicon import article
from robodx.language.meaning import If, resolve_all
from robodx.language.phrasing import Split, phrase, phrasing_count, say_fact
from robodx.language.reference import Reference, candidates
from robodx.policy_contract import CameraRequest, PolicySpec
from robodx.records.trial import Trial
from robodx.running.environment import Environment
from robodx.scoring.contact import Grasped
from robodx.scoring.from_meaning import looks
from robodx.tasks.base import TASKS, Situation

SEEDS = range(25)
SPLITS: tuple[Split, ...] = get_args(Split)
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


def assert_is_well_formed(text: str) -> None:
    words = re.findall(r"[\w'-]+", text.lower())
    assert text[0].isupper() and text[-1] in ".?" and "  " not in text and "{" not in text
    assert not any(word == after for word, after in pairwise(words)), f"a word twice: {text}"
    for word, after in pairwise(words):
        assert word not in ("a", "an") or article(after) == word, f"the wrong article: {text}"


@EVERY_TASK
def test_each_instruction_is_well_formed_and_can_be_said_otherwise(task: str) -> None:
    for seed in range(150):
        instruction = TASKS[task].situation(seed).instruction
        said = [phrase(instruction.meaning, split, index).text for split in SPLITS for index in range(3)]
        for text in (instruction.text, *said):
            assert_is_well_formed(text)
        assert len(set(said)) == 6
        assert all(phrasing_count(instruction.meaning, split) >= 3 for split in SPLITS)


# In how many of 25 one may be right who looks only at which colours are named, and in which order.
BY_NAMES_ALONE = {
    "negation": 0,
    "exclusion": 0,
    "conditional": 13,
    "double_negation": 13,
    "nested_reference": 0,
}


@pytest.mark.parametrize("name", BY_NAMES_ALONE)
def test_no_place_among_the_colours_named_tells_the_cube(name: str) -> None:
    right: Counter[str] = Counter()
    for seed in SEEDS:
        situation = TASKS[f"language/{name}"].situation(seed)
        named = [f"{colour} cube" for colour in re.findall(r"\b(red|green|blue)\b", situation.instruction.text)]
        chosen = {"first": named[0], "second": named[min(1, len(named) - 1)], "last": named[-1]}
        if len(set(named)) == 1:
            chosen["only"] = named[0]
        right += Counter(rule for rule, cube in chosen.items() if cube == target(situation))
    assert all(count <= BY_NAMES_ALONE[name] for count in right.values()), right


def test_who_ignores_the_condition_is_right_in_half_at_most() -> None:
    """Whether the first that is commanded is taken, or the last."""
    right: Counter[str] = Counter()
    for seed in SEEDS:
        situation = TASKS["language/conditional"].situation(seed)
        (choice,) = situation.instruction.meaning.clauses
        assert isinstance(choice, If)
        # The condition stands before one of them or both, and may name their colours: it is not looked at.
        text = situation.instruction.text.replace(say_fact(choice.fact).partition(" ")[2], "")
        commanded = sorted((choice.then, choice.otherwise), key=lambda clause: text.index(str(clause.target.colour)))
        for rule, clause in zip(("first", "last"), commanded, strict=True):
            right[rule] += clause.target.words == target(situation)
    assert right == {"first": 12, "last": 13}


def anchor(reference: Reference) -> Reference:
    """What a cube is told by."""
    of = reference.rank.of if reference.rank else reference.where[0].of
    assert of is not None
    return of


def test_who_ignores_a_relation_of_a_nested_reference_is_right_in_half_at_most() -> None:
    right: Counter[str] = Counter()
    for seed in SEEDS:
        situation = TASKS["language/nested_reference"].situation(seed)
        seen = looks(situation.scene)
        (clause,) = situation.instruction.meaning.decided(seen)
        outer, inner = clause.target, anchor(clause.target)
        straight = (
            replace(outer, rank=replace(outer.rank, of=anchor(inner)))
            if outer.rank
            else replace(outer, where=(replace(outer.where[0], of=anchor(inner)),))
        )
        right["only the outer"] += candidates(straight, seen) == [target(situation)]
        right["only the inner"] += candidates(inner, seen) == [target(situation)]
    assert right["only the inner"] == 0 and right["only the outer"] <= 13


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
