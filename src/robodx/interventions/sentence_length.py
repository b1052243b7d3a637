"""Says the same in more words, or in fewer."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from robodx.interventions.base import NotApplicable, intervention
from robodx.interventions.wording import IN_WORDS, keeping, reopened, rephrased, told
from robodx.language.meaning import Instruction
from robodx.records.features import BOUNDS, level
from robodx.tasks.base import Situation

BANDS = [level("words", number) for number in (0, *BOUNDS["words"])]


def _placebo(situation: Situation, rng: np.random.Generator) -> Situation:
    return keeping(situation, reopened(situation.instruction), ("words",), rng)


@intervention(
    "sentence length",
    factor="words",
    values={band: {"words": band} for band in BANDS},
    entails=IN_WORDS,
    placebo=_placebo,
)
def sentence_length(situation: Situation, value: str, rng: np.random.Generator) -> Situation:
    """Says the same in so many words: with or without words of courtesy, by a longer or shorter phrasing."""
    said = situation.instruction
    if level("words", len(said.text.split())) == value:
        raise NotApplicable(f"there are {value} words already")
    ways = (each for each in _ways(said) if level("words", len(each.text.split())) == value)
    return told(situation, ways, {"words": value}, rng)


def _ways(said: Instruction) -> Iterator[Instruction]:
    """The same phrasing comes first."""
    yield from reopened(said)
    for other in rephrased(said):
        yield other
        yield from reopened(other)
