"""Makes the table of another colour."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from robodx.interventions.base import NotApplicable, intervention
from robodx.interventions.surroundings import coloured_like, in_arena, other_walls
from robodx.situations.attributes import colour_word
from robodx.tasks.base import Situation

TABLES = coloured_like("table")


@intervention(
    "table colour",
    factor="looks",
    values={word: {"room_table_colour": word} for word in TABLES},
    entails=("room_table_second_colour", "room_familiar"),
    placebo=other_walls,
)
def table_colour(situation: Situation, value: str, rng: np.random.Generator) -> Situation:
    """Paints the table like that of another room, familiar or not; its material stays."""
    if colour_word(situation.scene.arena.table_colour) == value:
        raise NotApplicable(f"the table is {value} already")
    like = TABLES[value]
    arena = replace(situation.scene.arena, table_colour=like.table_colour, table_second_colour=like.table_second_colour)
    return in_arena(situation, arena)
