"""Adds or takes away loose things that are not needed."""

from __future__ import annotations

import numpy as np

from robodx.interventions.accompanying import brought_to, numbered, one_moved, unneeded, wanted
from robodx.interventions.base import NotApplicable, intervention
from robodx.interventions.changing import target_of
from robodx.situations.features import features_of
from robodx.tasks.base import Situation
from robodx.tasks.carrier import ANY

ATTRIBUTE, LEAST = "loose_things", 1
CHOICE = "requires choice"


def _count(situation: Situation) -> int:
    return sum(not thing.is_fixed and not thing.is_parked for thing in situation.scene)


def _kinds(situation: Situation) -> list[str]:
    return [kind for kind in ANY if kind != target_of(situation).kind]


@intervention(
    "loose things",
    factor="company",
    values={
        value: {**levels, CHOICE: "no" if value == "1" else "yes"}
        for value, levels in numbered(ATTRIBUTE, LEAST).items()
    },
    entails=(
        "things", "things_of_target_kind", "distractors", "target_cue", "goal_cue", "requires perception/*",
        "requires distractors",
    ),
    placebo=one_moved,
)  # fmt: skip
def loose_things(situation: Situation, value: str, rng: np.random.Generator) -> Situation:
    """Adds loose things of other kinds than the target, or takes away what is not needed, until there are so many."""
    number = wanted(ATTRIBUTE, value, LEAST)
    after = brought_to(situation, number, _count, rng, removable=unneeded, kinds=_kinds)
    if value == "1" and CHOICE in features_of(after):
        raise NotApplicable("among what is fixed to the table there is still a choice")
    return after
