"""A tablecloth: robodx show carrier/pick_up --intervene tablecloth=blue --plugin examples/my_intervention.py"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from robodx import Situation
from robodx.interventions.base import intervention
from robodx.sim.colours import RGB, rgb


def covered(situation: Situation, colour: RGB) -> Situation:
    arena = replace(situation.scene.arena, table_colour=colour, table_second_colour=colour)
    return replace(situation, scene=replace(situation.scene, arena=arena))


def plain(situation: Situation, rng: np.random.Generator) -> Situation:
    """A cloth of the table's own colour: as big a change of the same sort, and the table is called what it was."""
    return covered(situation, situation.scene.arena.table_colour)


@intervention(
    "tablecloth",
    factor="looks",
    values={colour: {"room_table_colour": colour} for colour in ("blue", "green")},
    entails=("room_table_second_colour",),
    placebo=plain,
)
def tablecloth(situation: Situation, value: str, rng: np.random.Generator) -> Situation:
    """Covers the table with a cloth of one colour."""
    return covered(situation, rgb(value))
