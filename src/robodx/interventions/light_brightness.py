"""Makes the light dimmer or brighter."""

from __future__ import annotations

import numpy as np

from robodx.interventions.base import NotApplicable, intervention
from robodx.interventions.surroundings import brightened, brightness_of
from robodx.records.features import level
from robodx.tasks.base import Situation

ATTRIBUTE = "light_brightness"
BRIGHTNESS = {"dim": 0.3, "usual": 0.6, "bright": 1.0}
# As much of it as a placebo takes or gives, which of no level leads into another.
STEP = 0.12


def _placebo(situation: Situation, rng: np.random.Generator) -> Situation:
    now = brightness_of(situation)
    steps = [now + sign * STEP for sign in (-1, 1) if level(ATTRIBUTE, now + sign * STEP) == level(ATTRIBUTE, now)]
    return brightened(situation, steps[int(rng.integers(len(steps)))])


@intervention(
    "light brightness",
    factor="looks",
    values={name: {ATTRIBUTE: level(ATTRIBUTE, value)} for name, value in BRIGHTNESS.items()},
    placebo=_placebo,
)
def light_brightness(situation: Situation, value: str, rng: np.random.Generator) -> Situation:
    """Makes the light half as bright as usual, usual, or nearly twice as bright."""
    if level(ATTRIBUTE, BRIGHTNESS[value]) == level(ATTRIBUTE, brightness_of(situation)):
        raise NotApplicable("the light is so bright already")
    return brightened(situation, BRIGHTNESS[value])
