"""Says the same in a phrasing for training or for testing."""

from __future__ import annotations

import numpy as np

from robodx.interventions.base import NotApplicable, intervention
from robodx.interventions.wording import IN_WORDS, SPLITS, keeping, rephrased, told
from robodx.situations.features import features_of
from robodx.tasks.base import Situation


def _placebo(situation: Situation, rng: np.random.Generator) -> Situation:
    return keeping(situation, rephrased(situation.instruction, SPLITS), ("phrasing",), rng, IN_WORDS)


@intervention(
    "phrasing",
    factor="words",
    values={split: {"phrasing": split} for split in SPLITS},
    entails=IN_WORDS,
    placebo=_placebo,
)
def phrasing(situation: Situation, value: str, rng: np.random.Generator) -> Situation:
    """Says the same in one of the phrasings for training, or in one of those for testing."""
    if features_of(situation)["phrasing"] == value:
        raise NotApplicable(f"the phrasing is one for {value}ing already")
    split = next(one for one in SPLITS if one == value)
    return told(situation, rephrased(situation.instruction, (split,)), {"phrasing": value}, rng)
