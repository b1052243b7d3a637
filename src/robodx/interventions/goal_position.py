"""Moves the thing that the target is put into, onto or beside to another part of the table."""

from __future__ import annotations

import numpy as np

from robodx.interventions.base import intervention
from robodx.interventions.changing import goal_of
from robodx.interventions.moving import REGIONS, moved_into, moved_within
from robodx.tasks.base import Situation


def _placebo(situation: Situation, rng: np.random.Generator) -> Situation:
    return moved_within(situation, goal_of(situation), "goal", rng)


@intervention(
    "goal position",
    factor="where",
    values={name: region.sets("goal") for name, region in REGIONS.items()},
    entails=("expert_*",),
    placebo=_placebo,
)
def goal_position(situation: Situation, value: str, rng: np.random.Generator) -> Situation:
    """Moves the goal to the left, middle or right, near, halfway or far away, to the edge or the centre."""
    return moved_into(situation, goal_of(situation), "goal", REGIONS[value], rng)
