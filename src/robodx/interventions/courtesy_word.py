"""Says the same without one word of courtesy, or with it."""

from __future__ import annotations

import numpy as np

from robodx.interventions.base import intervention
from robodx.interventions.cues import IN_CUES_OF_ALL
from robodx.interventions.phrasing_word import PHRASING_WORDS
from robodx.interventions.word import keeping_all, said_so, with_and_without
from robodx.interventions.wording import OPENINGS, words_in
from robodx.tasks.base import Situation

# Words that are also said otherwise go with the phrasings.
COURTESY_WORDS = tuple(
    dict.fromkeys(word for each in OPENINGS for word in words_in(" ".join(each)) if word not in PHRASING_WORDS)
)


@intervention(
    "courtesy word",
    factor="words",
    values=with_and_without(COURTESY_WORDS),
    entails=IN_CUES_OF_ALL,
    placebo=keeping_all(COURTESY_WORDS),
)
def courtesy_word(situation: Situation, value: str, rng: np.random.Generator) -> Situation:
    """Says the same without one word of courtesy, or with it: "Please …", "I would like you to …"."""
    return said_so(situation, value, rng)
