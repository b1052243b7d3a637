"""Covers the target with a material or a pattern, in its own colour and a darker one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from robodx.interventions.base import NotApplicable, intervention
from robodx.interventions.changing import changed, target_of, with_things
from robodx.interventions.colouring import others_recoloured
from robodx.interventions.factors import factor
from robodx.interventions.relooking import is_in_events
from robodx.sim.materials import MATERIALS, PATTERNS, PLAIN
from robodx.tasks.base import Situation


def _placebo(situation: Situation, rng: np.random.Generator) -> Situation:
    return others_recoloured(situation, target_of(situation), rng)


@intervention(
    "object texture",
    factor="looks",
    values={name: {} for name in (*MATERIALS, *PATTERNS) if name != PLAIN},
    placebo=_placebo,
)
def object_texture(situation: Situation, value: str, rng: np.random.Generator) -> Situation:
    """Lets the target seem to be of wood, cloth, marble, tiles or plaster, or have a pattern such as stripes."""
    target = target_of(situation)
    if target.bands or target.is_striped or is_in_events(situation, target.name):
        raise NotApplicable(f"the {target.name} has a pattern already, or will look otherwise")
    covered = replace(target, material=value)
    return changed(situation, scene=with_things(situation.scene, {target.name: covered}))


factor("object_texture", "object texture")
