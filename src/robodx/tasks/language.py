"""Language: three cubes that always lie the same, and one of them is meant; only what is said differs.

The words come from grammars of this file; the meaning keeps their structure (negations, exclusions, conditions), so
that a paraphrase is as hard to understand. Each cube is meant in turn: who does not listen is right once in three.
"""

from __future__ import annotations

import functools
import itertools
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from robodx.language.lexicon import EVERYDAY, NUMBERS, ORDINALS, RARE
from robodx.language.meaning import Clause, Exists, If, Instruction, Meaning, pick
from robodx.language.phrasing import say_fact
from robodx.language.reference import Rank, Reference, Side, Spatial, Superlative, Where, candidates, the
from robodx.scoring.contact import Grasped, Touched
from robodx.scoring.from_meaning import looks
from robodx.sim.objects import cube
from robodx.sim.scene import Scene, tabletop
from robodx.streams import Streams
from robodx.tasks.base import Register, Situation, Tier, task

TAGS = ("capability",)
COLOURS = ("red", "green", "blue")
# From left to right red, green, blue; from near to far green, blue, red: no cube has the same rank in both.
PLACES = {"red": (0.02, 0.15), "green": (-0.17, 0.0), "blue": (-0.08, -0.15)}
TRIO = tabletop(*(cube(colour).at(*PLACES[colour]) for colour in COLOURS))
SEEN = looks(TRIO)


def language(tier: Tier) -> Register:
    return task(
        family="language",
        tier=tier,
        varies=("instruction",),
        tags=TAGS,
        chance=1 / 3,
        primitive="primitive/pick_cube",
    )


