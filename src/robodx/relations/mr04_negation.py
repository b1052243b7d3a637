"""MR4: what was asked for is forbidden."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from robodx.records.values import Applied
from robodx.relations.base import Source, relation


@relation("MR4", "negation", pattern="variation", changes=("words", "what counts"))
def negation(source: Source, rng: np.random.Generator) -> Iterator[tuple[Applied, ...]]:
    """The instruction says "do not". The robot should stay where it is, or do something else."""
    yield (("forbidden", "do not"),)
