"""Gives a thing that nobody needs another colour."""

from __future__ import annotations

import numpy as np

from robodx.interventions.accompanying import one_moved, unneeded
from robodx.interventions.base import NotApplicable, intervention
from robodx.interventions.colouring import recoloured
from robodx.interventions.redescribing import described
from robodx.scoring.from_meaning import looks
from robodx.tasks.base import Situation
from robodx.tasks.carrier import COLOURS


@intervention(
    "bystander colour",
    factor="looks",
    values={colour: {} for colour in COLOURS},
    entails=("target_cue", "goal_cue", "requires perception/*"),
    placebo=one_moved,
)
def bystander_colour(situation: Situation, value: str, rng: np.random.Generator) -> Situation:
    """Paints a loose thing that the words do not speak of in another familiar colour."""
    free = [thing for thing in unneeded(situation) if thing.colour != value]
    spoken = described(situation.instruction.meaning, looks(situation.scene))
    for place in rng.permutation(len(free)):
        try:
            after = recoloured(situation, free[place], value)
        except NotApplicable:
            continue
        if (
            after.instruction == situation.instruction
            and described(after.instruction.meaning, looks(after.scene)) == spoken
        ):
            return after
    raise NotApplicable(f"nothing that is not needed can be painted {value} and the words be kept")
