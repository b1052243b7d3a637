"""Carriers and the bias scene: what may matter is crossed, words pick out one thing, and all of it can be done."""

from __future__ import annotations

import math
from collections import Counter
from functools import cache
from typing import NamedTuple

import pytest

from robodx.language.meaning import Clause, Meaning, do
from robodx.language.phrasing import phrase
from robodx.language.reading import read
from robodx.language.reference import candidates
from robodx.scoring.from_meaning import looks
from robodx.sim.colours import PALETTE
from robodx.sim.scene import Scene, Thing
from robodx.tasks.base import EVALUATION_ONLY, TASKS
from robodx.tasks.bias import PLACES, SHAPES, WORDINGS, solid_and_box
from robodx.tasks.carrier import CONTAINERS, FLAT_BELOW, FLAT_ON_TOP, LOOSE, SHORT

CARRIERS = [task.id for task in TASKS.entries() if task.family == "carrier"]
BIAS = "bias/put_solid_in_box"
SITUATIONS = 400
# About 800 shares are looked at: of fair ones a share this many standard deviations off comes once in 1.7 million.
DEVIATIONS = 5.0


class Asked(NamedTuple):
    text: str
    clause: Clause
    scene: Scene
    # What is to be handled, and what it goes to.
    things: tuple[Thing, ...]


@cache
def situations(task: str) -> tuple[Asked, ...]:
    found = []
    for seed in range(SITUATIONS):
        situation = TASKS[task].situation(seed)
        (clause,) = situation.instruction.meaning.clauses
        assert isinstance(clause, Clause)
        fitting = [candidates(reference, looks(situation.scene)) for reference in clause.references]
        assert all(len(names) == 1 for names in fitting), situation.instruction.text
        things = tuple(situation.scene.thing(name) for (name,) in fitting)
        found.append(Asked(situation.instruction.text, clause, situation.scene, things))
    return tuple(found)


def assert_fair(pairs: list[tuple[str, bool]]) -> None:
    """That what is true of half is true of half of each sort."""
    share = sum(is_true for _, is_true in pairs) / len(pairs)
    for sort, n in Counter(sort for sort, _ in pairs).items():
        true = sum(is_true for other, is_true in pairs if other == sort)
        assert abs(true - n * share) < DEVIATIONS * math.sqrt(n * share * (1 - share)), (sort, true, n)


@pytest.mark.parametrize("task", CARRIERS)
def test_no_factor_goes_with_another(task: str) -> None:
    asked = situations(task)
    factors = {
        "is left": [one.things[0].pose.position[1] > 0 for one in asked],
        "is far": [one.things[0].pose.position[0] > -0.06 for one in asked],
        "is listed first": [_loose(one.scene)[0] == one.things[0].name for one in asked],
        "goal is left": [one.things[-1].pose.position[1] > 0 for one in asked],
        "has few around": [len(one.scene.things) <= 3 for one in asked],
        "wording": [one.text.split()[0] == asked[0].text.split()[0] for one in asked],
        "is big": [one.things[0].half_extents[2] > _middle(one.things[0].kind) for one in asked],
    }
    for of in (0, -1):
        for sorts in ([one.things[of].colour for one in asked], [one.things[of].kind for one in asked]):
            assert min(Counter(sorts).values()) > SITUATIONS / 2 / len(set(sorts)), "each comes about equally often"
            for values in factors.values():
                assert_fair(list(zip(sorts, values, strict=True)))
    assert_fair(list(zip(map(str, factors["is left"]), factors["wording"], strict=True)))


def _loose(scene: Scene) -> list[str]:
    return [thing.name for thing in scene if not thing.is_fixed]


def _middle(kind: str) -> float:
    return LOOSE[kind]("red", 1.0).half_extents[2]


@pytest.mark.parametrize("task", CARRIERS)
def test_what_a_carrier_says_is_read_as_it_is_meant(task: str) -> None:
    for text, clause, _, _ in situations(task)[:40]:
        assert read(text) == Meaning((clause,))


def test_only_what_can_be_done_is_asked_for() -> None:
    goals = [situations(task) for task in ("carrier/move_near", "carrier/put_on", "carrier/put_in")]
    for _, _, _, (target, other) in goals[0]:
        assert target.kind in FLAT_BELOW, "a sphere rolls away"
        apart = math.dist(target.pose.position[:2], other.pose.position[:2]) - target.radius_m - other.radius_m
        assert apart > 0.05, "near already"
    for _, _, _, (target, support) in goals[1]:
        assert target.kind in FLAT_BELOW and support.kind in FLAT_ON_TOP
    for _, _, _, (target, container) in goals[2]:
        assert container.cavity_half is not None
        assert target.kind in SHORT and target.radius_m < min(container.cavity_half)
    pairs = {(target.kind, container.kind) for _, _, _, (target, container) in goals[2]}
    assert len(pairs) == len(SHORT) * len(CONTAINERS), "anything that fits goes into any container"


def test_wordings_of_the_bias_scene_mean_the_same_and_name_no_colour() -> None:
    said = [solid_and_box("cube", 0, "red", wording).instruction for wording in range(WORDINGS)]
    assert len({one.text for one in said}) == 3 and len({one.meaning for one in said}) == 1
    for one in said:
        assert read(one.text) == one.meaning
        assert not any(f" {word} " in one.text.lower() for word in (*PALETTE, *SHAPES))


def test_the_bias_scene_meets_every_shape_at_every_place_in_every_wording() -> None:
    met = set()
    for text, _, _, (solid, box) in situations(BIAS)[:48]:
        x, y, _ = solid.pose.position
        met.add((solid.kind, min(PLACES, key=lambda place: math.dist(place, (x, y))), text))
        assert (box.kind, box.colour) == ("box", "yellow")
    assert len(met) == len(SHAPES) * len(PLACES) * WORDINGS == 48


@pytest.mark.parametrize("task", [*CARRIERS, BIAS])
def test_they_may_be_learned_from_and_are_no_part_of_capability(task: str) -> None:
    assert not {EVALUATION_ONLY, "capability"} & set(TASKS[task].tags)


def test_near_is_said_in_ways_to_train_and_others_to_test() -> None:
    meaning = Meaning((do("move", "red cube", "near", "blue sphere"),))
    texts = {phrase(meaning, split, index).text for split in ("train", "test") for index in range(3)}
    assert len(texts) == 6 and "Move the red cube near the blue sphere." in texts
