"""Has things told by way of other things, or otherwise."""

from __future__ import annotations

import numpy as np

from robodx.interventions.base import intervention
from robodx.interventions.cues import IN_CUES_OF_ALL
from robodx.interventions.telling import requiring
from robodx.tasks.base import Situation

VALUES, CHANGE, PLACEBO = requiring("language/relation")


@intervention("relation", factor="cue", values=VALUES, entails=IN_CUES_OF_ALL, placebo=PLACEBO)
def relation(situation: Situation, value: str, rng: np.random.Generator) -> Situation:
    """Tells things by themselves, or one of them by its relation to another thing."""
    return CHANGE(situation, value, rng)
