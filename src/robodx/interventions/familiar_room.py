"""Puts the situation into another room."""

from __future__ import annotations

import numpy as np

from robodx.interventions.base import NotApplicable, intervention
from robodx.interventions.surroundings import ROOMS, in_room, is_familiar
from robodx.tasks.base import Situation


def _placebo(situation: Situation, rng: np.random.Generator) -> Situation:
    return in_room(situation, ROOMS["familiar" if is_familiar(situation) else "unseen"], rng)


@intervention(
    "room",
    factor="looks",
    values={"familiar": {"room_familiar": "yes"}, "unseen": {"room_familiar": "no"}},
    entails=("room_*", "light_*"),
    placebo=_placebo,
)
def room(situation: Situation, value: str, rng: np.random.Generator) -> Situation:
    """Puts the table, walls, floor and light of a familiar room, or of an unseen one, around the things."""
    if is_familiar(situation) == (value == "familiar"):
        raise NotApplicable(f"the room is {value} already")
    return in_room(situation, ROOMS[value], rng)
