"""Exchanges the places of the goal and another thing."""

from __future__ import annotations

import numpy as np

from robodx.interventions.base import intervention
from robodx.interventions.changing import goal_of
from robodx.interventions.moving import REGIONS, places_of
from robodx.interventions.swapping import swapped_into, swapped_within
from robodx.tasks.base import Situation


def _placebo(situation: Situation, rng: np.random.Generator) -> Situation:
    return swapped_within(situation, goal_of(situation), rng)


@intervention(
    "swap goal",
    factor="where",
    values={name: region.sets("goal") for name, region in REGIONS.items()},
    entails=(*places_of("target"), "expert_*"),
    placebo=_placebo,
)
def swap_goal(situation: Situation, value: str, rng: np.random.Generator) -> Situation:
    """Exchanges the places of the goal and another thing, which lies in that part of the table."""
    return swapped_into(situation, goal_of(situation), REGIONS[value], rng)
