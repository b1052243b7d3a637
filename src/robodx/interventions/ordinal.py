"""Has things told by a number in a row, or otherwise."""

from __future__ import annotations

import numpy as np

from robodx.interventions.base import intervention
from robodx.interventions.cues import IN_CUES_OF_ALL
from robodx.interventions.telling import requiring
from robodx.tasks.base import Situation

VALUES, CHANGE, PLACEBO = requiring("language/ordinal")


@intervention("ordinal", factor="cue", values=VALUES, entails=IN_CUES_OF_ALL, placebo=PLACEBO)
def ordinal(situation: Situation, value: str, rng: np.random.Generator) -> Situation:
    """Tells things without counting them, or one of them as the second, third or fourth of several."""
    return CHANGE(situation, value, rng)
