"""Puts a thing of another kind in the target's place."""

from __future__ import annotations

import numpy as np

from robodx.interventions.base import NotApplicable, intervention
from robodx.interventions.changing import bystanders, target_of
from robodx.interventions.resizing import rekinded, resized_within
from robodx.tasks.base import Situation
from robodx.tasks.carrier import ANY


def another_kind(situation: Situation, rng: np.random.Generator) -> Situation:
    """Of a thing that is not needed; where there is none, another size of the target."""
    target = target_of(situation)
    free = bystanders(situation)
    for place in rng.permutation(len(free)):
        for kind in rng.permutation([kind for kind in ANY if kind != target.kind]):
            try:
                return rekinded(situation, [free[place]], str(kind))
            except NotApplicable:
                continue
    return resized_within(situation, target, rng)


@intervention(
    "target kind",
    factor="looks",
    values={kind: {"target_kind": kind} for kind in ANY},
    entails=(
        "target_size_m", "target_turn_deg", "target_cue", "goal_cue", "things_of_target_kind", "distractors",
        "requires perception/*", "requires distractors", "requires choice", "words", "word *",
    ),
    placebo=another_kind,
)  # fmt: skip
def target_kind(situation: Situation, value: str, rng: np.random.Generator) -> Situation:
    """Puts a thing of another kind, of the same colour and about the same size, in the target's place."""
    return rekinded(situation, [target_of(situation)], value)
