"""Puts a thing of another kind in the goal's place."""

from __future__ import annotations

import numpy as np

from robodx.interventions.base import intervention
from robodx.interventions.changing import goal_of
from robodx.interventions.resizing import rekinded
from robodx.interventions.target_kind import another_kind
from robodx.tasks.base import Situation
from robodx.tasks.carrier import ANY, CONTAINERS


def _placebo(situation: Situation, rng: np.random.Generator) -> Situation:
    goal_of(situation)
    return another_kind(situation, rng)


@intervention(
    "goal kind",
    factor="looks",
    values={kind: {"goal_kind": kind} for kind in (*CONTAINERS, *ANY)},
    entails=(
        "goal_size_m", "goal_cue", "target_cue", "things_of_target_kind", "distractors", "requires perception/*",
        "requires distractors", "words", "word *",
    ),
    placebo=_placebo,
)  # fmt: skip
def goal_kind(situation: Situation, value: str, rng: np.random.Generator) -> Situation:
    """Puts a thing of another kind, of the same colour, in the goal's place: a bowl or a box for a bin."""
    return rekinded(situation, [goal_of(situation)], value)
