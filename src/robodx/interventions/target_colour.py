"""Paints the target in another colour."""

from __future__ import annotations

import numpy as np

from robodx.interventions.base import intervention
from robodx.interventions.changing import target_of
from robodx.interventions.colouring import colours_of, others_recoloured, recoloured
from robodx.tasks.base import Situation


def _placebo(situation: Situation, rng: np.random.Generator) -> Situation:
    return others_recoloured(situation, target_of(situation), rng)


@intervention("target colour", factor="looks", values=colours_of("target"), entails=("word *",), placebo=_placebo)
def target_colour(situation: Situation, value: str, rng: np.random.Generator) -> Situation:
    """Paints the target in another familiar colour; words that name its colour name the new one."""
    return recoloured(situation, target_of(situation), value)
