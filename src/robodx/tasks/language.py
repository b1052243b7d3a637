"""Language: three cubes in one of six arrangements, and one of them is meant; what is said tells which.

Sentences for training and others to test with are in `sentences.py`; the meaning keeps their structure (negations,
exclusions, conditions). Cubes, arrangements and sentences are met in turn, each with each: who does not listen is right
once in three.
"""

from __future__ import annotations

import functools
import itertools
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from robodx.language.lexicon import EVERYDAY, NUMBERS, ORDINALS, RARE
from robodx.language.meaning import Clause, Exists, If, Instruction, Meaning, pick
from robodx.language.phrasing import say_fact
from robodx.language.reference import AFTER, Rank, Reference, Side, Spatial, Superlative, Where, candidates, the
from robodx.scoring.contact import Grasped, Touched
from robodx.streams import Streams, Variation
from robodx.tasks.base import Register, Situation, Tier, task
from robodx.tasks.sentences import (
    BOTH,
    CONDITIONALS,
    COUNTED,
    EXCEPT,
    FETCHING,
    LAST,
    NEITHER,
    NESTED,
    REQUESTS,
    TEST_BOTH,
    TEST_CONDITIONALS,
    TEST_COUNTED,
    TEST_EXCEPT,
    TEST_FETCHING,
    TEST_NEITHER,
    TEST_NESTED,
    TEST_NONE_BUT,
    TEST_REQUESTS,
    TEST_TWICE_NEGATED,
    TWICE_NEGATED,
    WAYS,
)
from robodx.tasks.trios import ARRANGEMENTS, COLOURS, Shared, Trio, arranged, coloured, paired

TAGS = ("capability",)


def language(tier: Tier, *varies: Variation) -> Register:
    return task(
        family="language",
        tier=tier,
        varies=("instruction", "layout", *varies),
        tags=TAGS,
        chance=1 / 3,
        version=2,
        primitive="primitive/pick_cube",
    )


Wordings = Callable[[Trio, int], Sequence[Instruction]]


def asked(streams: Streams, wordings: Wordings, trio: Trio | None = None) -> Situation:
    """The seed's instruction: a cube in turn, and of it the next of `wordings(trio, which cube)`."""
    trio = trio or coloured(arranged(streams))
    which = streams.turn("instruction", len(COLOURS))
    said = _said(wordings, trio, which)
    return Situation(
        scene=trio.scene,
        instruction=said[_turn(streams, len(said), which)],
        # To grasp it is all that is asked: to lift it, as the verb means, would be a matter of control.
        stages=(Touched(trio.names[which]), Grasped(trio.names[which])),
        never=tuple(Grasped(name) for name in trio.names if name != trio.names[which]),
    )


@functools.cache
def _said(wordings: Wordings, trio: Trio, which: int) -> tuple[Instruction, ...]:
    """With all that say the same of the cube, so that each knows how else it may be put."""
    texts: dict[Meaning, dict[str, None]] = {}
    said = wordings(trio, which)
    for each in said:
        texts.setdefault(each.meaning, {})[each.text] = None
    return tuple(replace(each, train=tuple(texts[each.meaning])) for each in said)


