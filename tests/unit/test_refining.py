"""Instructions made clearer: what is ambiguous, by what it is told, and that the meaning stays."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from robodx.grounding.refining import make_clearer, refined, rivals_of
from robodx.grounding.scene import ParsedScene, palette_word, parsed
from robodx.language.meaning import Meaning, pick, put
from robodx.language.phrasing import phrase
from robodx.language.plain_wording import understood
from robodx.language.reading import read
from robodx.language.reference import Looks, Rank, Reference, Unresolved, resolve, the
from robodx.scoring.from_meaning import looks
from robodx.sim.colours import PALETTE
from robodx.tasks.base import TASKS

BOX = Looks("box", "yellow", (0.0, 0.0, 0.015), (0.06, 0.06, 0.015), (0.06, 0.06, 0.015), (0.055, 0.055))


def cube(colour: str = "red", x: float = -0.1, y: float = 0.0, half: float = 0.02, kind: str = "cube") -> Looks:
    return Looks(kind, colour, (x, y, half), (half,) * 3, (half,) * 3)


def scene(**seen: Looks) -> ParsedScene:
    return parsed(seen)


def clearer(words: str, meant: str, seen: ParsedScene) -> str:
    found = make_clearer(Reference() if words == "object" else the(words), seen.object(meant), seen)
    return "unchanged" if found is None else found.reference.words


# Objects.


def test_objects_have_categories_colour_size_position_and_state() -> None:
    found = scene(solid=cube(y=0.2), box=BOX, ball=cube("blue", 0.05, half=0.04, kind="sphere"))
    solid, box, ball = found.objects
    assert (solid.name, solid.colour, solid.size, solid.position, solid.state) == (
        "cube", "red", "small", "left", "solid",
    )  # fmt: skip
    assert solid.categories == ("cube", "geometry", "object")
    assert (box.size, box.state, box.categories[1], box.position) == ("big", "hollow", "container", "middle")
    assert (ball.size, ball.position) == ("normal", "far")


def test_things_of_one_size_are_neither_small_nor_big() -> None:
    assert {each.size for each in scene(a=cube(), b=cube("blue", half=0.0205)).objects} == {"normal"}


def test_a_paint_without_a_word_is_called_by_the_nearest_colour_that_has_one() -> None:
    assert {colour: palette_word(colour) for colour in PALETTE} == {colour: colour for colour in PALETTE}
    assert palette_word("tomato") == "red"
    assert palette_word("nothing of the kind") is None


# Ambiguity.


def test_what_shares_its_category_with_none_is_left_as_it_is() -> None:
    found = scene(solid=cube(), box=BOX)
    assert rivals_of(the("box"), found.object("box"), found) == []
    assert refined("Pick up the cube.", found).text == "Pick up the cube."


def test_everything_is_an_object_and_so_a_rival() -> None:
    found = scene(solid=cube(), box=BOX)
    assert [each.id for each in rivals_of(Reference(size="small"), found.object("solid"), found)] == ["box"]


def test_who_is_told_by_colour_already_is_not_told_more() -> None:
    found = scene(a=cube("red"), b=cube("blue", y=0.1))
    assert refined("Pick up the red cube.", found).text == "Pick up the red cube."


# Priority.


def test_colour_comes_before_state_size_and_position() -> None:
    found = scene(solid=cube("red", y=0.2), box=BOX)
    assert clearer("object", "solid", found) == "red cube"


def test_state_comes_next_and_is_told_by_the_noun() -> None:
    found = scene(solid=cube("yellow", y=0.2), box=BOX)
    assert clearer("object", "solid", found) == "cube"
    assert make_clearer(Reference(), found.object("solid"), found).told_by == ("state",)  # type: ignore[union-attr]


def test_then_size_and_last_position() -> None:
    assert clearer("cube", "a", scene(a=cube(y=0.2, half=0.03), b=cube())) == "big cube"
    assert clearer("cube", "a", scene(a=cube(y=0.2), b=cube())) == "cube furthest to your left"
    assert clearer("cube", "b", scene(a=cube(y=0.2), b=cube())) == "cube furthest to your right"
    assert clearer("cube", "b", scene(a=cube(x=-0.2), b=cube(x=0.0))) == "cube farthest from you"


def test_a_colour_that_tells_some_goes_with_what_tells_the_rest() -> None:
    found = scene(a=cube("red", y=0.2), b=cube("red", y=-0.2), c=cube("blue", y=0.3))
    assert clearer("cube", "a", found) == "red cube furthest to your left"
    assert clearer("cube", "c", found) == "blue cube"


def test_what_nothing_tells_apart_stays_as_it_was_said() -> None:
    found = scene(a=cube(), b=cube(y=0.001))
    assert clearer("cube", "a", found) == "unchanged"


def test_nothing_is_told_twice_in_other_words() -> None:
    for text, other in (
        ("Pick up the bigger cube.", cube(y=0.2)),
        ("Pick up the leftmost cube.", cube(y=-0.2, half=0.03)),
    ):
        assert refined(text, scene(a=cube(half=0.03), b=other)).text == text


# Words.


def test_only_the_description_is_said_in_other_words() -> None:
    found = scene(solid=cube(y=0.2), box=BOX)
    assert refined("Please drop the small object into the box!", found).text == "Please drop the red cube into the box!"


def test_size_goes_where_it_would_be_said_of_one_alone() -> None:
    big, small = cube(half=0.03, y=0.1), cube(y=0.2)
    assert refined("Pick up the small object.", scene(a=small, b=big, box=BOX)).text == "Pick up the small object."
    said = refined("Pick up the small cube.", scene(a=small, b=replace(big, colour="blue"))).text
    assert said == "Pick up the red cube."


def test_an_ordinal_among_several_goes_with_the_one_that_is_left() -> None:
    seen = scene(a=cube(y=0.2), b=cube("blue", y=0.0), c=cube("green", y=-0.2))
    assert refined("Pick up the second cube from the left.", seen).text == "Pick up the blue cube."
    assert refined("Grab cube number two counted from your left.", seen).text == "Grab the blue cube."


def test_what_cannot_be_read_or_leaves_open_what_is_meant_is_passed_on() -> None:
    found = scene(a=cube("red"), b=cube("blue", y=0.2))
    for text in ("Do what you will.", "Pick up the cube.", "Pick up the green cube.", ""):
        assert refined(text, found) == (text, ())


def test_it_stands_for_the_same_thing_as_before() -> None:
    said = refined("Pick up the small object, then put it in the box.", scene(solid=cube(y=0.2), box=BOX)).text
    assert said == "Pick up the red cube, then put it in the box."


def test_a_condition_and_what_is_forbidden_stay_as_they_are() -> None:
    seen = scene(a=cube("red", half=0.03), b=cube("blue", y=0.2))
    text = "If there is a red cube, pick up the small cube; otherwise, pick up the big cube."
    said = refined(text, seen).text
    assert said == "If there is a red cube, pick up the blue cube; otherwise, pick up the big cube."
    forbidding = "Pick up the small cube, but do not pick up the red cube."
    assert read(refined(forbidding, seen).text).clauses[1] == read(forbidding).clauses[1]


def test_a_scene_told_in_words_only_decides_nothing_about_places() -> None:
    measured = scene(a=cube("red", y=0.2), b=cube("blue"))
    told = ParsedScene(measured.objects, is_measured=False)
    text = "Pick up the leftmost cube."
    assert refined(text, measured).text == "Pick up the red cube."
    assert refined(text, told).text == text


# The meaning stays.


def meant(meaning: Meaning, seen: ParsedScene) -> object:
    found = understood(meaning, seen.seen)
    return found and found.acts


@pytest.mark.parametrize("task", list(TASKS))
def test_no_instruction_of_a_task_comes_to_mean_another_thing(task: str) -> None:
    for seed in range(2):
        situation = TASKS[task].placed(seed)
        found = parsed(looks(situation.scene))
        text = refined(situation.instruction.text, found).text
        if text != situation.instruction.text:
            assert meant(read(text), found) == meant(situation.instruction.meaning, found) is not None, text


THINGS = st.builds(
    lambda kind, colour, x, y, half: cube(colour, x, y, half, kind),
    st.sampled_from(("cube", "sphere", "cylinder", "box")),
    st.sampled_from(("red", "blue", "sky blue")),
    st.sampled_from(tuple(np.linspace(-0.2, 0.1, 6))),
    st.sampled_from(tuple(np.linspace(-0.2, 0.2, 9))),
    st.sampled_from((0.02, 0.0205, 0.03, 0.05)),
)
REFERENCES = st.builds(
    Reference,
    kind=st.sampled_from((None, "cube", "sphere", "box")),
    colour=st.sampled_from((None, None, "red")),
    size=st.sampled_from((None, "small", "big")),
    rank=st.sampled_from((None, None, Rank("leftmost"), Rank("right", 2), Rank("biggest"), Rank("middle"))),
)


@settings(max_examples=100, deadline=None)
@given(st.lists(THINGS, min_size=2, max_size=5), REFERENCES, REFERENCES, st.booleans(), st.integers(0, 2))
def test_a_refined_text_asks_the_same_of_the_same_things(
    things: list[Looks], target: Reference, place: Reference, is_put: bool, index: int
) -> None:
    found = scene(**{f"thing {index}": thing for index, thing in enumerate(things)})
    meaning = Meaning((put(target, "beside", place) if is_put else pick(target),))
    text = phrase(meaning, "train", index).text
    said = refined(text, found)
    before = meant(meaning, found)
    assert meant(read(said.text), found) == before
    if before is None:
        assert said.text == text
    if said.told_by:
        assert said.text != text


@settings(max_examples=40, deadline=None)
@given(st.lists(THINGS, min_size=2, max_size=5), REFERENCES)
def test_what_is_made_clearer_fits_its_own_thing_alone(things: list[Looks], reference: Reference) -> None:
    found = scene(**{f"thing {index}": thing for index, thing in enumerate(things)})
    try:
        own = found.object(resolve(reference, found.seen))
    except Unresolved:
        return
    told = make_clearer(reference, own, found)
    if told is not None:
        assert resolve(told.reference, found.seen) == own.id
        assert rivals_of(reference, own, found)
