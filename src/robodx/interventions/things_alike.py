"""Adds or takes away things of the target's kind."""

from __future__ import annotations

import numpy as np

from robodx.interventions.accompanying import brought_to, numbered, one_moved, unneeded, wanted
from robodx.interventions.base import NotApplicable, intervention
from robodx.interventions.changing import target_of
from robodx.sim.scene import Thing
from robodx.tasks.base import Situation
from robodx.tasks.carrier import ANY

ATTRIBUTE, LEAST = "things_of_target_kind", 1


def _count(situation: Situation) -> int:
    kind = target_of(situation).kind
    return sum(thing.kind == kind and not thing.is_parked for thing in situation.scene)


def _removable(situation: Situation) -> list[Thing]:
    kind = target_of(situation).kind
    return [thing for thing in unneeded(situation) if thing.kind == kind]


def _kinds(situation: Situation) -> list[str]:
    kind = target_of(situation).kind
    if kind not in ANY:
        raise NotApplicable(f"there is one {kind} only")
    return [kind]


@intervention(
    "things alike",
    factor="company",
    values=numbered(ATTRIBUTE, LEAST),
    entails=("things", "loose_things", "target_cue", "goal_cue", "requires perception/*", "requires choice"),
    placebo=one_moved,
)
def things_alike(situation: Situation, value: str, rng: np.random.Generator) -> Situation:
    """Adds things of the target's kind that the words do not mean, or takes such away, until there are so many."""
    return brought_to(situation, wanted(ATTRIBUTE, value, LEAST), _count, rng, removable=_removable, kinds=_kinds)