def _turn(streams: Streams, count: int, which: int) -> int:
    """Which of so many sentences: at every seed the next, and when an arrangement comes again, all of them in turn."""
    rounds = streams.turn("instruction", len(COLOURS) * ARRANGEMENTS * count) // len(COLOURS)
    seen, arrangement = divmod(rounds, ARRANGEMENTS)
    stride = next(step for step in (7, 11, 13, 17, 19) if math.gcd(step, count) == 1)
    # Each cube a third further on: a few seeds already differ in more than the cube.
    return (stride * seen + arrangement + which * (count // 3 + 1)) % count


def in_turn(*lists: Sequence[Any]) -> list[tuple[Any, ...]]:
    """One of each list, all going on at every step: neighbours differ in everything."""
    return [tuple(each[step % len(each)] for each in lists) for step in range(math.lcm(*map(len, lists)))]


def others(colour: str) -> tuple[str, str]:
    first, second = (other for other in COLOURS if other != colour)
    return first, second


class Way(NamedTuple):
    """A description of a cube in words, and others to test with."""

    words: str
    reference: Reference
    test: tuple[str, ...]


def requests(ways: Sequence[Way]) -> list[Instruction]:
    """Each way of naming a cube in each kind of request."""
    return [
        Instruction(
            request.format(way.words),
            Meaning((pick(way.reference),)),
            test=tuple(each.format(words) for each, words in in_turn(TEST_REQUESTS, way.test)),
        )
        for request, way in in_turn(REQUESTS, ways)
    ]


def by_colour(trio: Trio, which: int) -> list[Instruction]:
    words = f"the {COLOURS[which]} cube"
    return requests([Way(words, Reference("cube", COLOURS[which]), (words,))])


@language("easy")
def direct(streams: Streams) -> Situation:
    """Pick up the cube of the named colour."""
    return asked(streams, by_colour)


def by_synonyms(trio: Trio, which: int) -> list[Instruction]:
    colour = COLOURS[which]
    rare = in_turn(TEST_FETCHING, RARE[colour], RARE["cube"])
    return [
        Instruction(
            verb.format(f"the {hue} {noun}"),
            Meaning((pick(Reference("cube", colour, said=f"{hue} {noun}")),)),
            test=tuple(odd_verb.format(f"the {odd_hue} {odd_noun}") for odd_verb, odd_hue, odd_noun in rare),
        )
        for verb, hue, noun in in_turn(FETCHING, EVERYDAY[colour], EVERYDAY["cube"])
    ]


@language("easy")
def synonym(streams: Streams) -> Situation:
    """Pick up the cube named by everyday synonyms for its colour and its kind."""
    return asked(streams, by_synonyms)


def by_two_attributes(trio: Trio, which: int) -> list[Instruction]:
    shared = trio.shared
    assert shared is not None
    size, pattern = "big" if shared.is_big else "small", "striped" if shared.is_striped else "plain"
    # Of the cube that differs in pattern, in size, in colour.
    one, other, reference = (
        (size, shared.colour, Reference("cube", shared.colour, size)),
        (pattern, shared.colour, Reference("cube", shared.colour, is_striped=shared.is_striped)),
        (size, pattern, Reference("cube", None, size, is_striped=shared.is_striped)),
    )[which]
    test = tuple(form.format(one, other) for form in TEST_BOTH)
    return requests([Way(form.format(one, other), reference, test) for form in BOTH])


@language("easy", "attributes")
def attribute_pair(streams: Streams) -> Situation:
    """Pick up the cube with two named attributes; each attribute alone fits two cubes."""
    rng = streams.rng("attributes")
    colour, other_colour, _ = rng.permutation(COLOURS).tolist()
    shared = Shared(colour, other_colour, is_striped=bool(rng.integers(2)), is_big=bool(rng.integers(2)))
    return asked(streams, by_two_attributes, paired(arranged(streams), shared))


def by_no_colour(trio: Trio, which: int) -> list[Instruction]:
    named = others(COLOURS[which])
    reference = Reference("cube", but=tuple(Reference(colour=colour) for colour in named))
    test = tuple(form.format(*named) for form in TEST_NEITHER)
    return requests([Way(form.format(*named), reference, test) for form in NEITHER])


@language("medium")
def negation(streams: Streams) -> Situation:
    """Pick up the cube that has none of the named colours."""
    return asked(streams, by_no_colour)


def by_exclusion(trio: Trio, which: int) -> list[Instruction]:
    named = others(COLOURS[which])
    reference = Reference("cube", but=tuple(Reference("cube", colour) for colour in named))
    test = tuple(form.format(*named) for form in TEST_EXCEPT)
    return requests([Way(form.format(*named), reference, test) for form in EXCEPT])


@language("medium")
def exclusion(streams: Streams) -> Situation:
    """Pick up the only cube that the instruction does not exclude."""
    return asked(streams, by_exclusion)


ALONG: tuple[tuple[Side | Superlative, Side | Superlative], ...] = (("left", "right"), ("nearest", "farthest"))


def ranked(trio: Trio, side: Side | Superlative) -> list[str]:
    return [candidates(Reference("cube", rank=Rank(side, n)), trio.seen)[0] for n in (1, 2, 3)]


def by_rank(trio: Trio, which: int) -> list[Instruction]:
    """By every rank of a cube, from each side; the sides in turn."""
    ranks: list[tuple[Side | Superlative, int]] = []
    for side, opposite in ALONG:
        place = ranked(trio, side).index(trio.names[which])
        ranks += [(side, place + 1), (opposite, len(COLOURS) - place)]
    ways = []
    for form, (side, n) in itertools.product(range(3), ranks):
        if form < len(COUNTED[side]):
            # "The nearest" is said, and not "the first nearest".
            nth = "" if n == 1 and side in ("nearest", "farthest") else f"{ORDINALS[n - 1]} "
            words = COUNTED[side][form].format(nth=nth, n=NUMBERS[n], last=LAST[n - 1], side=side)
            test = tuple(each.format(place=ORDINALS[n - 1], n=NUMBERS[n], way=WAYS[side]) for each in TEST_COUNTED)
            ways.append(Way(words, Reference("cube", rank=Rank(side, n)), test))
    return requests(list({way.words: way for way in ways}.values()))


@language("medium")
def ordinal(streams: Streams) -> Situation:
    """Pick up the cube named by its rank in the row, from the robot's point of view."""
    return asked(streams, by_rank)


def there_is(
    words: str, relation: Spatial | None = None, of: str = "", *, count: tuple[int, int | None] = (1, None)
) -> Exists:
    reference = the(words)
    if relation is not None:
        reference = replace(reference, where=(Where(relation, the(of)),))
    return Exists(reference, *count)


@functools.cache
def facts(trio: Trio, third: str) -> tuple[Exists, ...]:
    """True and false ones by turns; whether a colour is there is only asked of one that there is no choice of."""

    left, middle, right = ranked(trio, "left")
    near, halfway, far = ranked(trio, "nearest")
    return (
        there_is(f"{third} cube"),
        there_is("yellow cube"),
        there_is("cube", count=(3, 3)),
        there_is("cube", count=(4, None)),
        there_is("cube", "left of", middle),
        there_is("cube", "left of", left),
        there_is("purple cube", count=(0, 0)),
        there_is(f"{third} cube", count=(0, 0)),
        there_is(far, "behind", halfway),
        there_is(far, "in front of", near),
        there_is("cube", count=(2, None)),
        there_is("sphere"),
        there_is("sphere", count=(0, 0)),
        there_is("cube", count=(2, 2)),
        there_is("cube", "right of", middle),
        there_is("cube", "right of", right),
    )


def choices(trio: Trio, which: int) -> list[Instruction]:
    meant, said = COLOURS[which], []
    for step, (form, number) in enumerate(in_turn(CONDITIONALS, range(16))):
        alternative, third = others(meant)[:: 1 if step // 2 % 2 else -1]
        fact = facts(trio, third)[number]
        then, other = (meant, alternative) if fact.holds(trio.seen) else (alternative, meant)
        words = say_fact(fact)
        _, _, bare = words.partition(" ")
        text, *test = (
            each.format(fact=words, bare=bare, then=then, other=other) for each in (form, *TEST_CONDITIONALS)
        )
        meaning = Meaning((If(fact, pick(f"{then} cube"), pick(f"{other} cube")),))
        said.append(Instruction(text, meaning, test=tuple(test)))
    return said


@language("hard")
def conditional(streams: Streams) -> Situation:
    """Pick up one of two cubes; a condition on the scene decides which."""
    return asked(streams, choices)


def twice_negated(form: str, colours: Sequence[str]) -> Instruction:
    """Not to leave the first of the colours and not to take the others, in the form's order; or to take none but it."""

    def forbidden(target: str | Reference) -> Clause:
        return replace(pick(target), is_negated=True)

    named = [colours[int(number)] for number in re.findall(r"{(\d)}", form)]
    text = form.format(*colours)
    if form.startswith("Take a cube"):
        *not_these, meant = (Reference(colour=colour) for colour in named)
        asking = pick(Reference("cube", but=tuple(not_these)))
        meaning = Meaning((asking, forbidden(Reference("cube", but=(meant,)))))
        return Instruction(text, meaning, test=tuple(each.format(colours[0]) for each in TEST_NONE_BUT))
    not_left = Clause("leave", the(f"{colours[0]} cube"), is_negated=True)
    parts = tuple(not_left if colour == colours[0] else forbidden(f"{colour} cube") for colour in named)
    rest = " or ".join(f"the {colour}" for colour in named if colour != colours[0])
    return Instruction(text, Meaning(parts), test=tuple(each.format(colours[0], rest) for each in TEST_TWICE_NEGATED))


def by_double_negation(trio: Trio, which: int) -> list[Instruction]:
    meant = COLOURS[which]
    orders = [(meant, *others(meant)), (meant, *others(meant)[::-1])]
    return [twice_negated(form, colours) for form, colours in in_turn(TWICE_NEGATED, orders)]


@language("hard")
def double_negation(streams: Streams) -> Situation:
    """Pick up the cube that a double negation leaves as the only choice."""
    return asked(streams, by_double_negation)


# How a cube may be told by another.
RELATIONS: dict[str, Callable[[Reference], Reference]] = {
    "left of": lambda anchor: Reference("cube", where=(Where("left of", anchor),)),
    "closest to": lambda anchor: Reference("cube", rank=Rank("closest to", of=anchor)),
    "in front of": lambda anchor: Reference("cube", where=(Where("in front of", anchor),)),
    "right of": lambda anchor: Reference("cube", where=(Where("right of", anchor),)),
    "farthest from": lambda anchor: Reference("cube", rank=Rank("farthest from", of=anchor)),
    "behind": lambda anchor: Reference("cube", where=(Where("behind", anchor),)),
}


def nested(trio: Trio, which: int) -> list[Instruction]:
    """All that mean the cube by way of another that is told by a third; neither way may be open to doubt."""
    ways = []
    for outer, inner, colour in itertools.product(RELATIONS, RELATIONS, others(COLOURS[which])):
        middle = RELATIONS[inner](the(f"{colour} cube"))
        if len(candidates(middle, trio.seen)) == 1:
            reference = RELATIONS[outer](middle)
            if candidates(reference, trio.seen) == [trio.names[which]]:
                ways.append(((AFTER.get(outer, outer), AFTER.get(inner, inner), colour), reference))
    return [
        Instruction(form.format(*words), Meaning((pick(reference),)), test=tuple(t.format(*words) for t in TEST_NESTED))
        for form, (words, reference) in in_turn(NESTED, ways)
    ]


@language("hard")
def nested_reference(streams: Streams) -> Situation:
    """Pick up a cube named by its relation to a second cube, which is named by its relation to a third."""
    return asked(streams, nested)
