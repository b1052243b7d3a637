"""Paints the target in a named colour of CSS, which no instruction names."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from robodx.interventions.base import NotApplicable, intervention
from robodx.interventions.changing import changed, heard, target_of, with_things
from robodx.interventions.colouring import in_colour, others_recoloured
from robodx.interventions.factors import factor
from robodx.interventions.relooking import check_words
from robodx.sim.css_colours import CSS, PREFIX
from robodx.tasks.base import Situation


def _placebo(situation: Situation, rng: np.random.Generator) -> Situation:
    return others_recoloured(situation, target_of(situation), rng)


@intervention(
    "CSS colour",
    factor="looks",
    values={name: {} for name in CSS},
    entails=("target_colour", "target_cue", "goal_cue", "requires perception/*"),
    placebo=_placebo,
)
def css_colour(situation: Situation, value: str, rng: np.random.Generator) -> Situation:
    """Paints the target in one of the 141 named colours of CSS, where the words do not tell it by its colour."""
    target, clause = target_of(situation), heard(situation).clauses[0]
    if clause.target.colour is not None or target.bands:
        raise NotApplicable(f"the {target.name} is told by its colour")
    painted = replace(in_colour(target, f"{PREFIX}{value}"))
    after = changed(situation, scene=with_things(situation.scene, {target.name: painted}))
    check_words(situation, after)
    return after


factor("colour", "CSS colour", baseline="red", is_in_paper=True)
