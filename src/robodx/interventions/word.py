"""Says the same without one word, or with it."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np

from robodx.interventions.base import NotApplicable, intervention
from robodx.interventions.changing import heard
from robodx.interventions.cues import IN_CUES_OF_ALL, descriptions
from robodx.interventions.describing import by_looks, by_place, by_relation
from robodx.interventions.synonym import usual_words, with_synonyms
from robodx.interventions.wording import is_changing, keeping, redescribed, rephrased, told
from robodx.language.lexicon import EVERYDAY
from robodx.language.meaning import Instruction
from robodx.records.features import NO, WORD, YES
from robodx.scoring.from_meaning import looks
from robodx.tasks.base import Situation

COLOURS = ("red", "green", "blue", "yellow", "orange", "purple", "pink", "cyan")
THINGS = (
    "cube", "sphere", "cylinder", "triangular", "block", "peg", "bin", "bowl", "box", "disc", "switch", "object",
)  # fmt: skip
PLACES = (
    "left", "right", "nearest", "nearer", "farthest", "farther", "furthest", "further", "closest", "middle", "first",
    "second", "third",
)  # fmt: skip
SIZES = ("bigger", "smaller", "biggest", "big", "small")
VERBS = (
    "pick", "lift", "grasp", "touch", "tap", "contact", "press", "hit", "push", "slide", "shove", "put", "place",
    "drop", "stack", "set", "insert", "fit", "stand", "raise", "move", "bring",
)  # fmt: skip
SYNONYMS = tuple(
    word for own in ("red", "green", "blue", "cube", "sphere", "peg", "bin", "disc", "switch") for word in EVERYDAY[own]
    if " " not in word and word not in (*THINGS, *VERBS)
)  # fmt: skip
WORDS = (*THINGS, *COLOURS, *SIZES, *PLACES, *VERBS, *SYNONYMS)


def _placebo(situation: Situation, rng: np.random.Generator) -> Situation:
    return keeping(situation, (), [f"{WORD}{word}" for word in WORDS], rng)


@intervention(
    "word",
    factor="words",
    values={value: {f"{WORD}{word}": level} for word in WORDS for value, level in ((word, YES), (f"no {word}", NO))},
    entails=IN_CUES_OF_ALL,
    placebo=_placebo,
)
def word(situation: Situation, value: str, rng: np.random.Generator) -> Situation:
    """Says the same without one word, or with it: by a synonym, another verb or another description."""
    said = value.removeprefix("no ")
    is_wanted = said == value
    if _is_in(said, situation.instruction.text) == is_wanted:
        raise NotApplicable(f'the instruction {"has" if is_wanted else "does not have"} the word "{said}" already')
    ways = (each for each in _ways(situation, said) if _is_in(said, each.text) == is_wanted)
    return told(situation, ways, {f"{WORD}{said}": YES if is_wanted else NO}, rng)


def _is_in(said: str, text: str) -> bool:
    return said in re.findall(r"[a-z']+", text.lower())


def _ways(situation: Situation, said: str) -> Iterator[Instruction]:
    """Those in which this word may come or go: the nearest first."""
    if said in VERBS:
        yield from rephrased(situation.instruction)
        return
    yield from usual_words(situation)
    if said in (*THINGS, *COLOURS, *SYNONYMS):
        yield from with_synonyms(situation)
    if said in SYNONYMS or is_changing(situation):
        return
    what, seen = heard(situation), looks(situation.scene)
    is_said = _is_in(said, situation.instruction.text)
    for reference in what.clauses[0].references:
        name = what.names[reference]
        if is_said:
            # Another description of what is told by it.
            new = descriptions(name, seen) if _is_in(said, reference.words) else iter(())
        elif said in PLACES:
            new = (each for ways in (by_place, by_relation) for each in ways(name, seen))
        else:
            new = by_looks(name, seen)
        yield from redescribed(situation, reference, new)
