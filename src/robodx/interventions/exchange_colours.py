"""Exchanges the target's colour for that of another thing."""

from __future__ import annotations

import numpy as np

from robodx.interventions.base import NotApplicable, intervention
from robodx.interventions.changing import target_of
from robodx.interventions.colouring import colours_of, exchanged, others_recoloured
from robodx.interventions.relooking import others_than
from robodx.tasks.base import Situation


def _placebo(situation: Situation, rng: np.random.Generator) -> Situation:
    return others_recoloured(situation, target_of(situation), rng)


@intervention(
    "exchange colours",
    factor="looks",
    values=colours_of("target"),
    entails=("goal_colour", "word *"),
    placebo=_placebo,
)
def exchange_colours(situation: Situation, value: str, rng: np.random.Generator) -> Situation:
    """Exchanges the target's colour for that of a thing which has the given one; words name the new colours."""
    target = target_of(situation)
    if target.colour == value:
        raise NotApplicable(f"the {target.name} is {value} already")
    for other in others_than(situation, target):
        if other.colour == value:
            return exchanged(situation, target, other)
    raise NotApplicable(f"nothing else is {value}")
