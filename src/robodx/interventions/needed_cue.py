"""Has an attribute needed to tell what is named, or not needed for any of it."""

from __future__ import annotations

import numpy as np

from robodx.interventions.base import intervention
from robodx.interventions.cues import IN_CUES_OF_ALL, told_by_the_same
from robodx.interventions.telling import with_it, without_it
from robodx.records.features import NO, REQUIRES, YES
from robodx.tasks.base import Situation

NEEDED = ("colour", "size", "shape", "place")
# A pattern must be there to be needed.
SETS = {
    **{one: {f"{REQUIRES}perception/{one}": YES} for one in NEEDED},
    **{f"no {one}": {f"{REQUIRES}perception/{one}": NO} for one in (*NEEDED, "pattern")},
}


def _placebo(situation: Situation, rng: np.random.Generator) -> Situation:
    return told_by_the_same(situation, "target", rng, [name for levels in SETS.values() for name in levels])


@intervention("needed cue", factor="cue", values=SETS, entails=IN_CUES_OF_ALL, placebo=_placebo)
def needed_cue(situation: Situation, value: str, rng: np.random.Generator) -> Situation:
    """Words everything so that one must know an attribute to tell what is meant, or need not know it."""
    if value in NEEDED:
        return with_it(situation, f"perception/{value}", rng)
    return without_it(situation, f"perception/{value.removeprefix('no ')}", rng)
