"""Puts things of another kind in the places of the target and of all things of its kind."""

from __future__ import annotations

import numpy as np

from robodx.interventions.base import intervention
from robodx.interventions.changing import target_of
from robodx.interventions.resizing import rekinded
from robodx.interventions.target_kind import another_kind
from robodx.tasks.base import Situation
from robodx.tasks.carrier import ANY


@intervention(
    "kind of all alike",
    factor="looks",
    values={kind: {"target_kind": kind} for kind in ANY},
    entails=(
        "target_size_m", "target_turn_deg", "target_cue", "goal_*", "things_of_target_kind", "distractors",
        "requires perception/*", "requires distractors", "words", "word *",
    ),
    placebo=another_kind,
)  # fmt: skip
def kind_of_all_alike(situation: Situation, value: str, rng: np.random.Generator) -> Situation:
    """Puts things of another kind in the places of the target and of all of its kind, so that it is told as before."""
    target = target_of(situation)
    alike = [thing for thing in situation.scene if thing.kind == target.kind and not thing.is_parked]
    return rekinded(situation, alike, value)
