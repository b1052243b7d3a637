"""Makes the table of another material."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from robodx.interventions.base import intervention
from robodx.interventions.surroundings import in_arena, other_walls
from robodx.sim.materials import MATERIALS
from robodx.tasks.base import Situation


@intervention(
    "table material",
    factor="looks",
    values={material: {"room_table_material": material} for material in MATERIALS},
    entails=("room_familiar",),
    placebo=other_walls,
)
def table_material(situation: Situation, value: str, rng: np.random.Generator) -> Situation:
    """Makes the table of another material, in the same colours."""
    return in_arena(situation, replace(situation.scene.arena, table_material=value))
