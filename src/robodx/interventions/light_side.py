"""Lets the light come from another side."""

from __future__ import annotations

import math

import numpy as np

from robodx.interventions.base import NotApplicable, intervention
from robodx.interventions.surroundings import key_light, shining
from robodx.tasks.base import Situation

# Where it goes, which is away from where it comes from.
AZIMUTHS_DEG = {"near": 0.0, "right": 90.0, "far": 180.0, "left": 270.0}
# So far around within its own side.
TURN_DEG = 35.0


def _azimuth_deg(situation: Situation) -> float:
    dx, dy, _ = key_light(situation).direction
    return math.degrees(math.atan2(dy, dx)) % 360


def _from(situation: Situation) -> str:
    return list(AZIMUTHS_DEG)[round(_azimuth_deg(situation) / 90) % 4]


def _placebo(situation: Situation, rng: np.random.Generator) -> Situation:
    now = _azimuth_deg(situation)
    middle = 90 * round(now / 90)
    return shining(situation, math.radians(middle + (-TURN_DEG if now > middle else TURN_DEG)))


@intervention(
    "light side",
    factor="looks",
    values={side: {"light_from": side} for side in AZIMUTHS_DEG},
    placebo=_placebo,
)
def light_side(situation: Situation, value: str, rng: np.random.Generator) -> Situation:
    """Lets the light come from the left or right, or from the near or far side of the table."""
    if _from(situation) == value:
        raise NotApplicable(f"the light comes from {value} already")
    return shining(situation, math.radians(AZIMUTHS_DEG[value]))
