"""Descriptions are resolved on looks, meanings are decided, and every phrasing says its meaning."""

from __future__ import annotations

import inspect
import re
from dataclasses import replace
from typing import get_args

import pytest

from robodx.language.lexicon import EVERYDAY, KINDS, RARE
from robodx.language.meaning import (
    Clause,
    Exists,
    If,
    Meaning,
    Place,
    insert,
    move,
    once_lit,
    pick,
    press,
    push,
    put,
    resolve_all,
    stand,
    touch,
)
from robodx.language.phrasing import CHOICES, SIGNALS, Split, phrase, phrasing_count, say, say_fact
from robodx.language.reference import Looks, Rank, Reference, Unresolved, Where, candidates, resolve, the
from robodx.language.verbs import PHRASINGS, act
from robodx.registry import UnknownName
from robodx.scoring.from_meaning import looks
from robodx.sim import objects
from robodx.sim.colours import PALETTE
from robodx.tasks.base import TASKS


def block(colour: str, x: float, y: float, half: float = 0.02, *, is_striped: bool = False, z: float = 0.0) -> Looks:
    return Looks("cube", colour, (x, y, half + z), (half,) * 3, (half,) * 3, is_striped=is_striped)


# The robot looks along x and its left is +y.
SEEN = {
    "red cube": block("red", -0.1, 0.2, 0.03),
    "little red cube": block("red", 0.0, 0.1, is_striped=True),
    "green cube": block("green", 0.1, 0.0),
    "yellow sphere": Looks("sphere", "yellow", (0.0, -0.2, 0.02)),
    "blue bowl": Looks(
        "bowl", "blue", (0.0, -0.2, 0.02), (0.08, 0.08, 0.02), (0.08, 0.08, 0.02), cavity_half=(0.06, 0.06)
    ),
    "blue cube": block("blue", 0.1, 0.0, z=0.04),
}
SPLITS: tuple[Split, ...] = get_args(Split)
ROWS = pytest.mark.parametrize(
    ("action", "relation"),
    [(action, relation or None) for action, _, relation in (row.partition(" ") for row in PHRASINGS)],
    ids=lambda word: str(word),
)
RED, GREEN, BLUE = (the(f"{colour} cube") for colour in ("red", "green", "blue"))
CUBE = Reference("cube")


@pytest.mark.parametrize(
    ("words", "reference"),
    [
        ("red cube", Reference("cube", "red")),
        ("big red cube", Reference("cube", "red", "big")),
        ("small sphere", Reference("sphere", None, "small")),
        ("switch", Reference("switch")),
        ("dark grey block with a hole", Reference("block with a hole", "dark grey")),
        ("purple triangular block", Reference("triangular block", "purple")),
        ("bigger sphere", Reference("sphere", rank=Rank("bigger"))),
    ],
)
def test_the_reads_rank_size_colour_and_kind(words: str, reference: Reference) -> None:
    assert the(words) == reference
    assert reference.words == words


def test_every_colour_and_kind_survives_being_said_and_read() -> None:
    for kind in KINDS:
        for colour in (None, *PALETTE):
            reference = Reference(kind, colour, "small")
            assert the(reference.words) == reference


def test_every_built_kind_can_be_spoken_of() -> None:
    builders = [entry for entry in vars(objects).values() if inspect.isfunction(entry)]
    built = [build("red") for build in builders if build.__module__.startswith(objects.__name__)]
    assert {thing.kind for thing in built} == set(KINDS)


def test_no_two_things_share_a_word() -> None:
    words = [*KINDS, *PALETTE, *(word for table in (EVERYDAY, RARE) for row in table.values() for word in row)]
    assert len(set(words)) == len(words)


def test_unknown_kind_suggests_the_nearest() -> None:
    with pytest.raises(UnknownName, match=r'No kind of object "cueb". Did you mean "cube"'):
        the("red cueb")
    with pytest.raises(UnknownName, match=r'"rde cube"'):
        the("rde cube")


