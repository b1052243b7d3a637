"""A metamorphic relation: robodx run metamorphic/turned --policy expert --plugin examples/my_relation.py"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from robodx.interventions.base import INTERVENTIONS
from robodx.records.values import Applied
from robodx.relations.base import Source, in_any_order, relation


@relation("turned", "turn of the target", pattern="consistency", changes=("place of the target",))
def turned(source: Source, rng: np.random.Generator) -> Iterable[tuple[Applied, ...]]:
    """The target is turned where it lies. The hand turns with it, and its path should stay the same."""
    return in_any_order([("turn", value) for value in INTERVENTIONS["turn"].values], rng)
