"""Makes the floor of another colour."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from robodx.interventions.base import NotApplicable, intervention
from robodx.interventions.surroundings import coloured_like, in_arena, other_walls
from robodx.situations.attributes import colour_word
from robodx.tasks.base import Situation

FLOORS = coloured_like("floor")


@intervention(
    "floor colour",
    factor="looks",
    values={word: {"room_floor_colour": word} for word in FLOORS},
    entails=("room_familiar",),
    placebo=other_walls,
)
def floor_colour(situation: Situation, value: str, rng: np.random.Generator) -> Situation:
    """Makes the floor around the table of the colour of another room's, familiar or not."""
    if colour_word(situation.scene.arena.floor_colour) == value:
        raise NotApplicable(f"the floor is {value} already")
    return in_arena(situation, replace(situation.scene.arena, floor_colour=FLOORS[value].floor_colour))
