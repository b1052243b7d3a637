"""MR5: the target lies elsewhere."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from robodx.interventions.target_shifted import WAYS
from robodx.records.values import Applied
from robodx.relations.base import Source, in_any_order, relation


@relation("MR5", "relocation", pattern="relocation", changes=("place of the target",))
def relocation(source: Source, rng: np.random.Generator) -> Iterable[tuple[Applied, ...]]:
    """The target lies 10 cm away in one of eight directions. The path should change by about as much."""
    return in_any_order([("target shifted", way) for way in WAYS], rng)
