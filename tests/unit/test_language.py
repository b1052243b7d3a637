"""Descriptions are read and resolved on attributes, and every phrasing says its meaning."""

from __future__ import annotations

import inspect
from dataclasses import replace
from typing import get_args

import pytest

from robodx.language.meaning import (
    KINDS,
    Attributes,
    Clause,
    Meaning,
    Place,
    Reference,
    Unresolved,
    candidates,
    insert,
    pick,
    press,
    push,
    put,
    resolve,
    the,
)
from robodx.language.phrasing import PHRASINGS, Split, phrase, phrasing_count, say
from robodx.registry import UnknownName
from robodx.sim import objects
from robodx.sim.colours import PALETTE
from robodx.tasks.base import TASKS

OBJECTS = [
    ("red cube", Attributes("cube", "red", "big")),
    ("little red cube", Attributes("cube", "red", "small")),
    ("green cube", Attributes("cube", "green")),
    ("yellow sphere", Attributes("sphere", "yellow")),
]
SPLITS: tuple[Split, ...] = get_args(Split)
ROWS = pytest.mark.parametrize(("action", "relation"), PHRASINGS, ids=lambda word: str(word))
FRONTED = ("into ", "on top of ", "onto ", "directly beside ")


@pytest.mark.parametrize(
    ("words", "reference"),
    [
        ("red cube", Reference("cube", "red")),
        ("big red cube", Reference("cube", "red", "big")),
        ("small sphere", Reference("sphere", None, "small")),
        ("switch", Reference("switch")),
        ("dark grey box with a hole", Reference("box with a hole", "dark grey")),
        ("purple triangular block", Reference("triangular block", "purple")),
    ],
)
def test_the_reads_size_colour_and_kind(words: str, reference: Reference) -> None:
    assert the(words) == reference
    assert reference.words == words


def test_every_colour_and_kind_survives_being_said_and_read() -> None:
    for kind in KINDS:
        for colour in (None, *PALETTE):
            reference = Reference(kind, colour, "small")
            assert the(reference.words) == reference


def test_every_built_kind_can_be_spoken_of() -> None:
    builders = [entry for entry in vars(objects).values() if inspect.isfunction(entry)]
    built = [build("red") for build in builders if build.__module__ == objects.__name__]
    assert {thing.kind for thing in built} == set(KINDS)


def test_unknown_kind_suggests_the_nearest() -> None:
    with pytest.raises(UnknownName, match=r'No kind of object "cueb". Did you mean "cube"'):
        the("red cueb")
    with pytest.raises(UnknownName, match=r'"rde cube"'):
        the("rde cube")


@pytest.mark.parametrize(
    ("reference", "name"),
    [
        (the("big red cube"), "red cube"),
        (the("small cube"), "little red cube"),
        (the("green cube"), "green cube"),
        (the("sphere"), "yellow sphere"),
        (Reference(colour="yellow"), "yellow sphere"),
    ],
)
def test_reference_resolves_to_the_one_object_meant(reference: Reference, name: str) -> None:
    assert resolve(reference, OBJECTS) == name
    assert resolve(reference, reversed(OBJECTS)) == name


def test_ambiguous_reference_raises_with_the_names() -> None:
    with pytest.raises(Unresolved, match=r'"the red cube" picks out red cube and little red cube among: .*sphere'):
        resolve(the("red cube"), OBJECTS)
    assert candidates(the("cube"), OBJECTS) == ["red cube", "little red cube", "green cube"]


def test_reference_to_nothing_raises_with_the_names() -> None:
    with pytest.raises(Unresolved, match=r'"the blue cube" picks out nothing among: red cube, .*yellow sphere'):
        resolve(the("blue cube"), OBJECTS)


@pytest.mark.parametrize(
    ("clauses", "text"),
    [
        ((pick("red cube"),), "Pick up the red cube."),
        ((put("red cube", "on", "green cube"),), "Put the red cube on top of the green cube."),
        ((put("blue cube", "on", "red cube", "switch"),), "Put the blue cube on top of the red cube and the switch."),
        ((put("yellow sphere", "in", "blue bin"),), "Put the yellow sphere in the blue bin."),
        ((put("red cube", "beside", "green cube"),), "Put the red cube right beside the green cube."),
        ((push("red cube", "green disc"),), "Push the red cube onto the green disc."),
        ((insert("charger", "receptacle"),), "Insert the charger into the receptacle."),
        ((press("switch"),), "Press the switch."),
        ((pick("red cube"), press("switch")), "Pick up the red cube, then press the switch."),
        ((replace(pick("red cube"), is_negated=True),), "Do not pick up the red cube."),
    ],
)  # fmt: skip
def test_canonical_text(clauses: tuple[Clause, ...], text: str) -> None:
    instruction = say(*clauses)
    assert instruction.text == text
    assert instruction.meaning == Meaning(clauses)


def clause_for(action: str, relation: str | None) -> Clause:
    place = Place(relation, (the("blue bin"),)) if relation else None  # type: ignore[arg-type]
    return Clause(action, the("red cube"), place)  # type: ignore[arg-type]


@ROWS
@pytest.mark.parametrize("split", SPLITS)
def test_every_phrasing_names_target_and_place_once_and_keeps_the_meaning(
    action: str, relation: str | None, split: Split
) -> None:
    meaning = Meaning((clause_for(action, relation),))
    count = phrasing_count(meaning, split)
    texts = [phrase(meaning, split, index).text for index in range(count)]
    assert count >= 3 and len({text.lower() for text in texts}) == count
    for index, text in enumerate(texts):
        assert text.count("the red cube") == 1 and text.count("the blue bin") == (relation is not None)
        assert text[0].isupper() and text.endswith(".") and "{" not in text and "  " not in text
        assert phrase(meaning, split, index).meaning == meaning
    assert phrase(meaning, split, count).text == texts[0], "indices count around"


@ROWS
def test_no_two_phrasings_of_a_row_share_verb_and_clause_order(action: str, relation: str | None) -> None:
    row = PHRASINGS[action, relation]
    ways = []
    for template in (*row.train, *row.test):
        is_fronted = template.startswith(FRONTED)
        main = template.partition(", ")[2] if is_fronted else template
        verb = main.split()[0]
        assert not verb.startswith("{") and f"{verb} " not in FRONTED, f"no verb at the start of: {template}"
        ways.append((verb, is_fronted))
    assert len(set(ways)) == len(ways)


@ROWS
@pytest.mark.parametrize("split", SPLITS)
def test_negation_stands_before_the_verb(action: str, relation: str | None, split: Split) -> None:
    clause = replace(clause_for(action, relation), is_negated=True)
    for index, template in enumerate(getattr(PHRASINGS[action, relation], split)):
        text = phrase(Meaning((clause,)), split, index).text.lower()
        main = template.rpartition(", ")[2]
        assert text.count("do not ") == 1 and f"do not {main.split()[0]} " in text


def test_relation_that_does_not_exist_is_refused() -> None:
    with pytest.raises(UnknownName, match=r'No relation "insid". Did you mean'):
        put("red cube", "insid", "blue bin")  # type: ignore[arg-type]


@pytest.mark.parametrize("task", list(TASKS))
def test_every_tasks_references_pick_out_one_thing_each(task: str) -> None:
    situation = TASKS[task].situation(0)
    known = [(thing.name, Attributes(thing.kind, thing.colour, thing.size)) for thing in situation.scene]
    named = {resolve(reference, known) for reference in situation.instruction.meaning.references}
    assert named <= {thing.name for thing in situation.scene} and named
