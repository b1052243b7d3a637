"""MR3: more or less light."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from robodx.interventions.light_scaled import FACTORS
from robodx.records.values import Applied
from robodx.relations.base import Source, in_any_order, relation


@relation("MR3", "brightness", pattern="consistency", changes=("light",))
def brightness(source: Source, rng: np.random.Generator) -> Iterable[tuple[Applied, ...]]:
    """The light is 0.5 to 1.5 times as bright. The path should stay the same."""
    return in_any_order([("light scaled", f"{factor:g}") for factor in FACTORS], rng)
