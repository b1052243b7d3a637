"""Interventions on looks and on company: words, names and what counts follow, and nothing else changes."""

from __future__ import annotations

import pytest

from robodx.interventions.base import PLACEBO, NotApplicable, intervened
from robodx.interventions.changing import heard, target_of
from robodx.interventions.redescribing import described
from robodx.language.meaning import Clause, pick, put
from robodx.language.phrasing import say
from robodx.scoring.contact import Grasped
from robodx.scoring.from_meaning import looks, stages_for
from robodx.sim.objects import bin_, crate, cube, sphere
from robodx.sim.scene import Thing, tabletop
from robodx.tasks.base import TASKS, Situation


def after(situation: Situation, name: str, value: str, seed: int = 0) -> Situation:
    return intervened(situation, ((name, value),), seed, "a task")


def asked(clause: Clause, *things: Thing) -> Situation:
    """Of the first thing; to grasp another is wrong."""
    scene, said = tabletop(*things), say(clause)
    wrong = tuple(Grasped(thing.name) for thing in things[1:] if not thing.is_fixed)
    return Situation(scene, said, stages_for(said.meaning, scene), never=wrong)


CUBES = (cube("red").at(-0.1, 0.15), cube("green").at(0.0, 0.0), cube("blue").at(-0.1, -0.15))


@pytest.mark.parametrize(
    ("task", "seed", "name", "value", "text"),
    [
        ("language/direct", 0, "target colour", "cyan", "Would you take hold of the cyan cube?"),
        ("language/direct", 0, "exchange colours", "red", "Would you take hold of the red cube?"),
        ("language/negation", 0, "target colour", "yellow", "Pick up a cube, but no red or green one."),
        ("language/negation", 0, "exchange colours", "red", "Pick up a cube, but no blue or green one."),
        ("language/synonym", 0, "exchange colours", "blue", "Get hold of the cobalt building block."),
        ("language/exclusion", 0, "kind of all alike", "sphere",
         "Please grasp any sphere except the red one and the green one."),
        ("language/attribute_pair", 5, "target pattern", "plain",
         "Your task is to pick up the plain one among the blue cubes."),
    ],
)  # fmt: skip
def test_a_tasks_own_sentences_name_the_new_looks(task: str, seed: int, name: str, value: str, text: str) -> None:
    assert after(TASKS[task].placed(seed), name, value).instruction.text == text


def test_only_what_describes_the_target_is_said_otherwise_and_its_name_follows_everywhere() -> None:
    before = asked(put("red cube", "on", "red crate"), CUBES[0], crate("red").at(0.0, 0.0), CUBES[2])
    new = after(before, "target colour", "yellow")
    assert new.instruction.text == "Put the yellow cube on top of the red crate."
    assert [thing.name for thing in new.scene] == ["yellow cube", "red crate", "blue cube"]
    assert new.stages == stages_for(new.instruction.meaning, new.scene)
    assert new.never == before.never


def test_a_colour_that_the_words_give_to_another_thing_takes_an_exchange() -> None:
    before = asked(pick("red cube"), *CUBES)
    with pytest.raises(NotApplicable):
        after(before, "target colour", "blue")
    new = after(before, "exchange colours", "blue")
    assert new.instruction.text == "Pick up the blue cube."
    assert [(thing.name, thing.colour) for thing in new.scene] == [
        ("blue cube", "blue"), ("green cube", "green"), ("red cube", "red"),
    ]  # fmt: skip
    assert new.never == (Grasped("green cube"), Grasped("red cube"))


@pytest.mark.parametrize("name", ["target colour", "target kind", "target pattern", "target size"])
def test_every_description_fits_what_it_did_after_a_placebo(name: str) -> None:
    task = TASKS["isolation/touch_sphere_with_language"]
    for seed in range(4):
        before = task.placed(seed)
        new = after(before, name, PLACEBO, seed)
        was, now = (described(each.instruction.meaning, looks(each.scene)) for each in (before, new))
        assert [len(fitting) for fitting in was] == [len(fitting) for fitting in now]


def test_a_target_of_another_size_or_kind_rests_where_it_lay() -> None:
    before = asked(pick("red cube"), *CUBES)
    small, ball = after(before, "target size", "small"), after(before, "target kind", "sphere")
    assert target_of(small).shapes[0].size == pytest.approx(target_of(small).half_extents)
    assert ball.instruction.text == "Pick up the red sphere." and ball.stages != before.stages
    for thing in (target_of(small), target_of(ball)):
        assert thing.pose.position == pytest.approx((-0.1, 0.15, thing.half_extents[2]))
    assert target_of(ball).half_extents == pytest.approx(target_of(before).half_extents)


def test_what_cannot_be_done_with_a_kind_is_not_applicable() -> None:
    stacking = asked(put("red cube", "on", "green cube"), *CUBES)
    with pytest.raises(NotApplicable, match='a sphere will not do as the target of "put on"'):
        after(stacking, "target kind", "sphere")
    into = asked(put("red cube", "in", "green bin"), CUBES[0], bin_("green").at(0.0, -0.1))
    assert after(into, "goal kind", "bowl").instruction.text == "Put the red cube in the green bowl."


def test_company_is_taken_away_and_added_with_what_would_be_wrong_about_it() -> None:
    before = asked(pick("red cube"), *CUBES, sphere("blue").at(0.1, 0.2))
    alone = after(before, "loose things", "1")
    assert [thing.name for thing in alone.scene] == ["red cube"] and not alone.never
    more = after(before, "distractors", "3 or more")
    added = [thing for thing in more.scene if thing not in before.scene.things]
    assert len(added) == 2 and all(thing.kind != "cube" for thing in added)
    assert more.never == (*before.never, *(Grasped(thing.name) for thing in added))
    assert heard(more).acts == heard(before).acts
    alike = after(before, "things alike", "4 or more")
    assert sum(thing.kind == "cube" for thing in alike.scene) == 4
    (moved,) = set(after(before, "distractors", PLACEBO).scene) - set(before.scene)
    assert moved.name != "red cube"


def test_what_the_words_speak_of_is_not_taken_away() -> None:
    before = TASKS["language/negation"].placed(0)
    with pytest.raises(NotApplicable, match="needed"):
        after(before, "loose things", "1")
