"""Makes the walls of another colour."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from robodx.interventions.base import NotApplicable, intervention
from robodx.interventions.surroundings import coloured_like, in_arena, other_table
from robodx.situations.attributes import colour_word
from robodx.tasks.base import Situation

WALLS = coloured_like("wall")


@intervention(
    "wall colour",
    factor="looks",
    values={word: {"room_wall_colour": word} for word in WALLS},
    entails=("room_wall_second_colour", "room_familiar"),
    placebo=other_table,
)
def wall_colour(situation: Situation, value: str, rng: np.random.Generator) -> Situation:
    """Paints the walls like those of another room, familiar or not; their material stays."""
    if colour_word(situation.scene.arena.wall_colour) == value:
        raise NotApplicable(f"the walls are {value} already")
    like = WALLS[value]
    arena = replace(situation.scene.arena, wall_colour=like.wall_colour, wall_second_colour=like.wall_second_colour)
    return in_arena(situation, arena)
