"""Moves the target to another part of the table."""

from __future__ import annotations

import numpy as np

from robodx.interventions.base import NotApplicable, intervention
from robodx.interventions.changing import target_of
from robodx.interventions.moving import REGIONS, moved_into, moved_within
from robodx.tasks.base import Situation


def _placebo(situation: Situation, rng: np.random.Generator) -> Situation:
    return moved_within(situation, target_of(situation), rng)


@intervention(
    "target position",
    factor="where",
    values={name: {region.attribute("target"): region.level} for name, region in REGIONS.items()},
    entails=("target_*", "goal_*", "things*", "requires *", "expert_*"),
    placebo=_placebo,
)
def target_position(situation: Situation, value: str, rng: np.random.Generator) -> Situation:
    """Moves the target to the left, right, near, far, edge or centre of the table."""
    target = target_of(situation)
    if target.is_fixed:
        raise NotApplicable(f"the {target.name} is fixed to the table")
    return moved_into(situation, target, REGIONS[value], rng)
