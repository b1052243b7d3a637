"""MR9: another sentence for the same."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from robodx.records.values import Applied
from robodx.relations.base import Source, relation


@relation("MR9", "paraphrase", pattern="consistency", changes=("words",))
def paraphrase(source: Source, rng: np.random.Generator) -> Iterator[tuple[Applied, ...]]:
    """The whole sentence is said otherwise: "Can you …?". The path should stay the same."""
    yield (("paraphrase", "familiar"),)