@pytest.mark.parametrize(
    ("words", "reference"),
    [
        ("striped red cube", Reference("cube", "red", is_striped=True)),
        ("second cube from your left", Reference("cube", rank=Rank("left", 2))),
        ("red cube furthest to your left", the("leftmost red cube")),
        ("cube second furthest to your right", Reference("cube", rank=Rank("rightmost", 2))),
        ("cube third nearest to you", Reference("cube", rank=Rank("nearest", 3))),
        ("red cube farthest from you", Reference("cube", "red", rank=Rank("farthest"))),
        ("cube closest to the blue bowl", Reference("cube", rank=Rank("closest to", of=the("blue bowl")))),
        ("cube second farthest from the switch", Reference("cube", rank=Rank("farthest from", 2, the("switch")))),
        ("cube further to your left than the red cube", Reference("cube", where=(Where("left of", RED),))),
        (
            "cube farther from you than the red cube and inside the bowl",
            Reference("cube", where=(Where("behind", RED), Where("inside", the("bowl")))),
        ),
        (
            "cube farther from you than the cube further to your left than the red cube",
            Reference("cube", where=(Where("behind", Reference("cube", where=(Where("left of", RED),))),)),
        ),
        ("cube that is not red", Reference("cube", but=(Reference(colour="red"),))),
        (
            "cube that is neither red nor blue",
            Reference("cube", but=(Reference(colour="red"), Reference(colour="blue"))),
        ),
        ("object that is not a cube", Reference(but=(CUBE,))),
        ("cube other than the red cube and the blue cube", Reference("cube", but=(RED, BLUE))),
        ("crimson block", Reference("cube", "red", said="crimson block")),
    ],
)
def test_words_of_a_description(words: str, reference: Reference) -> None:
    assert reference.words == words


@pytest.mark.parametrize(
    ("reference", "names"),
    [
        (the("big red cube"), "red cube"),
        (the("green cube"), "green cube"),
        (the("sphere"), "yellow sphere"),
        (Reference(colour="yellow"), "yellow sphere"),
        (Reference("cube", is_striped=True), "little red cube"),
        (Reference("cube", "red", is_striped=False), "red cube"),
        (the("leftmost cube"), "red cube"),
        (the("farthest red cube"), "little red cube"),
        (the("biggest cube"), "red cube"),
        (the("highest cube"), "blue cube"),
        (Reference("cube", rank=Rank("left", 2)), "little red cube"),
        (Reference("cube", rank=Rank("nearest", 2)), "little red cube"),
        (Reference("cube", "red", rank=Rank("closest to", of=GREEN)), "little red cube"),
        (Reference("cube", "red", rank=Rank("farthest from", of=GREEN)), "red cube"),
        (Reference(where=(Where("inside", the("blue bowl")),)), "yellow sphere"),
        (Reference("cube", where=(Where("on", GREEN),)), "blue cube"),
        (Reference("cube", where=(Where("under", BLUE),)), "green cube"),
        (Reference("cube", "red", where=(Where("in front of", the("sphere")),)), "red cube"),
        (Reference("cube", where=(Where("left of", Reference("cube", "red", "small")),)), "red cube"),
        (Reference("cube", where=(Where("behind", the("big red cube")), Where("left of", GREEN))), "little red cube"),
        (Reference("cube", but=(RED, GREEN)), "blue cube"),
        (Reference("cube", but=(Reference(colour="red"), Reference(colour="blue"))), "green cube"),
        (Reference("cube", but=(Reference(colour="red"),), rank=Rank("highest")), "blue cube"),
        (Reference(but=(CUBE, the("bowl"))), "yellow sphere"),
    ],
    ids=lambda value: value.words if isinstance(value, Reference) else "",
)  # fmt: skip
def test_reference_resolves_to_the_one_object_meant(reference: Reference, names: str) -> None:
    assert resolve(reference, SEEN) == names
    assert resolve(reference, dict(reversed(SEEN.items()))) == names


def test_big_and_small_are_said_only_of_things_that_differ() -> None:
    assert candidates(the("big sphere"), SEEN) == candidates(the("small sphere"), SEEN) == []
    assert candidates(the("small red cube"), SEEN) == ["little red cube"]


def test_ambiguous_reference_raises_with_the_names() -> None:
    with pytest.raises(Unresolved, match=r'"the red cube" picks out red cube and little red cube among: .*sphere'):
        resolve(RED, SEEN)
    assert candidates(CUBE, SEEN) == ["red cube", "little red cube", "green cube", "blue cube"]


def test_reference_to_nothing_raises_with_the_names() -> None:
    with pytest.raises(Unresolved, match=r'"the pink cube" picks out nothing among: red cube, .*yellow sphere'):
        resolve(the("pink cube"), SEEN)


def test_rank_beyond_what_is_there_raises() -> None:
    with pytest.raises(Unresolved, match="there is no third among"):
        resolve(Reference("cube", "red", rank=Rank("left", 3)), SEEN)
    with pytest.raises(Unresolved, match="there is no first among nothing"):
        resolve(Reference("sphere", rank=Rank("closest to", of=the("sphere"))), SEEN)


