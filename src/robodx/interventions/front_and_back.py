"""Has things told by what is nearer or farther, or otherwise."""

from __future__ import annotations

import numpy as np

from robodx.interventions.base import intervention
from robodx.interventions.cues import IN_CUES_OF_ALL
from robodx.interventions.telling import requiring
from robodx.tasks.base import Situation

VALUES, CHANGE, PLACEBO = requiring("language/front and back")


@intervention("front and back", factor="cue", values=VALUES, entails=IN_CUES_OF_ALL, placebo=PLACEBO)
def front_and_back(situation: Situation, value: str, rng: np.random.Generator) -> Situation:
    """Tells things without saying nearer or farther, or one of them by that."""
    return CHANGE(situation, value, rng)
