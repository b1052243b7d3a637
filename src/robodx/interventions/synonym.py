"""Says everyday synonyms for a thing's kind, colour or size, or the usual words."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from robodx.interventions.base import intervention
from robodx.interventions.changing import heard
from robodx.interventions.describing import synonyms
from robodx.interventions.wording import IN_WORDS, exchanged, keeping, manner_of, redescribed, told
from robodx.language.meaning import Instruction
from robodx.language.reference import Reference
from robodx.records.features import NO, REQUIRES, YES
from robodx.scoring.from_meaning import looks
from robodx.tasks.base import Situation

ATTRIBUTE = f"{REQUIRES}language/synonym"


def with_synonyms(situation: Situation) -> Iterator[Instruction]:
    """One thing by other words; what is handled first comes first."""
    seen = looks(situation.scene)
    for clause in heard(situation).clauses[:1]:
        # What is not meant is told by words too, and these stay.
        for reference in (each for each in clause.references if not each.but):
            yield from redescribed(situation, reference, synonyms(reference, seen, clause.phrasings))


def usual_words(situation: Situation) -> Iterator[Instruction]:
    """Everything by its usual words, if something is not."""
    told_so: list[Reference] = [each for each in heard(situation).names if each.said is not None]
    if told_so:
        meaning = exchanged(situation.instruction.meaning, {each: replace(each, said=None) for each in told_so})
        yield manner_of(situation.instruction).say(meaning)


def _placebo(situation: Situation, rng: np.random.Generator) -> Situation:
    is_told_so = any(each.said is not None for each in heard(situation).names)
    return keeping(situation, with_synonyms(situation) if is_told_so else (), (ATTRIBUTE,), rng)


@intervention(
    "synonym",
    factor="words",
    values={level: {ATTRIBUTE: level} for level in (NO, YES)},
    entails=IN_WORDS,
    placebo=_placebo,
)
def synonym(situation: Situation, value: str, rng: np.random.Generator) -> Situation:
    """Calls a thing by an everyday synonym for its kind, colour or size; or everything by the usual words."""
    ways = with_synonyms(situation) if value == YES else usual_words(situation)
    return told(situation, ways, {ATTRIBUTE: value}, rng)
