"""Covers the table with another material or pattern, in its own colours."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from robodx.interventions.base import intervention
from robodx.interventions.factors import factor
from robodx.interventions.surroundings import in_arena, other_walls
from robodx.sim.materials import MATERIALS, PATTERNS
from robodx.tasks.base import Situation


@intervention(
    "table texture",
    factor="looks",
    values={name: {} for name in (*MATERIALS, *PATTERNS) if name != "wood"},
    entails=("room_*",),
    placebo=other_walls,
)
def table_texture(situation: Situation, value: str, rng: np.random.Generator) -> Situation:
    """Makes the table of another material, or stripes, checks, dots or speckles of its two colours."""
    return in_arena(situation, replace(situation.scene.arena, table_material=value))


factor("table_texture", "table texture")
