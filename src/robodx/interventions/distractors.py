"""Adds or takes away things of kinds that the words do not name."""

from __future__ import annotations

import numpy as np

from robodx.interventions.accompanying import brought_to, numbered, one_moved, unneeded, wanted
from robodx.interventions.base import NotApplicable, intervention
from robodx.interventions.changing import target_of
from robodx.sim.scene import Thing
from robodx.situations.requirements import distractors, kinds_spoken_of
from robodx.tasks.base import Situation
from robodx.tasks.carrier import ANY

ATTRIBUTE, LEAST = "distractors", 0


def _there(situation: Situation) -> list[Thing]:
    return distractors([situation.instruction.meaning], situation.scene)


def _removable(situation: Situation) -> list[Thing]:
    names = {thing.name for thing in _there(situation)}
    return [thing for thing in unneeded(situation) if thing.name in names]


def other_kinds(situation: Situation) -> list[str]:
    """Of which the words do not speak."""
    spoken = kinds_spoken_of([situation.instruction.meaning])
    if None in spoken:
        raise NotApplicable("the words name no kind, so that nothing is of another")
    return [kind for kind in ANY if kind not in spoken and kind != target_of(situation).kind]


@intervention(
    "distractors",
    factor="company",
    values={
        value: {**levels, "requires distractors": "no" if value == "0" else "yes"}
        for value, levels in numbered(ATTRIBUTE, LEAST).items()
    },
    entails=("things", "loose_things", "target_cue", "goal_cue", "requires perception/*", "requires choice"),
    placebo=one_moved,
)
def distractors_(situation: Situation, value: str, rng: np.random.Generator) -> Situation:
    """Adds things of kinds that the words do not name, or takes such away, until there are so many."""
    return brought_to(
        situation,
        wanted(ATTRIBUTE, value, LEAST),
        lambda here: len(_there(here)),
        rng,
        removable=_removable,
        kinds=other_kinds,
    )
