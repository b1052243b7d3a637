"""Says the same without one word for a thing, or with it."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

import numpy as np

from robodx.interventions.base import Levels, NotApplicable, Placebo, intervention
from robodx.interventions.changing import heard
from robodx.interventions.cues import IN_CUES_OF_ALL, descriptions
from robodx.interventions.describing import by_exclusion, by_looks, by_negation, by_place, by_relation
from robodx.interventions.synonym import ATTRIBUTE as SYNONYM
from robodx.interventions.synonym import usual_words, with_synonyms
from robodx.interventions.wording import (
    IN_WORDS,
    SPLITS,
    is_changing,
    keeping,
    redescribed,
    reopened,
    rephrased,
    resaid,
    told,
    words_in,
)
from robodx.language.lexicon import EVERYDAY
from robodx.language.meaning import Instruction
from robodx.records.features import NO, WORD, YES
from robodx.scoring.from_meaning import looks
from robodx.tasks.base import Situation

COLOURS = ("red", "green", "blue", "yellow", "orange", "purple", "pink", "cyan", "white")
THINGS = (
    "cube", "sphere", "cylinder", "triangular", "block", "peg", "bin", "bowl", "box", "disc", "switch", "object",
    "crate", "hole", "hexagonal", "charger", "receptacle", "slot", "kit", "t", "striped", "plain", "bands",
    "order", "size", "differs", "fits", "highest",
)  # fmt: skip
PLACES = (
    "left", "right", "nearest", "nearer", "farthest", "farther", "furthest", "further", "closest", "middle", "first",
    "second", "third",
)  # fmt: skip
SIZES = ("bigger", "smaller", "biggest", "smallest", "big", "small")
EXCLUSIONS = ("other", "than", "neither", "nor")
SYNONYMS = tuple(
    word
    for own in (
        "red",
        "green",
        "blue",
        "cube",
        "sphere",
        "peg",
        "bin",
        "disc",
        "switch",
        "charger",
        "receptacle",
        "big",
        "small",
    )
    for word in " ".join(EVERYDAY[own]).split()
    if word not in THINGS
)
WORDS = (*THINGS, *COLOURS, *SIZES, *PLACES, *EXCLUSIONS, *SYNONYMS)


def with_and_without(words: tuple[str, ...]) -> dict[str, Levels]:
    """The values of an intervention on these words: each, and "no" and each."""
    return {value: {f"{WORD}{word}": level} for word in words for value, level in ((word, YES), (f"no {word}", NO))}


def said_so(situation: Situation, value: str, rng: np.random.Generator) -> Situation:
    """With the word that a value names, or without it: by what changes the least besides."""
    word = value.removeprefix("no ")
    is_wanted = word == value
    if (word in words_in(situation.instruction.text)) == is_wanted:
        raise NotApplicable(f'the instruction {"says" if is_wanted else "does not say"} "{word}" as it is')
    ways = (each for each in _ways(situation, word) if (word in words_in(each.text)) == is_wanted)
    return told(situation, ways, {f"{WORD}{word}": YES if is_wanted else NO}, rng)


def keeping_all(words: tuple[str, ...]) -> Placebo:
    """Another opening, another phrasing, or else another word for a thing, with all of these words as they are."""
    attributes = [f"{WORD}{word}" for word in words]

    def placebo(situation: Situation, rng: np.random.Generator) -> Situation:
        try:
            return keeping(situation, (), attributes, rng)
        except NotApplicable:
            ways = chain(usual_words(situation), with_synonyms(situation))
            return keeping(situation, ways, attributes, rng, (*IN_WORDS, "requires language", SYNONYM))

    return placebo


@intervention(
    "word", factor="words", values=with_and_without(WORDS), entails=IN_CUES_OF_ALL, placebo=keeping_all(WORDS)
)
def word(situation: Situation, value: str, rng: np.random.Generator) -> Situation:
    """Says the same without one word for a thing, or with it: by a synonym or another description."""
    return said_so(situation, value, rng)


def _ways(situation: Situation, word: str) -> Iterator[Instruction]:
    """Those in which this word may come or go: the nearest first."""
    said = situation.instruction
    yield from usual_words(situation)
    if word in WORDS:
        yield from with_synonyms(situation)
    yield from reopened(said)
    yield from resaid(said)
    yield from rephrased(said, SPLITS)
    if word in SYNONYMS or is_changing(situation):
        return
    what, seen = heard(situation), looks(situation.scene)
    for reference in what.clauses[0].references:
        name = what.names[reference]
        if word in words_in(said.text):
            # Another description of what is told by it.
            new = descriptions(name, seen) if word in words_in(reference.words) else iter(())
        elif word in PLACES:
            new = (each for ways in (by_place, by_relation) for each in ways(name, seen))
        elif word in EXCLUSIONS:
            new = (each for ways in (by_negation, by_exclusion) for each in ways(name, seen))
        elif word in WORDS:
            new = by_looks(name, seen)
        else:
            new = iter(())
        yield from redescribed(situation, reference, new)
