"""Lets the light come from any of eight sides."""

from __future__ import annotations

import math

import numpy as np

from robodx.interventions.base import NotApplicable, intervention
from robodx.interventions.factors import factor
from robodx.interventions.light_scaled import hardly_changed
from robodx.interventions.surroundings import shining
from robodx.tasks.base import Situation

ANGLES_DEG = (0, 45, 90, 135, 180, 225, 270, 315)


@intervention(
    "light direction",
    factor="looks",
    values={f"{angle}°": {} for angle in ANGLES_DEG},
    entails=("light_from",),
    placebo=hardly_changed,
)
def light_direction(situation: Situation, value: str, rng: np.random.Generator) -> Situation:
    """Lets the light shine towards one of eight sides, as steeply as before: 0° goes away from the robot."""
    if len(situation.scene.lights) != 1:
        raise NotApplicable("there is more than one light, or none")
    return shining(situation, math.radians(int(value.removesuffix("°"))))


factor("light_direction", "light direction")
