"""MR2: things that are not needed, out of the way."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from robodx.interventions.company_out_of_the_way import DRAWS, MOST
from robodx.records.values import Applied
from robodx.relations.base import Source, relation
from robodx.tasks.base import Situation

# A hand higher than this above the table passes over everything that is added; and as much room beside its path.
LOW_M = 0.15
BESIDE_M = 0.05


def off_the_path(source: Source, situation: Situation) -> bool:
    """Whether what was added lies beside where the hand went when it was low; if that is not known, it does not."""
    if source.path is None:
        return False
    low = source.path[source.path[:, 2] < LOW_M, :2]
    added = situation.scene.things[len(source.situation.scene.things) :]
    return all(
        np.linalg.norm(low - thing.pose.position[:2], axis=1).min(initial=np.inf) >= thing.radius_m + BESIDE_M
        for thing in added
    )


@relation("MR2", "distractor", pattern="consistency", changes=("added things",), accepts=off_the_path)
def distractor(source: Source, rng: np.random.Generator) -> Iterator[tuple[Applied, ...]]:
    """One to four things that nobody speaks of are added, off the path. The path should stay the same."""
    for number in 1 + rng.permutation(MOST):
        for draw in DRAWS:
            yield (("things out of the way", f"{number}{draw}"),)
