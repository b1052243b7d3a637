"""Has things told by what lies on the left or the right, or otherwise."""

from __future__ import annotations

import numpy as np

from robodx.interventions.base import intervention
from robodx.interventions.cues import IN_CUES_OF_ALL
from robodx.interventions.telling import requiring
from robodx.tasks.base import Situation

VALUES, CHANGE, PLACEBO = requiring("language/left and right")


@intervention("left and right", factor="cue", values=VALUES, entails=IN_CUES_OF_ALL, placebo=PLACEBO)
def left_and_right(situation: Situation, value: str, rng: np.random.Generator) -> Situation:
    """Tells things without the words left and right, or one of them with these words."""
    return CHANGE(situation, value, rng)