def test_rank_that_makes_no_sense_is_refused() -> None:
    with pytest.raises(ValueError, match='"closest to" needs thing'):
        Rank("closest to")
    with pytest.raises(ValueError, match='"leftmost" takes no thing'):
        Rank("leftmost", of=RED)
    with pytest.raises(ValueError, match="number 0"):
        Rank("left", 0)
    for by in ("middle", "odd", "bigger", "smaller"):
        with pytest.raises(ValueError, match=f'"{by}" is said of one: there is no second'):
            Rank(by, 2)
    with pytest.raises(ValueError, match='"that fits" is said of one'):
        Rank("that fits", 2, RED)


@pytest.mark.parametrize(
    ("clauses", "text"),
    [
        ((pick("red cube"),), "Pick up the red cube."),
        ((put("red cube", "on", "green cube"),), "Put the red cube on top of the green cube."),
        ((put("blue cube", "on", "red cube", "switch"),), "Put the blue cube on top of the red cube and the switch."),
        ((put("yellow sphere", "in", "blue bin"),), "Put the yellow sphere in the blue bin."),
        ((put("red cube", "beside", "green cube"),), "Put the red cube right beside the green cube."),
        ((put("red cube", "between", "bowl", "bin"),), "Put the red cube midway between the bowl and the bin."),
        ((move("red cube", "left", 0.1),), "Move the red cube 10 cm to your left."),
        ((push("red cube", "green disc"),), "Push the red cube onto the green disc."),
        ((insert("charger", "receptacle"),), "Insert the charger into the receptacle."),
        ((press("switch"),), "Press the switch."),
        ((stand("peg"),), "Stand the peg upright."),
        ((once_lit("switch", touch("sphere")),), "Touch the sphere when the switch lights up."),
        ((once_lit("switch", press("switch")),), "Press the switch when its lamp lights up."),
        (
            (put("sphere", "in", "red bin"), put("sphere", "in", "blue bin"), pick("red cube")),
            "Put the sphere in the red bin, then put it in the blue bin, then pick up the red cube.",
        ),
        ((pick("red cube"), press("switch")), "Pick up the red cube, then press the switch."),
        ((replace(pick("red cube"), is_negated=True),), "Do not pick up the red cube."),
        (
            (replace(pick("red cube"), is_negated=True), pick("blue cube")),
            "Do not pick up the red cube, but pick up the blue cube.",
        ),
        (
            (Clause("leave", RED, is_negated=True), replace(pick("blue cube"), is_negated=True)),
            "Do not leave the red cube where it is, and do not pick up the blue cube.",
        ),
        (
            (replace(pick(Reference("cube", but=(Reference(colour="blue"),))), is_negated=True),),
            "Do not pick up any cube that is not blue.",
        ),
        (
            (pick(CUBE), replace(pick(Reference("cube", but=(Reference(colour="blue"),))), is_negated=True)),
            "Pick up a cube, but do not pick up any cube that is not blue.",
        ),
        (
            (pick("sphere"), replace(pick(Reference("cube", but=(Reference(colour="blue"),))), is_negated=True)),
            "Pick up the sphere, but do not pick up any cube that is not blue.",
        ),
    ],
)  # fmt: skip
def test_canonical_text(clauses: tuple[Clause, ...], text: str) -> None:
    instruction = say(*clauses)
    assert instruction.text == text
    assert instruction.meaning == Meaning(clauses)


@pytest.mark.parametrize(
    ("fact", "text", "holds"),
    [
        (Exists(the("green cube")), "is a green cube", True),
        (Exists(the("orange cube")), "is an orange cube", False),
        (Exists(the("orange cube"), 0, 0), "is no orange cube", True),
        (Exists(CUBE, 4, 4), "are exactly four cubes", True),
        (Exists(CUBE, 5), "are at least five cubes", False),
        (Exists(CUBE, 0, 3), "are at most three cubes", False),
        (Exists(the("green cube"), 1, 1), "is exactly one green cube", True),
        (Exists(RED, 2), "are at least two red cubes", True),
        (Exists(the("block with a hole"), 2), "are at least two blocks with a hole", False),
        (Exists(the("switch"), 2), "are at least two switches", False),
        (Exists(replace(CUBE, where=(Where("on", GREEN),))), "is a cube on the green cube", True),
        (Exists(replace(CUBE, where=(Where("on", the("crate")),))), "is a cube on the crate", False),
    ],
)
def test_facts_are_said_and_told(fact: Exists, text: str, holds: bool) -> None:
    assert say_fact(fact) == text
    assert fact.holds(SEEN) == holds


