"""Paints the goal in another colour."""

from __future__ import annotations

import numpy as np

from robodx.interventions.base import intervention
from robodx.interventions.changing import goal_of
from robodx.interventions.colouring import colours_of, others_recoloured, recoloured
from robodx.tasks.base import Situation


def _placebo(situation: Situation, rng: np.random.Generator) -> Situation:
    return others_recoloured(situation, goal_of(situation), rng)


@intervention("goal colour", factor="looks", values=colours_of("goal"), entails=("word *",), placebo=_placebo)
def goal_colour(situation: Situation, value: str, rng: np.random.Generator) -> Situation:
    """Paints what the target goes to in another familiar colour; words that name its colour name the new one."""
    return recoloured(situation, goal_of(situation), value)
