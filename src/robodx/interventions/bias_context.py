"""Lays out the scene of visual bias: a shape at a place, in one of three wordings, and nothing else drawn."""

from __future__ import annotations

from itertools import product

import numpy as np

from robodx.interventions.base import NotApplicable, intervention
from robodx.interventions.surroundings import other_walls
from robodx.sim.css_colours import PREFIX
from robodx.tasks.base import Situation
from robodx.tasks.bias import PLACES, SHAPES, WORDINGS, solid_and_box

NAMES = ("solid", "box")
COLOUR = f"{PREFIX}red"
# Turned a little, so that each shape shows two of its faces at least.
YAW_RAD = 0.6
CONTEXTS = {
    f"place {place + 1}, {shape}, wording {wording + 1}": (place, shape, wording)
    for place, shape, wording in product(range(len(PLACES)), SHAPES, range(WORDINGS))
}


@intervention(
    "bias context",
    factor="where",
    values={name: {} for name in CONTEXTS},
    entails=(
        "target_*", "goal_*", "verb", "phrasing", "word *", "words", "light_*", "room_*", "expert_*",
        "requires perception/*", "things_of_target_kind",
    ),
    placebo=other_walls,
)  # fmt: skip
def bias_context(situation: Situation, value: str, rng: np.random.Generator) -> Situation:
    """Of the task with a solid and a box: one shape at one place in one wording, red, in the usual room."""
    if tuple(thing.name for thing in situation.scene) != NAMES:
        raise NotApplicable("there is not a solid and a box")
    place, shape, wording = CONTEXTS[value]
    return solid_and_box(shape, place, COLOUR, wording, yaw_rad=YAW_RAD)
