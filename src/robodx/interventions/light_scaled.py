"""Scales the light, less than would make it dark or glaring."""

from __future__ import annotations

import numpy as np

from robodx.interventions.base import intervention
from robodx.interventions.surroundings import brightened, brightness_of
from robodx.tasks.base import Situation

FACTORS = (0.5, 0.65, 0.8, 1.2, 1.35, 1.5)
HARDLY = 0.02


def hardly_changed(situation: Situation, rng: np.random.Generator) -> Situation:
    """A little brighter or dimmer."""
    return brightened(situation, brightness_of(situation) * (1 + HARDLY * float(rng.choice((-1, 1)))))


@intervention(
    "light scaled",
    factor="looks",
    values={f"{factor:g}": {} for factor in FACTORS},
    entails=("light_brightness",),
    placebo=hardly_changed,
)
def light_scaled(situation: Situation, value: str, rng: np.random.Generator) -> Situation:
    """Makes the light half to one and a half times as bright as it is."""
    return brightened(situation, brightness_of(situation) * float(value))
