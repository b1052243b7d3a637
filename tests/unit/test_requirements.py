"""What trials require is read off their words, scenes and events; and what a wrong choice was wrong in."""

from __future__ import annotations

import pytest

from robodx.language.discriminating_attributes import needed, value, without
from robodx.language.meaning import Meaning, pick, put
from robodx.language.reference import Rank, Reference, Where, the
from robodx.records.episode import Mistake
from robodx.scoring.from_meaning import looks
from robodx.sim.objects import bin_, cube, sphere
from robodx.sim.scene import tabletop
from robodx.situations import requirements
from robodx.tasks.base import TASKS

SCENE = tabletop(
    cube("red", 0.03).named("big").at(0.0, 0.2),
    cube("blue", 0.02).named("small").at(0.0, -0.2),
    sphere("red").named("ball").at(-0.2, 0.0),
    bin_("purple").named("left bin").at(0.1, 0.1),
    bin_("green").named("right bin").at(0.1, -0.1),
)
SEEN = looks(SCENE)
LOOSE = {"big", "small", "ball"}


def of(task: str, seed: int = 0) -> set[str]:
    situation, varies = TASKS[task].situation(seed), TASKS[task].varies
    return set(requirements.requirements([situation.instruction.meaning], situation.scene, situation.events, varies))


@pytest.mark.parametrize(
    ("reference", "expected"),
    [
        (the("red cube"), ("colour", "shape")),
        (the("blue cube"), ("colour",)),
        (the("sphere"), ("shape",)),
        (the("big cube"), ("size", "shape")),
        (Reference("cube", rank=Rank("leftmost")), ("place",)),
        (Reference("cube", but=(Reference(colour="red"),)), ("colour",)),
        (Reference("cube", where=(Where("left of", the("blue cube")),)), ("colour", "shape", "place")),
    ],
)
def test_needed_is_what_would_be_missed(reference: Reference, expected: tuple[str, ...]) -> None:
    assert needed(reference, SEEN, LOOSE) == expected


def test_what_is_not_told_is_not_told_of_other_things_either() -> None:
    nested = Reference("cube", "red", where=(Where("left of", the("blue cube")),))
    assert without(nested, "colour") == Reference("cube", where=(Where("left of", Reference("cube")),))
    assert without(Reference("cube", but=(Reference(colour="red"),)), "colour") == Reference("cube")


def test_values_are_words_and_sizes_and_places_are_told_beside_the_other() -> None:
    big, small = SEEN["big"], SEEN["small"]
    assert (value(big, "colour", small), value(big, "shape", small)) == ("red", "cube")
    assert (value(big, "size", small), value(small, "size", big)) == ("bigger", "smaller")
    assert (value(big, "place", small), value(small, "place", big)) == ("left", "right")


@pytest.mark.parametrize(
    ("task", "expected"),
    [
        ("language/negation", {"choice", "language/negation", "layout", "motor/pick", "perception/colour"}),
        (
            "control/place_sphere_three_bins",
            {"choice", "layout", "language/order", "motor/put in", "perception/colour"},
        ),
        ("control/insert_peg", {"layout", "motor/insert into"}),
        ("dynamic/pick_sliding_cube", {"change/moving things", "layout", "motor/pick"}),
        ("dynamic/press_switch_in_time", {"change/signal", "language/signal", "layout", "motor/press"}),
        ("primitive/press_switch", {"layout", "motor/press"}),
        (
            "robustness/place_sphere_with_distractors",
            {"choice", "distractors", "layout", "motor/put in", "perception/shape"},
        ),
        ("adaptability/pick_moved_cube", {"change/sudden", "layout", "motor/pick"}),
    ],
)
def test_requirements_follow_from_the_situation(task: str, expected: set[str]) -> None:
    assert of(task) == expected


def test_a_condition_that_does_not_hold_requires_more() -> None:
    found = [of("language/conditional", seed) for seed in range(8)]
    assert all("language/condition" in each for each in found)
    assert 0 < sum("language/condition/otherwise" in each for each in found) < len(found)


def test_left_and_right_are_heard_in_ranks_relations_and_directions() -> None:
    assert any("language/left and right" in of("spatial/move_cube_direction", seed) for seed in range(4))
    assert any("language/left and right" in of("spatial/pick_leftmost", seed) for seed in range(4))
    assert "language/left and right" not in of("language/direct")


def test_a_mistake_says_what_was_asked_for_and_what_was_chosen() -> None:
    meaning = Meaning((pick("blue cube"),))
    assert requirements.mistaken(meaning, SCENE, "big", frozenset({"small"})) == (Mistake("colour", "blue", "red"),)
    assert requirements.mistaken(meaning, SCENE, "small", frozenset({"small"})) == ()


def test_a_wrong_bin_is_a_mistake_of_the_place_and_not_of_what_was_put_there() -> None:
    meaning = Meaning((put("sphere", "in", "purple bin"),))
    wrong = requirements.mistaken(meaning, SCENE, "right bin", frozenset({"ball", "left bin"}))
    assert wrong == (Mistake("colour", "purple", "green"),)


def test_colours_that_changed_are_the_colours_now() -> None:
    swapped = requirements.as_coloured(
        SCENE, {thing.name: thing.colour for thing in SCENE} | {"big": "blue", "small": "red"}
    )
    wrong = requirements.mistaken(Meaning((pick("blue cube"),)), swapped, "small", frozenset({"big"}))
    assert wrong == (Mistake("colour", "blue", "red"),)


def test_every_task_requires_something_and_in_paths() -> None:
    for task in TASKS:
        found = of(task)
        assert found, task
        assert all(path == path.strip("/") and path for path in found)
