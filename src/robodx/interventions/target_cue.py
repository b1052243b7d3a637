"""Tells the same target by another attribute."""

from __future__ import annotations

import numpy as np

from robodx.interventions.base import intervention
from robodx.interventions.cues import CUES, IN_CUES, told_by, told_by_the_same
from robodx.tasks.base import Situation


def _placebo(situation: Situation, rng: np.random.Generator) -> Situation:
    return told_by_the_same(situation, "target", rng)


@intervention(
    "target cue",
    factor="cue",
    values={cue: {"target_cue": cue} for cue in ("none", *CUES)},
    entails=IN_CUES,
    placebo=_placebo,
)
def target_cue(situation: Situation, value: str, rng: np.random.Generator) -> Situation:
    """Tells the same target among the same things by its colour, shape, size, pattern, place, relation or number."""
    return told_by(situation, "target", value, rng)
