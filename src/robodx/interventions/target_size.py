"""Makes the target bigger or smaller."""

from __future__ import annotations

import numpy as np

from robodx.interventions.base import NotApplicable, intervention
from robodx.interventions.changing import target_of
from robodx.interventions.resizing import bands, resized, resized_within, size_level
from robodx.records.features import level
from robodx.tasks.base import Situation

ATTRIBUTE = "target_size_m"
# One word for each band of recorded sizes.
BANDS = dict(zip(("small", "medium", "large", "very large"), bands(ATTRIBUTE), strict=True))


def _placebo(situation: Situation, rng: np.random.Generator) -> Situation:
    return resized_within(situation, target_of(situation), rng)


@intervention(
    "target size",
    factor="looks",
    values={word: {ATTRIBUTE: level(ATTRIBUTE, low)} for word, (low, _) in BANDS.items()},
    placebo=_placebo,
)
def target_size(situation: Situation, value: str, rng: np.random.Generator) -> Situation:
    """Makes the target as much bigger or smaller as the next bound of its longest side is away: 36, 46 and 65 mm."""
    target = target_of(situation)
    low, high = BANDS[value]
    if size_level(target) == level(ATTRIBUTE, low):
        raise NotApplicable(f"the {target.name} is of that size already")
    return resized(situation, target, low, high)
