"""Says a meaning in words: a canonical sentence, and other phrasings of it for training and for testing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Literal

from robodx.language.lexicon import NUMBERS, article, plural_kind
from robodx.language.meaning import Clause, Exists, If, Instruction, Meaning, are_apart
from robodx.language.reference import Reference, listed

Split = Literal["train", "test"]

# Around a clause that one hand is to do.
WITH_HAND = "{clause} with your {hand} hand"
# Around a clause that waits for a lamp, and around a choice; in each split's first, second and third phrasing.
SIGNALS = {
    "train": (
        "{clause} when {lamp} lights up",
        "as soon as {lamp} lights up, {clause}",
        "{clause} the moment {lamp} lights up",
    ),
    "test": (
        "once {lamp} is on, {clause}",
        "{clause}, but only after {lamp} comes on",
        "{clause} right after {lamp} turns on",
    ),
}
CHOICES = {
    "train": (
        "if there {fact}, {then}; otherwise, {otherwise}",
        "{then} if there {fact}, else {otherwise}",
        "should there be {bare_fact}, {then}; if not, {otherwise}",
    ),
    "test": (
        "in case there {fact}, {then}, and if there {negated_fact}, {otherwise}",
        "{otherwise} unless there {fact}, in which case {then}",
        "check whether there {fact}: if so, {then}; if not, {otherwise}",
    ),
}


def say(*clauses: Clause) -> Instruction:
    """The canonical instruction for these clauses, done in order."""
    return phrase(Meaning(clauses), "train", 0)


def phrase(meaning: Meaning, split: Split, index: int) -> Instruction:
    """The same meaning in the split's `index`-th phrasing, counted around."""
    forbidden = [part for part in meaning.clauses if isinstance(part, Clause) and part.is_negated]
    text = _say_part(meaning.clauses[0], None, split, index, forbidden)
    for before, part in pairwise(meaning.clauses):
        text += f", {_joint(before, part)} {_say_part(part, before, split, index, forbidden)}"
    return Instruction(f"{text[0].upper()}{text[1:]}.", meaning)


def wordings(instruction: Instruction, split: Split) -> tuple[Instruction, ...]:
    """The same in all words of the split: a task's own sentences, or the phrasings of the verbs."""
    if own := getattr(instruction, split):
        return tuple(replace(instruction, text=text) for text in own)
    count = phrasing_count(instruction.meaning, split)
    return tuple(phrase(instruction.meaning, split, index) for index in range(count))


def phrasing_count(meaning: Meaning, split: Split) -> int:
    clauses = [clause for part in meaning.clauses for clause in _clauses(part)]
    return min(len(getattr(clause.phrasings, split)) for clause in clauses)


def _joint(before: Clause | If, part: Clause | If) -> str:
    """Things to do follow each other, or go on at once; what is not to be done goes beside what is."""
    is_negated, was_negated = (isinstance(each, Clause) and each.is_negated for each in (part, before))
    if is_negated or was_negated:
        return "and" if is_negated == was_negated else "but"
    return "and" if are_apart(before, part) else "then"


def _clauses(part: Clause | If) -> tuple[Clause, ...]:
    return (part.then, part.otherwise) if isinstance(part, If) else (part,)


def _say_part(
    part: Clause | If, before: Clause | If | None, split: Split, index: int, forbidden: Sequence[Clause]
) -> str:
    if not isinstance(part, If):
        is_same = isinstance(before, Clause) and before.target == part.target
        return _say_clause(part, "it" if is_same else _target(part, forbidden), split, index)
    return CHOICES[split][index % len(CHOICES[split])].format(
        then=_say_clause(part.then, _target(part.then, forbidden), split, index),
        otherwise=_say_clause(part.otherwise, _target(part.otherwise, forbidden), split, index),
        fact=say_fact(part.fact),
        negated_fact=_say_negated(part.fact),
        bare_fact=say_fact(part.fact).partition(" ")[2],
    )


def _say_clause(clause: Clause, target: str, split: Split, index: int) -> str:
    templates: tuple[str, ...] = getattr(clause.phrasings, split)
    template = templates[index % len(templates)]
    place = clause.place
    text = ("do not " if clause.is_negated else "") + template.format(
        target=target,
        place=_the(place.of) if place and place.of else "",
        distance=f"{100 * place.distance_m:g} cm" if place and place.distance_m else "",
    )
    if clause.hand is not None:
        text = WITH_HAND.format(clause=text, hand=clause.hand)
    if clause.once_lit is None:
        return text
    lamp = "its lamp" if clause.once_lit == clause.target else f"the {clause.once_lit.words}"
    return SIGNALS[split][index % len(SIGNALS[split])].format(lamp=lamp, clause=text)


def _target(clause: Clause, forbidden: Sequence[Clause]) -> str:
    return f"{_determiner(clause, forbidden)} {clause.target.words}"


def _determiner(clause: Clause, forbidden: Sequence[Clause]) -> str:
    """Of what is not so-and-so there may be several; and who forbids such ones of a kind asks for one of that kind."""
    target = clause.target
    if clause.is_negated:
        return "any" if target.but else "the"
    of_its_kind = (no for no in forbidden if (no.action, no.target.kind) == (clause.action, target.kind))
    is_one_of_several = target.rank is None and any(no.target.but for no in of_its_kind)
    return article(target.words) if is_one_of_several else "the"


def say_fact(fact: Exists) -> str:
    """What follows "there": "is a red cube", "are at least two cubes", "are exactly three cubes"."""
    words = fact.reference.words
    if fact.at_most == 0:
        return f"is no {words}"
    if (fact.at_least, fact.at_most) == (1, None):
        return f"is {article(words)} {words}"
    if fact.at_most is None or fact.at_least == fact.at_most:
        bound, count = "exactly" if fact.at_most else "at least", fact.at_least
    elif fact.at_least == 0:
        bound, count = "at most", fact.at_most
    else:
        raise ValueError(f"there are no words for between {fact.at_least} and {fact.at_most} of something")
    return f"is {bound} one {words}" if count == 1 else f"are {bound} {NUMBERS[count]} {plural(fact.reference)}"


def _say_negated(fact: Exists) -> str:
    words = fact.reference.words
    if fact.at_most == 0:
        return f"is {article(words)} {words}"
    if (fact.at_least, fact.at_most) == (1, None):
        return f"is no {words}"
    verb, _, rest = say_fact(fact).partition(" ")
    return f"{verb} not {rest}"


def plural(reference: Reference) -> str:
    kind = reference.kind or "object"
    return reference.words.replace(kind, plural_kind(kind), 1)


def _the(references: tuple[Reference, ...]) -> str:
    return listed([f"the {reference.words}" for reference in references])
