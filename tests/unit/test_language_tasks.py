"""The language family: six pictures, many instructions, each of them meaning exactly one of three cubes."""

from __future__ import annotations

import math
import re
from collections import Counter
from dataclasses import replace
from itertools import combinations, pairwise
from typing import get_args

import numpy as np
import pytest
from numpy.typing import NDArray

from robodx.language.lexicon import RARE, article
from robodx.language.meaning import If, resolve_all
from robodx.language.phrasing import Split, phrase, say_fact, wordings
from robodx.language.reference import Reference, candidates
from robodx.policy_contract import CameraRequest, PolicySpec
from robodx.records.trial import Trial
from robodx.running.environment import Environment
from robodx.scoring.contact import Grasped
from robodx.scoring.from_meaning import looks
from robodx.sim.scene import Scene
from robodx.streams import FIRST_TRAINING_SEED
from robodx.tasks.base import TASKS, Situation
from robodx.tasks.trios import ARRANGEMENTS, coloured

SEEDS = range(25)
SPLITS: tuple[Split, ...] = get_args(Split)
NAMES = [task for task in TASKS if task.startswith("language/")]
EVERY_TASK = pytest.mark.parametrize("task", NAMES)


def target(situation: Situation) -> str:
    """The cube whose grasp succeeds."""
    grasped = situation.stages[-1]
    assert isinstance(grasped, Grasped)
    return grasped.thing


def which(situation: Situation) -> int:
    """Which of the three that is; in most tasks they are a red, a green and a blue one, in this order."""
    return [thing.name for thing in situation.scene].index(target(situation))


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
    counts = Counter(which(TASKS[task].situation(seed)) for seed in SEEDS)
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
    for seed in range(0, 150, 3):
        instruction = TASKS[task].situation(seed).instruction
        said = [phrase(instruction.meaning, split, index).text for split in SPLITS for index in range(3)]
        own = [each.text for split in SPLITS for each in wordings(instruction, split)]
        for text in (*said, *own):
            assert_is_well_formed(text)
        assert len(set(said)) == 6 and len(set(own)) == len(own)


@EVERY_TASK
def test_test_sentences_are_never_used_by_the_task(task: str) -> None:
    """And there are three at least for every instruction, also where seeds are for training."""
    used, kept = set(), set()
    for seed in (*range(108), *range(FIRST_TRAINING_SEED, FIRST_TRAINING_SEED + 36)):
        instruction = TASKS[task].situation(seed).instruction
        tests = {each.text for each in wordings(instruction, "test")}
        assert instruction.text in instruction.train and len(tests) >= 3
        used |= {instruction.text, *instruction.train}
        kept |= tests
    assert not used & kept


def test_easy_synonyms_are_everyday_words() -> None:
    rare = re.compile("|".join(word for words in RARE.values() for word in words), re.IGNORECASE)
    instructions = [TASKS["language/synonym"].situation(seed).instruction for seed in range(108)]
    assert not any(rare.search(each.text) for each in instructions)
    assert all(rare.search(text) for each in instructions for text in each.test)


# In how many of 25 one may be right who looks only at which colours are named, and in which order.
BY_NAMES_ALONE = {
    "negation": 0,
    "exclusion": 0,
    "conditional": 14,
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


def test_who_ignores_the_condition_is_right_in_about_half() -> None:
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
    assert max(right.values()) <= 14


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


def test_the_first_picture_is_one_of_six_whatever_is_said() -> None:
    first = first_picture("language/direct", 0)
    assert first.std() > 0
    alike = TASKS["language/direct"].situation(0).scene
    for task in ("language/direct", "language/nested_reference"):
        seed = next(seed for seed in range(1, 19) if TASKS[task].situation(seed).scene == alike)
        np.testing.assert_array_equal(first_picture(task, seed), first)


@EVERY_TASK
def test_all_tasks_but_that_of_attribute_pairs_have_the_same_six_scenes(task: str) -> None:
    six = {coloured(arrangement).scene.things for arrangement in range(ARRANGEMENTS)}
    if task != "language/attribute_pair":
        assert {TASKS[task].situation(seed).scene.things for seed in range(18)} == six


def sides(situation: Situation) -> tuple[int, int]:
    """How many of the other cubes are further to the left, and nearer, than the one that is meant."""
    places = {thing.name: thing.pose.position for thing in situation.scene}
    x, y, _ = places[target(situation)]
    return sum(place[1] > y for place in places.values()), sum(place[0] < x for place in places.values())


@EVERY_TASK
def test_every_cube_is_meant_on_every_side_equally_often(task: str) -> None:
    meant: Counter[tuple[str, int]] = Counter()
    for seed in range(54):
        situation = TASKS[task].situation(seed)
        left, near = sides(situation)
        assert left != near, "its rank from the left is not its rank from near"
        meant[f"from the left, cube {which(situation)}", left] += 1
        meant[f"from near, cube {which(situation)}", near] += 1
    assert len(meant) == 18 and set(meant.values()) == {6}


def test_no_two_cubes_of_all_arrangements_lie_alike() -> None:
    """Nor so near to each other that the same grasp would do."""
    things = [thing for seed in range(0, 18, 3) for thing in TASKS["language/direct"].situation(seed).scene]
    for one, other in combinations(things, 2):
        assert math.dist(one.pose.position, other.pose.position) > 0.055
    assert len({thing.pose.quaternion for thing in things}) == 18


@pytest.mark.parametrize(("task", "sentences"), [("language/direct", 33), ("language/negation", 165)])
def test_every_sentence_comes_to_be_said_in_every_arrangement(task: str, sentences: int) -> None:
    scenes: dict[str, set[Scene]] = {}
    for seed in range(ARRANGEMENTS * sentences):
        situation = TASKS[task].situation(seed)
        scenes.setdefault(situation.instruction.text, set()).add(situation.scene)
    assert len(scenes) == sentences and {len(each) for each in scenes.values()} == {ARRANGEMENTS}


def test_of_an_attribute_pair_neither_is_enough() -> None:
    shown: Counter[tuple[str, bool]] = Counter()
    for seed in range(48):
        seen = looks(TASKS["language/attribute_pair"].situation(seed).scene)
        for attribute in ("colour", "is_striped", "size_m"):
            assert sorted(Counter(getattr(each, attribute) for each in seen.values()).values()) == [1, 2]
        shown.update((str(each.colour), each.is_striped) for each in seen.values())
    assert len(shown) == 6 and min(shown.values()) > 10, "any colour with any pattern"


def test_conditions_are_true_and_false_by_turns() -> None:
    facts = []
    for seed in SEEDS:
        situation = TASKS["language/conditional"].situation(seed)
        (choice,) = situation.instruction.meaning.clauses
        facts.append(choice.fact.holds(looks(situation.scene)))  # type: ignore[union-attr]
    assert 10 <= sum(facts) <= 15
    assert all(0.3 < sum(facts[cube::3]) / len(facts[cube::3]) < 0.7 for cube in range(3)), "of each cube"
