"""MR7: another colour for what is not needed."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from robodx.records.values import Applied
from robodx.relations.base import Source, in_any_order, relation
from robodx.tasks.carrier import COLOURS


@relation("MR7", "recolour", pattern="consistency", changes=("look of another thing",))
def recolour(source: Source, rng: np.random.Generator) -> Iterable[tuple[Applied, ...]]:
    """A thing that is not needed has another colour. The path should stay the same."""
    return in_any_order([("bystander colour", colour) for colour in COLOURS], rng)
