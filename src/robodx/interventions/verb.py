"""Says the same act with another verb."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from robodx.interventions.base import NotApplicable, intervention
from robodx.interventions.changing import heard
from robodx.interventions.wording import IN_WORDS, keeping, manner_of, rephrased, told
from robodx.language.meaning import Instruction
from robodx.language.verbs import PHRASINGS
from robodx.situations.attributes import template_words
from robodx.tasks.base import Situation

# Acts that some task asks for first, whatever the seed.
ACTS = (
    "pick", "touch", "press", "stand", "push onto", "put in", "put on", "put beside", "put between", "move near",
    "insert into",
)  # fmt: skip
TEMPLATES = {
    template_words(template)[0]: (act, template)
    for act in ACTS
    for template in (*PHRASINGS[act].train, *PHRASINGS[act].test, *PHRASINGS[act].read)
}


def _placebo(situation: Situation, rng: np.random.Generator) -> Situation:
    return keeping(situation, (), ("verb",), rng)


@intervention(
    "verb",
    factor="words",
    values={words: {"verb": words} for words in TEMPLATES},
    entails=IN_WORDS,
    placebo=_placebo,
)
def verb(situation: Situation, value: str, rng: np.random.Generator) -> Situation:
    """Says the same act with another of its verbs: "lift" for "pick up"."""
    act, template = TEMPLATES[value]
    if heard(situation).clauses[0].act != act:
        raise NotApplicable(f"what is asked for first is not to {act} something")
    return told(situation, _with(situation.instruction, template), {"verb": value}, rng)


def _with(instruction: Instruction, template: str) -> Iterator[Instruction]:
    manner = manner_of(instruction)
    if len(instruction.meaning.clauses) == 1:
        yield replace(manner, template=template).say(instruction.meaning)
    yield from rephrased(replace(instruction, train=(), test=()), ("train", "test"))
