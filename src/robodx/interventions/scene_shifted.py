"""Moves the whole scene by four centimetres."""

from __future__ import annotations

import math

import numpy as np

from robodx.interventions.base import intervention
from robodx.interventions.changing import target_of
from robodx.interventions.moving import moved_within, places_of
from robodx.interventions.target_shifted import WAYS
from robodx.interventions.whole_scene import Motion, moved_as_a_whole
from robodx.tasks.base import Situation

SHIFT_M = 0.04
CHANGES = (*places_of("target"), *places_of("goal"))


def _placebo(situation: Situation, rng: np.random.Generator) -> Situation:
    return moved_within(situation, target_of(situation), "target", rng)


@intervention(
    "scene shifted",
    factor="where",
    values={way: {} for way in WAYS},
    entails=(*CHANGES, "expert_*"),
    placebo=_placebo,
)
def scene_shifted(situation: Situation, value: str, rng: np.random.Generator) -> Situation:
    """Moves all things together by 4 cm in one of eight directions, as far as they can still be reached."""
    dx, dy = WAYS[value]
    share = SHIFT_M / math.hypot(dx, dy)
    return moved_as_a_whole(situation, Motion(share * dx, share * dy), CHANGES)
