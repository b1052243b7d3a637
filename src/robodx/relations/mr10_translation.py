"""MR10: the whole scene lies elsewhere."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from robodx.interventions.target_shifted import WAYS
from robodx.records.values import Applied
from robodx.relations.base import Source, in_any_order, relation


@relation("MR10", "translation", pattern="consistency", changes=("places", "place of the target"), frame="moved")
def translation(source: Source, rng: np.random.Generator) -> Iterable[tuple[Applied, ...]]:
    """All things lie 4 cm away in one of eight directions. The path should move along with them."""
    return in_any_order([("scene shifted", way) for way in WAYS], rng)
