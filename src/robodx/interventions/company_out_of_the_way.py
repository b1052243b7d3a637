"""Adds things of kinds that the words do not name, far from the target and out of the way."""

from __future__ import annotations

import math

import numpy as np

from robodx.interventions.accompanying import one_moved, with_another
from robodx.interventions.base import NotApplicable, intervention
from robodx.interventions.changing import target_of
from robodx.interventions.distractors import other_kinds
from robodx.tasks.base import Situation

MOST = 4
# Further draws of what is added and where: who knows where a policy's hand went chooses one that is off its path.
DRAWS = "abcdef"
# From the middle of the target to the middle of what is added.
APART_M = 0.1
TRIES = 12


@intervention(
    "things out of the way",
    factor="company",
    values={f"{number}{draw}": {} for number in range(1, MOST + 1) for draw in DRAWS},
    entails=(
        "things", "loose_things", "distractors", "target_cue", "goal_cue", "requires perception/*", "requires choice",
        "requires distractors",
    ),
    placebo=one_moved,
)  # fmt: skip
def things_out_of_the_way(situation: Situation, value: str, rng: np.random.Generator) -> Situation:
    """Adds one to four things that nobody speaks of, 10 cm or more from the target; a letter for each of six draws."""
    number, draw = int(value[:-1]), DRAWS.index(value[-1])
    rng = rng.spawn(len(DRAWS))[draw]
    target, kinds = target_of(situation).pose.position[:2], other_kinds(situation)
    for _ in range(number):
        for _ in range(TRIES):
            after = with_another(situation, kinds, rng)
            if math.dist(after.scene.things[-1].pose.position[:2], target) >= APART_M:
                situation = after
                break
        else:
            raise NotApplicable("there is no place for another thing far from the target")
    return situation
