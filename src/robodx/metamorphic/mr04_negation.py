"""MR4: what was asked for is forbidden."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from robodx.metamorphic.base import Source, relation
from robodx.records.values import Applied


@relation("MR4", "negation", pattern="variation", changes=("words", "what counts"))
def negation(source: Source, rng: np.random.Generator) -> Iterator[tuple[Applied, ...]]:
    """The instruction says "do not". The robot should stay where it is, or do something else."""
    yield (("forbidden", "do not"),)
