"""Moves the target to another part of the table."""

from __future__ import annotations

import numpy as np

from robodx.interventions.base import intervention
from robodx.interventions.changing import target_of
from robodx.interventions.moving import REGIONS, moved_into, moved_within, places_of
from robodx.tasks.base import Situation


def _placebo(situation: Situation, rng: np.random.Generator) -> Situation:
    return moved_within(situation, target_of(situation), "target", rng)


@intervention(
    "target position",
    factor="where",
    values={name: region.sets("target") for name, region in REGIONS.items()},
    # Of "15 cm to the left" the goal moves along.
    entails=(*places_of("goal"), "expert_*"),
    placebo=_placebo,
)
def target_position(situation: Situation, value: str, rng: np.random.Generator) -> Situation:
    """Moves the target to the left, middle or right, near, halfway or far away, to the edge or the centre."""
    return moved_into(situation, target_of(situation), "target", REGIONS[value], rng)