def asked(streams: Streams, wordings: Callable[[int], Sequence[Instruction]], scene: Scene = TRIO) -> Situation:
    """The seed's instruction: a cube in turn, and of it the next of `wordings(which cube)`."""
    names = [thing.name for thing in scene]
    which = streams.turn("instruction", len(names))
    said = wordings(which)
    # Each cube a third further on: a few seeds already differ in more than the cube.
    turn = (streams.turn("instruction", len(names) * len(said)) // len(names) + which * len(said) // 3) % len(said)
    return Situation(
        scene=scene,
        instruction=said[turn],
        stages=(Touched(names[which]), Grasped(names[which])),
        never=tuple(Grasped(name) for name in names if name != names[which]),
    )


def in_turn(*lists: Sequence[Any]) -> list[tuple[Any, ...]]:
    """One of each list, all going on at every step: neighbours differ in everything."""
    return [tuple(each[step % len(each)] for each in lists) for step in range(math.lcm(*map(len, lists)))]


def others(colour: str) -> tuple[str, str]:
    first, second = (other for other in COLOURS if other != colour)
    return first, second


# Eleven, so that each meets each of a grammar's forms. In all of them the cube comes to be held.
REQUESTS = (
    "Pick up {}.",
    "Please grasp {}.",
    "Can you lift {}?",
    "I want you to take {}.",
    "Grab {}.",
    "Your task is to pick up {}.",
    "Would you take hold of {}?",
    "Now lift {}, please.",
    "You should pick up {}.",
    "I would like you to get {}.",
    "Could you please grab {}?",
)


def requests(*ways: tuple[str, Reference]) -> list[Instruction]:
    """Each way of naming a cube in each kind of request."""
    return [
        Instruction(request.format(words), Meaning((pick(reference),)))
        for request, (words, reference) in in_turn(REQUESTS, ways)
    ]


@language("easy")
def direct(streams: Streams) -> Situation:
    """Pick up the cube of the named colour."""
    return asked(streams, lambda which: requests((f"the {COLOURS[which]} cube", Reference("cube", COLOURS[which]))))


# Verbs that the requests above do not use.
FETCHING = (
    "Seize {}.",
    "Fetch {}.",
    "Get hold of {}.",
    "Clutch {}.",
    "Please collect {}.",
    "Grip {}.",
    "Snatch up {}.",
)


@language("easy")
def synonym(streams: Streams) -> Situation:
    """Pick up the cube named by synonyms for its colour and its kind."""

    def wordings(which: int) -> list[Instruction]:
        colour = COLOURS[which]
        hues, nouns = ((*EVERYDAY[word], *RARE[word]) for word in (colour, "cube"))
        return [
            Instruction(
                verb.format(f"the {hue} {noun}"), Meaning((pick(Reference("cube", colour, said=f"{hue} {noun}")),))
            )
            for verb, hue, noun in in_turn(FETCHING, hues, nouns)
        ]

    return asked(streams, wordings)


# Of three attributes each cube shares two with the others, so that only both of a pair tell it.
PAIRED = tabletop(
    cube("red", 0.03).named("big plain red cube").at(*PLACES["green"]),
    cube("red", 0.02, is_striped=True).named("small striped red cube").at(*PLACES["red"]),
    cube("blue", 0.03, is_striped=True).named("big striped blue cube").at(*PLACES["blue"]),
)
PAIRS = (
    ("big", "red", Reference("cube", "red", "big")),
    ("striped", "red", Reference("cube", "red", is_striped=True)),
    ("big", "striped", Reference("cube", None, "big", is_striped=True)),
)
BOTH = (
    "the {0} {1} cube",
    "the {1} cube that is {0}",
    "the cube that is both {0} and {1}",
    "the cube that is {1} as well as {0}",
    "the {0} one among the {1} cubes",
)


@language("easy")
def attribute_pair(streams: Streams) -> Situation:
    """Pick up the cube with two named attributes; each attribute alone fits two cubes."""

    def wordings(which: int) -> list[Instruction]:
        one, other, reference = PAIRS[which]
        return requests(*((form.format(one, other), reference) for form in BOTH))

    return asked(streams, wordings, PAIRED)


NEITHER = (
    "the cube that is not {0} and not {1}",
    "the cube that is neither {1} nor {0}",
    "a cube, but no {0} or {1} one",
    "the cube that isn't {1} or {0}",
    "the one cube that is not {1}, and not {0} either",
)


@language("medium")
def negation(streams: Streams) -> Situation:
    """Pick up the cube that has none of the named colours."""

    def wordings(which: int) -> list[Instruction]:
        named = others(COLOURS[which])
        reference = Reference("cube", but=tuple(Reference(colour=colour) for colour in named))
        return requests(*((form.format(*named), reference) for form in NEITHER))

    return asked(streams, wordings)


EXCEPT = (
    "any cube except the {0} one and the {1} one",
    "the one cube other than the {1} cube and the {0} cube",
    "one of the cubes, excluding the {0} and the {1} ones",
    "any cube but the {1} cube or the {0} cube",
    "the cube that is left when the {0} and the {1} ones are set aside",
    "the only cube apart from the {1} one and the {0} one",
    "whichever cube is on the table save the {0} and the {1} ones",
)


@language("medium")
def exclusion(streams: Streams) -> Situation:
    """Pick up the only cube that the instruction does not exclude."""

    def wordings(which: int) -> list[Instruction]:
        named = others(COLOURS[which])
        reference = Reference("cube", but=tuple(Reference("cube", colour) for colour in named))
        return requests(*((form.format(*named), reference) for form in EXCEPT))

    return asked(streams, wordings)


ALONG: tuple[tuple[Side | Superlative, Side | Superlative], ...] = (("left", "right"), ("nearest", "farthest"))
FROM_SIDE = (
    "the {nth}cube from your {side}", "cube number {n} counted from your {side}", "the {last} cube from your {side}",
)  # fmt: skip
LAST = ("first", "next to last", "last")
COUNTED = {
    "left": FROM_SIDE,
    "right": FROM_SIDE,
    "nearest": ("the {nth}nearest cube to you", "the cube that is {nth}nearest to you"),
    "farthest": ("the {nth}farthest cube from you", "the cube that is {nth}farthest from you"),
}


def counted(which: int) -> list[tuple[str, Reference]]:
    """Every rank of a cube, from each side, in words; the sides in turn."""
    ranks: list[tuple[Side | Superlative, int]] = []
    for side, opposite in ALONG:
        ordered = [candidates(Reference("cube", rank=Rank(side, n)), SEEN)[0] for n in (1, 2, 3)]
        place = ordered.index(TRIO.things[which].name)
        ranks += [(side, place + 1), (opposite, len(ordered) - place)]
    ways = []
    for form, (side, n) in itertools.product(range(3), ranks):
        if form < len(COUNTED[side]):
            # "The nearest" is said, and not "the first nearest".
            nth = "" if n == 1 and side in ("nearest", "farthest") else f"{ORDINALS[n - 1]} "
            words = COUNTED[side][form].format(nth=nth, n=NUMBERS[n], last=LAST[n - 1], side=side)
            ways.append((words, Reference("cube", rank=Rank(side, n))))
    return list({words: (words, reference) for words, reference in ways}.values())


@language("medium")
def ordinal(streams: Streams) -> Situation:
    """Pick up the cube named by its rank in the row, from the robot's point of view."""
    return asked(streams, lambda which: requests(*counted(which)))


def there_is(
    words: str, relation: Spatial | None = None, of: str = "", *, count: tuple[int, int | None] = (1, None)
) -> Exists:
    reference = the(words)
    if relation is not None:
        reference = replace(reference, where=(Where(relation, the(of)),))
    return Exists(reference, *count)


def facts(third: str) -> tuple[Exists, ...]:
    """True and false ones by turns; whether a colour is there is only asked of one that there is no choice of."""
    return (
        there_is(f"{third} cube"),
        there_is("yellow cube"),
        there_is("cube", count=(3, 3)),
        there_is("cube", count=(4, None)),
        there_is("cube", "left of", "green cube"),
        there_is("cube", "left of", "red cube"),
        there_is("purple cube", count=(0, 0)),
        there_is(f"{third} cube", count=(0, 0)),
        there_is("red cube", "behind", "blue cube"),
        there_is("red cube", "in front of", "green cube"),
        there_is("cube", count=(2, None)),
        there_is("sphere"),
        there_is("sphere", count=(0, 0)),
        there_is("cube", count=(2, 2)),
        there_is("cube", "right of", "green cube"),
        there_is("cube", "right of", "blue cube"),
    )


CONDITIONALS = (
    "If there {fact}, pick up the {then} cube; otherwise, pick up the {other} cube.",
    "Pick up the {other} cube unless there {fact}; in that case, take the {then} one.",
    "Grab the {then} cube if there {fact}, else grab the {other} cube.",
    "Provided that there {fact}, lift the {then} cube. Failing that, lift the {other} one.",
    "Should there be {bare}, take the {then} cube; if not, take the {other} cube.",
    "{verb} there {bare}? If so, get the {then} cube, and if not, the {other} one.",
    "Grasp the {other} cube, but if there {fact}, grasp the {then} one instead.",
)


@functools.cache
def choices(which: int) -> list[Instruction]:
    meant, said = COLOURS[which], []
    for step, (form, number) in enumerate(in_turn(CONDITIONALS, range(len(facts(meant))))):
        alternative, third = others(meant)[:: 1 if step // 2 % 2 else -1]
        fact = facts(third)[number]
        then, other = (meant, alternative) if fact.holds(SEEN) else (alternative, meant)
        words = say_fact(fact)
        verb, _, bare = words.partition(" ")
        text = form.format(fact=words, verb=verb.capitalize(), bare=bare, then=then, other=other)
        said.append(Instruction(text, Meaning((If(fact, pick(f"{then} cube"), pick(f"{other} cube")),))))
    return said


@language("hard")
def conditional(streams: Streams) -> Situation:
    """Pick up one of two cubes; a condition on the scene decides which."""
    return asked(streams, choices)


# Each asks for a cube, and does not only forbid. The one that is meant, {0}, is named first as often as last and hardly
# ever alone: who takes whatever is named first, second or last is right in half of them at most.
TWICE_NEGATED = (
    "Do not leave the {0} cube where it is, and do not pick up the {1} cube.",
    "It would be wrong to take the {1} or the {2} cube, and wrong not to take the {0} one.",
    "Take a cube, but none that is not {0}.",
    "Take a cube that is not {1}, but take no cube that is not {0}.",
    "Not picking up the {0} cube is not allowed, and neither is picking up the {1} one.",
    "Do not take the {1} cube, do not fail to take the {0} one, and do not take the {2} one.",
    "Don't fail to grasp the {0} cube, and never grasp the {1} one.",
    "Take no {1} cube, but do not leave the {0} cube where it is.",
    "Never lift the {1} cube, never leave the {0} one where it is, and never lift the {2} one.",
    "You must not lift the {1} or the {2} cube, nor may you refrain from lifting the {0} one.",
    "You must not refrain from lifting the {0} cube, nor may you lift the {1} one.",
)


def twice_negated(form: str, colours: Sequence[str]) -> Meaning:
    """Not to leave the first of the colours and not to take the others, in the form's order; or to take none but it."""

    def forbidden(target: str | Reference) -> Clause:
        return replace(pick(target), is_negated=True)

    named = [colours[int(number)] for number in re.findall(r"{(\d)}", form)]
    if form.startswith("Take a cube"):
        *not_these, meant = (Reference(colour=colour) for colour in named)
        return Meaning((pick(Reference("cube", but=tuple(not_these))), forbidden(Reference("cube", but=(meant,)))))
    not_left = Clause("leave", the(f"{colours[0]} cube"), is_negated=True)
    return Meaning(tuple(not_left if colour == colours[0] else forbidden(f"{colour} cube") for colour in named))


@language("hard")
def double_negation(streams: Streams) -> Situation:
    """Pick up the cube that a double negation leaves as the only choice."""

    def wordings(which: int) -> list[Instruction]:
        meant = COLOURS[which]
        orders = [(meant, *others(meant)), (meant, *others(meant)[::-1])]
        return [
            Instruction(form.format(*colours), twice_negated(form, colours))
            for form, colours in in_turn(TWICE_NEGATED, orders)
        ]

    return asked(streams, wordings)


# How a cube may be told by another, in words.
RELATIONS: dict[str, Callable[[Reference], Reference]] = {
    "to the left of": lambda anchor: Reference("cube", where=(Where("left of", anchor),)),
    "closest to": lambda anchor: Reference("cube", rank=Rank("closest to", of=anchor)),
    "in front of": lambda anchor: Reference("cube", where=(Where("in front of", anchor),)),
    "to the right of": lambda anchor: Reference("cube", where=(Where("right of", anchor),)),
    "farthest from": lambda anchor: Reference("cube", rank=Rank("farthest from", of=anchor)),
    "behind": lambda anchor: Reference("cube", where=(Where("behind", anchor),)),
}
NESTED = (
    "Pick up the cube {0} the cube that is {1} the {2} one.",
    "Find the cube {1} the {2} cube, and grasp the cube {0} it.",
    "Please lift the cube {0} the cube {1} the {2} cube.",
    "One cube is {1} the {2} one: take the cube {0} that one.",
    "Can you grab the cube that is {0} the cube that is {1} the {2} cube?",
    "Starting from the {2} cube, go to the cube {1} it, and pick up the cube {0} that.",
    "The cube you should get is the one {0} the one {1} the {2} cube.",
)


@functools.cache
def nested(which: int) -> list[tuple[str, str, str, Reference]]:
    """All that mean the cube by way of another that is told by a third; neither way may be open to doubt."""
    ways = []
    for outer, inner, colour in itertools.product(RELATIONS, RELATIONS, others(COLOURS[which])):
        middle = RELATIONS[inner](the(f"{colour} cube"))
        if len(candidates(middle, SEEN)) == 1:
            reference = RELATIONS[outer](middle)
            if candidates(reference, SEEN) == [TRIO.things[which].name]:
                ways.append((outer, inner, colour, reference))
    return ways


@language("hard")
def nested_reference(streams: Streams) -> Situation:
    """Pick up a cube named by its relation to a second cube, which is named by its relation to a third."""

    def wordings(which: int) -> list[Instruction]:
        return [
            Instruction(form.format(outer, inner, colour), Meaning((pick(reference),)))
            for form, (outer, inner, colour, reference) in in_turn(NESTED, nested(which))
        ]

    return asked(streams, wordings)
