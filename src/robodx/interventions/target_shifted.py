"""Moves the target by ten centimetres."""

from __future__ import annotations

import math

import numpy as np

from robodx.interventions.base import intervention
from robodx.interventions.changing import target_of
from robodx.interventions.moving import at_spot, check_movable, laid, moved_within, places_of, spot_of
from robodx.tasks.base import Situation

SHIFT_M = 0.1
# From the robot's point of view: x goes away from it, y to its left.
WAYS = {
    "away": (1, 0), "away and left": (1, 1), "left": (0, 1), "near and left": (-1, 1),
    "near": (-1, 0), "near and right": (-1, -1), "right": (0, -1), "away and right": (1, -1),
}  # fmt: skip


def _placebo(situation: Situation, rng: np.random.Generator) -> Situation:
    return moved_within(situation, target_of(situation), "target", rng)


@intervention(
    "target shifted",
    factor="where",
    values={way: {} for way in WAYS},
    entails=(*places_of("target"), *places_of("goal"), "expert_*"),
    placebo=_placebo,
)
def target_shifted(situation: Situation, value: str, rng: np.random.Generator) -> Situation:
    """Moves the target by 10 cm in one of eight directions, where there is room and it can be reached."""
    target = target_of(situation)
    check_movable(situation, target)
    (x, y), (dx, dy) = spot_of(target), WAYS[value]
    share = SHIFT_M / math.hypot(dx, dy)
    pose = at_spot(target, (x + share * dx, y + share * dy))
    return laid(situation, {target.name: pose}, (*places_of("target"), *places_of("goal")))
