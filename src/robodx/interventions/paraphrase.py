"""Says the same in another sentence that is known from training."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from robodx.interventions.base import NotApplicable, intervention
from robodx.interventions.changing import changed, heard
from robodx.interventions.wording import IN_WORDS, OPENINGS, keeping, manner_of, rephrased
from robodx.language.meaning import Instruction
from robodx.tasks.base import Situation


def _placebo(situation: Situation, rng: np.random.Generator) -> Situation:
    return keeping(situation, (), ("phrasing",), rng)


@intervention("paraphrase", factor="words", values={"familiar": {}}, entails=IN_WORDS, placebo=_placebo)
def paraphrase(situation: Situation, value: str, rng: np.random.Generator) -> Situation:
    """Says the same in another training phrasing, and opens the sentence otherwise: "Please …", "Can you …?"."""
    ways = list(_ways(situation.instruction))
    for place in rng.permutation(len(ways)):
        after = changed(situation, instruction=ways[place])
        if heard(after).acts == heard(situation).acts:
            return after
    raise NotApplicable("there is no other sentence for it")


def _ways(instruction: Instruction) -> Iterator[Instruction]:
    for said in rephrased(instruction, ("train",)):
        manner = manner_of(said)
        for opening, closing in OPENINGS:
            opened = replace(manner, opening=opening, closing=closing).say(said.meaning)
            if opened.text != said.text:
                yield opened
