"""MR11: what is asked for is done already."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from robodx.records.values import Applied
from robodx.relations.base import Source, relation


@relation("MR11", "idempotence", pattern="consistency", changes=("place of the target", "what counts"), frame="at rest")
def idempotence(source: Source, rng: np.random.Generator) -> Iterator[tuple[Applied, ...]]:
    """The target lies where it is to go already. The robot should hardly move."""
    yield (("done already", "yes"),)
