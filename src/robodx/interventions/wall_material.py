"""Makes the walls of another material."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from robodx.interventions.base import intervention
from robodx.interventions.surroundings import in_arena, other_table
from robodx.sim.materials import MATERIALS
from robodx.tasks.base import Situation


@intervention(
    "wall material",
    factor="looks",
    values={material: {"room_wall_material": material} for material in MATERIALS},
    entails=("room_familiar",),
    placebo=other_table,
)
def wall_material(situation: Situation, value: str, rng: np.random.Generator) -> Situation:
    """Makes the walls of another material, in the same colours."""
    return in_arena(situation, replace(situation.scene.arena, wall_material=value))
