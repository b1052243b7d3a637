"""Interventions on cues and words: what is said changes in one respect, in good English, and means the same."""

from __future__ import annotations

import re

import pytest

from robodx.cli.browsing import list_
from robodx.interventions.base import PLACEBO, NotApplicable, intervened, parse
from robodx.interventions.changing import heard
from robodx.interventions.wording import manner_of
from robodx.language.meaning import Instruction, Meaning, pick, put
from robodx.language.phrasing import say
from robodx.language.reading import read
from robodx.registry import UnknownName
from robodx.scoring.from_meaning import lifted, stages_for
from robodx.sim.geometry import Pose
from robodx.sim.objects import bin_, cube, sphere
from robodx.sim.scene import Thing, tabletop
from robodx.situations.features import features_of
from robodx.tasks.base import TASKS, Situation

PLACES = {
    "red cube": (-0.15, 0.2), "blue cube": (-0.05, 0.05), "green cube": (0.05, -0.1), "red sphere": (-0.1, -0.2),
}  # fmt: skip


def lying(thing: Thing) -> Thing:
    return thing.posed(Pose((*PLACES[thing.name], thing.half_extents[2])))


@pytest.fixture(scope="module")
def picking() -> Situation:
    """Pick up the blue cube, among three cubes in a row and a sphere."""
    scene = tabletop(*(lying(cube(colour, 0.02)) for colour in ("red", "blue", "green")), lying(sphere("red", 0.02)))
    said = say(pick("blue cube"))
    never = tuple(lifted(scene, name) for name in PLACES if name != "blue cube")
    return Situation(scene, said, stages_for(said.meaning, scene), never)


def told(situation: Situation, *texts: str) -> str:
    applied = tuple((name.strip(), value) for name, value in (text.split("=") for text in texts))
    after = intervened(situation, applied, 3, "test")
    assert heard(after).acts == heard(situation).acts and after.stages == situation.stages
    return after.instruction.text


@pytest.mark.parametrize(
    ("interventions", "pattern"),
    [
        (["target cue=place"], "Pick up the middle cube."),
        (["target cue=ordinal"], "Pick up the (second cube from your .*|cube second .*est .* you)."),
        (["negation=that is not"], "Pick up the cube that is neither (red nor green|green nor red)."),
        (["negation=other than"], "Pick up the cube other than the (red|green) cube and the (red|green) cube."),
        (["negation=do not"], "Pick up the blue cube, but do not pick up the (red|green) cube."),
        (["negation=other than", "negation=none"], "Pick up the blue cube."),
        (["negation=do not", "negation=none"], "Pick up the blue cube."),
        (["condition=holds", "condition=none"], "Pick up the blue cube."),
        (["word=no cube"], "Pick up the blue (block|cuboid|brick)."),
        (["word=sapphire"], "Pick up the sapphire cube."),
        (["word=sapphire", "synonym=no"], "Pick up the blue cube."),
        (["word=sapphire", "negation=other than"], "Pick up the cube other than .*."),
        (["courtesy word=please"], "(Please pick up the blue cube|Pick up the blue cube, please)."),
        (["courtesy word=please", "courtesy word=no please"], "(?!.*[Pp]lease).*ick up the blue cube[.?]"),
        (["courtesy word=please", "courtesy word=placebo"], ".*[Pp]lease.*"),
        (["phrasing word=no up"], "(?!Pick up).* the blue cube."),
        (["negation=do not", "phrasing word=no not"], "Pick up the blue cube, but (never|don't) pick up .*."),
        (["verb=grab"], "Grab the blue cube."),
        (["verb=grab", "target cue=place"], "Grab the middle cube."),
        (["phrasing=test", "phrasing=train", "verb=lift"], "Lift the blue cube."),
        (["sentence length=9 to 13", "sentence length=below 6"], "Pick up the blue cube."),
        (["negation=other than", "plain wording=plain"], "Pick up the blue cube."),
    ],
)  # fmt: skip
def test_the_same_is_told_in_other_words(picking: Situation, interventions: list[str], pattern: str) -> None:
    said = told(picking, *interventions)
    assert re.fullmatch(pattern, said), said


@pytest.mark.parametrize("value", ["holds", "does not hold"])
def test_a_condition_leaves_what_is_to_be_done_as_it_is(picking: Situation, value: str) -> None:
    said = told(picking, f"condition={value}")
    (part,) = read(said).clauses
    assert "If there " in said and "otherwise" in said
    assert read(said).decided({}) != read(said).clauses and part != picking.instruction.meaning.clauses[0]


def test_left_and_right_come_and_go(picking: Situation) -> None:
    said = told(picking, "left and right=yes")
    assert "your left" in said or "your right" in said
    plain = told(picking, "left and right=yes", "left and right=no")
    assert "left" not in plain and "right" not in plain


def test_a_situation_in_which_things_change_by_themselves_keeps_its_descriptions() -> None:
    task = TASKS["dynamic/colour_swap_pick"]
    with pytest.raises(NotApplicable, match="move or change by themselves"):
        intervened(task.placed(3), (("target cue", "place"),), 3, task.id)


def test_another_thing_named_is_what_counts(picking: Situation) -> None:
    after = intervened(picking, (("named thing", "left"),), 3, "test")
    assert after.instruction.text == "Pick up the red cube."
    assert "red cube" in str(after.stages) and "blue cube" in str(after.never)
    assert features_of(after)["target_side"] == "left"


def test_a_placebo_changes_nothing_but_words(picking: Situation) -> None:
    was = features_of(picking)
    for name in ("target cue", "negation", "condition", "word", "phrasing word", "verb", "synonym", "left and right"):
        now = features_of(intervened(picking, ((name, PLACEBO),), 3, "test"))
        changes = {key for key in {**was, **now} if was.get(key) != now.get(key)}
        assert changes and all(key.startswith("word") for key in changes), name


@pytest.mark.parametrize(
    "text",
    [
        "Could you please grab the red cube?",
        "Now lift the red cube, please.",
        "I want you to take hold of the red cube.",
    ],
)
def test_what_is_said_otherwise_is_said_in_the_same_manner(text: str) -> None:
    manner = manner_of(Instruction(text, Meaning((pick("red cube"),))))
    assert manner.say(Meaning((pick("green sphere"),))).text == text.replace("red cube", "green sphere")


def test_a_word_that_another_intervention_has_is_told() -> None:
    with pytest.raises(UnknownName, match='Use "courtesy word=please"'):
        parse("word=please")


def test_a_table_lists_the_first_of_very_many_words(capsys: pytest.CaptureFixture[str]) -> None:
    list_("interventions")
    assert "Cells that end in … are cut" in (told := capsys.readouterr().out) and "no vertically" not in told
    assert max(map(len, told.splitlines())) <= 120


def test_a_goal_is_told_by_another_attribute() -> None:
    bins = [bin_("white").posed(Pose((0.05, 0.26, 0.0))), bin_("black").posed(Pose((0.05, -0.15, 0.0)))]
    scene = tabletop(lying(cube("red", 0.02)), *bins)
    said = say(put("red cube", "in", "white bin"))
    situation = Situation(scene, said, stages_for(said.meaning, scene))
    assert told(situation, "goal cue=place") in (
        "Put the red cube in the bin furthest to your left.",
        "Put the red cube in the first bin from your left.",
    )
