"""Exchanges the places of the target and another thing."""

from __future__ import annotations

import numpy as np

from robodx.interventions.base import intervention
from robodx.interventions.changing import target_of
from robodx.interventions.moving import REGIONS, places_of
from robodx.interventions.swapping import swapped_into, swapped_within
from robodx.tasks.base import Situation


def _placebo(situation: Situation, rng: np.random.Generator) -> Situation:
    return swapped_within(situation, target_of(situation), rng)


@intervention(
    "swap places",
    factor="where",
    values={name: region.sets("target") for name, region in REGIONS.items()},
    entails=(*places_of("goal"), "expert_*"),
    placebo=_placebo,
)
def swap_places(situation: Situation, value: str, rng: np.random.Generator) -> Situation:
    """Exchanges the places of the target and another thing, which lies in that part of the table."""
    return swapped_into(situation, target_of(situation), REGIONS[value], rng)