def test_fact_that_cannot_be_is_refused() -> None:
    with pytest.raises(ValueError, match="at least 1 and at most 0"):
        Exists(RED, at_most=0)


def test_a_choice_is_settled_by_what_there_is() -> None:
    for fact, chosen in ((Exists(GREEN), "green"), (Exists(the("sphere"), 2), "blue")):
        meaning = Meaning((If(fact, pick("green cube"), pick("blue cube")),))
        assert meaning.decided(SEEN) == (pick(f"{chosen} cube"),)


def test_a_choice_in_words() -> None:
    meaning = Meaning((If(Exists(the("sphere")), pick("green cube"), pick("blue cube")),))
    train = [phrase(meaning, "train", index).text for index in range(3)]
    assert train == [
        "If there is a sphere, pick up the green cube; otherwise, pick up the blue cube.",
        "Lift the green cube if there is a sphere, else lift the blue cube.",
        "Should there be a sphere, grasp and lift the green cube; if not, grasp and lift the blue cube.",
    ]
    test = phrase(meaning, "test", 0).text
    assert test.startswith("In case there is a sphere, scoop up the green cube") and "if there is no sphere, " in test


NOT_BLUE = Reference("cube", but=(Reference(colour="blue"),))
NOT_RED = Reference("cube", but=(Reference(colour="red"),))


@pytest.mark.parametrize(
    ("clauses", "names"),
    [
        # Not to leave a thing is to pick it up; whatever else is negated only forbids.
        ((Clause("leave", BLUE, is_negated=True),), ["blue cube"]),
        ((Clause("leave", BLUE),), []),
        ((replace(pick(BLUE), is_negated=True),), []),
        ((replace(pick(NOT_BLUE), is_negated=True),), []),
        ((replace(touch(NOT_BLUE), is_negated=True),), []),
        # What is forbidden narrows what is asked, by all that is said of it, and adds nothing to it.
        ((pick(CUBE), replace(pick(NOT_BLUE), is_negated=True)), ["blue cube"]),
        ((pick("sphere"), replace(pick(NOT_RED), is_negated=True)), ["yellow sphere"]),
        ((pick(RED), replace(pick(replace(RED, size="big")), is_negated=True)), ["little red cube"]),
        ((pick(RED), replace(pick(replace(CUBE, where=(Where("behind", the("big red cube")),))), is_negated=True)),
         ["red cube"]),
        ((pick(NOT_RED), Clause("leave", GREEN)), ["blue cube"]),
        # Only of the same thing to do.
        ((pick(GREEN), replace(touch(GREEN), is_negated=True)), ["green cube"]),
        ((pick("leftmost cube"), replace(pick(BLUE), is_negated=True)), ["red cube"]),
    ],
)  # fmt: skip
def test_negations_undo_each_other_and_what_is_forbidden_is_not_done(
    clauses: tuple[Clause, ...], names: list[str]
) -> None:
    decided = Meaning(clauses).decided(SEEN)
    meant = resolve_all(decided, SEEN)
    assert [meant[clause.target] for clause in decided] == names
    assert not any(clause.is_negated for clause in decided)


def test_who_asks_for_what_is_forbidden_asks_for_nothing() -> None:
    with pytest.raises(Unresolved, match="picks out nothing"):
        resolve_all(Meaning((pick(BLUE), replace(pick(BLUE), is_negated=True))).decided(SEEN), SEEN)


def test_what_was_meant_is_still_meant_while_it_looks_so() -> None:
    leftmost, closest = the("leftmost cube"), Reference("cube", "red", rank=Rank("closest to", of=GREEN))
    clauses = (pick(leftmost), pick(closest), pick("green cube"))
    before = resolve_all(clauses, SEEN)
    assert before[leftmost] == "red cube" and before[closest] == "little red cube"
    moved = SEEN | {"red cube": block("red", -0.1, -0.3, 0.03), "little red cube": block("red", 0.0, 0.3)}
    assert resolve_all(clauses, moved, before) == before
    assert resolve_all(clauses, moved)[leftmost] == "little red cube"
    swapped = SEEN | {"green cube": replace(SEEN["green cube"], colour="blue"), "blue cube": block("green", 0, 0.1)}
    assert resolve_all((pick("green cube"),), swapped, before)[GREEN] == "blue cube"


def clause_for(action: str, relation: str | None) -> Clause:
    place = None
    if relation in ("left", "right", "forward", "back"):
        place = Place(relation, distance_m=0.1)  # type: ignore[arg-type]
    elif relation:
        others = ("blue bin", "bowl") if relation == "between" else ("blue bin",)
        place = Place(relation, tuple(the(words) for words in others))  # type: ignore[arg-type]
    return Clause(action, RED, place)


