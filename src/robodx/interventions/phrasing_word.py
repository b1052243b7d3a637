"""Says the same without one word of a phrasing, or with it."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from robodx.interventions.base import intervention
from robodx.interventions.cues import IN_CUES_OF_ALL
from robodx.interventions.word import WORDS, keeping_all, said_so, with_and_without
from robodx.interventions.wording import FORBIDDING, JOINTS, words_in
from robodx.language.phrasing import CHOICES, SIGNALS
from robodx.language.verbs import PHRASINGS
from robodx.tasks.base import Situation

# No sentence goes without them.
ARTICLES = ("the", "a", "an")
# What nobody asks for first.
LATER = "release"


def _differing(ways: Iterable[str]) -> set[str]:
    """Words that one way of saying something has, and another has not."""
    told: list[set[str]] = [set(words_in(way)) for way in ways]
    return set[str]().union(*told) - told[0].intersection(*told)


def _words() -> tuple[str, ...]:
    found: set[str] = _differing(JOINTS) | _differing(FORBIDDING)
    for act in (name for name in PHRASINGS if name != LATER):
        said = PHRASINGS[act]
        found |= _differing((*said.train, *said.test, *(() if said.negates else said.read)))
    for templates in (CHOICES, SIGNALS):
        found |= _differing((*templates["train"], *templates["test"]))
    return tuple(sorted(found - {*WORDS, *ARTICLES}))


PHRASING_WORDS = _words()


@intervention(
    "phrasing word",
    factor="words",
    values=with_and_without(PHRASING_WORDS),
    entails=IN_CUES_OF_ALL,
    placebo=keeping_all(PHRASING_WORDS),
)
def phrasing_word(situation: Situation, value: str, rng: np.random.Generator) -> Situation:
    """Says the same without one word for what is done, or with it: by another verb or another phrasing."""
    return said_so(situation, value, rng)
