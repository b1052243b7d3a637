"""Exchanges the target's colour for another, on all things that have either."""

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
    """Lets the target's colour and another one change places on all things that have either; words follow."""
    target = target_of(situation)
    if target.colour == value:
        raise NotApplicable(f"the {target.name} is {value} already")
    if not any(thing.colour in (target.colour, value) for thing in others_than(situation, target)):
        raise NotApplicable(f"nothing else is {target.colour} or {value}: that is no exchange")
    return exchanged(situation, target.colour, value)