@ROWS
@pytest.mark.parametrize("split", SPLITS)
def test_every_phrasing_names_target_and_place_once_and_keeps_the_meaning(
    action: str, relation: str | None, split: Split
) -> None:
    meaning = Meaning((clause_for(action, relation),))
    named = "10 cm" if meaning.clauses[0].place and meaning.clauses[0].place.distance_m else "the blue bin"  # type: ignore[union-attr]
    count = phrasing_count(meaning, split)
    texts = [phrase(meaning, split, index).text for index in range(count)]
    assert count >= 3 and len({text.lower() for text in texts}) == count
    for index, text in enumerate(texts):
        assert text.count("the red cube") == 1 and text.count(named) == (relation is not None)
        assert text[0].isupper() and text.endswith(".") and "{" not in text and "  " not in text
        assert phrase(meaning, split, index).meaning == meaning
    assert phrase(meaning, split, count).text == texts[0], "indices count around"


def test_no_two_rows_share_a_phrasing_and_none_goes_on_after_what_may_be_a_list() -> None:
    templates = [template for row in PHRASINGS.entries() for template in (*row.train, *row.test)]
    assert len(set(templates)) == len(templates)
    assert not [template for template in templates if re.search(r"\} (and|or) ", template)]


def test_what_is_picked_up_may_lie_anywhere() -> None:
    row = PHRASINGS["pick"]
    assert not [template for template in (*row.train, *row.test) if "table" in template]


@ROWS
def test_no_two_phrasings_of_a_row_share_their_verb(action: str, relation: str | None) -> None:
    """It comes first in all of them: what is unnatural to say tests something else."""
    row = PHRASINGS[act(action, relation)]
    verbs = [template.split()[0] for template in (*row.train, *row.test)]
    assert all(verb.isalpha() for verb in verbs) and len(set(verbs)) == len(verbs)


@ROWS
def test_left_and_right_are_yours(action: str, relation: str | None) -> None:
    row = PHRASINGS[act(action, relation)]
    if relation and relation.split()[0] in ("left", "right", "in", "behind", "forward", "back") and relation != "in":
        assert all(re.search(r"\byour?\b", template) for template in (*row.train, *row.test))


@pytest.mark.parametrize("around", [SIGNALS, CHOICES], ids=["signals", "choices"])
def test_no_two_ways_around_a_clause_are_alike(around: dict[str, tuple[str, ...]]) -> None:
    templates = [template for split in SPLITS for template in around[split]]
    ways = {
        (re.sub(r"\{.*?\}", "", template).split()[0], *re.findall(r"\{(\w+)\}", template)) for template in templates
    }
    assert len(ways) == len(templates) == 6


@ROWS
@pytest.mark.parametrize("split", SPLITS)
def test_negation_stands_before_the_verb(action: str, relation: str | None, split: Split) -> None:
    clause = replace(clause_for(action, relation), is_negated=True)
    for index, template in enumerate(getattr(PHRASINGS[act(action, relation)], split)):
        text = phrase(Meaning((clause,)), split, index).text.lower()
        assert text.count("do not ") == 1 and text.startswith(f"do not {template.split()[0]} ")


def test_relation_that_does_not_exist_is_refused() -> None:
    with pytest.raises(UnknownName, match=r'No relation "insid". Did you mean'):
        put("red cube", "insid", "blue bin")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("relation", "count"),
    [("in", 0), ("in", 2), ("between", 1), ("between", 3), ("on", 0), ("onto", 2), ("left of", 2)],
)
def test_place_by_too_few_or_too_many_things_is_refused(relation: str, count: int) -> None:
    with pytest.raises(ValueError, match=f'"{relation}" is said of ., not of {count}'):
        put("red cube", relation, *["blue bin"] * count)  # type: ignore[arg-type]


def test_directions_and_only_they_have_a_distance() -> None:
    with pytest.raises(ValueError, match='"left" needs a distance'):
        Place("left")
    with pytest.raises(ValueError, match='"in" takes no distance'):
        Place("in", (RED,), 0.1)
    with pytest.raises(ValueError, match='"left" is said of 0, not of 1'):
        Place("left", (RED,), 0.1)


@pytest.mark.parametrize("task", list(TASKS))
def test_every_tasks_instruction_asks_for_something_that_is_there(task: str) -> None:
    situation = TASKS[task].situation(0)
    seen = looks(situation.scene)
    clauses = situation.instruction.meaning.decided(seen)
    assert clauses and set(resolve_all(clauses, seen).values()) <= set(seen)
