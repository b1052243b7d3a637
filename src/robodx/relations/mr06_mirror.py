"""MR6: left for right."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress

import numpy as np

from robodx.interventions.base import NotApplicable, intervened
from robodx.interventions.mirror import ANY
from robodx.records.values import Applied
from robodx.relations.base import Source, relation

CUES = ("place", "shape and place", "ordinal", "shape and ordinal", "relation", "shape and relation")
SIDES = re.compile("left|right")


def told_by_its_side(source: Source, rng: np.random.Generator) -> Iterator[tuple[Applied, ...]]:
    """So that the words speak of left or right: else only the scene would be mirrored."""
    trial = source.trial
    for place in rng.permutation(len(CUES)):
        cue = (("target cue", CUES[place]),)
        with suppress(NotApplicable):
            said = intervened(source.situation, cue, trial.seed, trial.task).instruction.text
            if SIDES.search(said):
                yield cue


@relation(
    "MR6",
    "mirror",
    pattern="consistency",
    changes=("words", "places", "place of the target"),
    frame="mirrored",
    prepares=told_by_its_side,
)
def mirror(source: Source, rng: np.random.Generator) -> Iterator[tuple[Applied, ...]]:
    """Scene and words are mirrored, left for right. The path should be the mirror image."""
    yield (("mirror", ANY),)
