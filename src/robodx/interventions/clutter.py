"""Lays things around that nobody needs."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from robodx.interventions.accompanying import one_moved, put_in
from robodx.interventions.base import NotApplicable, intervention
from robodx.interventions.distractors import other_kinds
from robodx.interventions.factors import factor
from robodx.scoring.from_meaning import lifted
from robodx.sim.scene import Thing
from robodx.streams import Streams
from robodx.tasks.base import Situation
from robodx.tasks.carrier import COLOURS, LOOSE

MOST = 7
SCALE = 1.15
# Further out than things that are handled: x away from the robot, y to its left.
WITHIN_M = ((-0.42, 0.28), (-0.48, 0.48))


def _kinds(situation: Situation) -> list[str]:
    """Where the words name none, such as nobody takes for "the small object"."""
    try:
        return other_kinds(situation)
    except NotApplicable:
        return ["peg"]


@intervention(
    "clutter",
    factor="company",
    values={str(number): {} for number in range(1, MOST + 1)},
    entails=(
        "things", "loose_things", "distractors", "target_cue", "goal_cue", "things_of_target_kind",
        "requires perception/*", "requires choice", "requires distractors",
    ),
    placebo=one_moved,
)  # fmt: skip
def clutter(situation: Situation, value: str, rng: np.random.Generator) -> Situation:
    """Lays one to seven things that nobody speaks of around, out of the way; more of them are the same and others."""
    # The same at every seed: what is varied is how much there is, and not where.
    drawn = Streams(0).rng("intervention/clutter")
    for _ in range(int(value)):
        situation = _with_another(situation, drawn)
    return situation


def _with_another(situation: Situation, rng: np.random.Generator) -> Situation:
    there = {thing.name for thing in situation.scene}
    looks = [(k, c) for k in _kinds(situation) for c in COLOURS if f"{c} {k}" not in there]

    def drawn() -> Thing:
        kind, colour = looks[int(rng.integers(len(looks)))]
        x, y = (rng.uniform(*bounds) for bounds in WITHIN_M)
        return LOOSE[kind](colour, SCALE).at(x, y, yaw_rad=rng.uniform(-math.pi, math.pi))

    after = put_in(situation, drawn)
    name = after.scene.things[-1].name
    return replace(after, never=(*situation.never, lifted(after.scene, name))) if situation.never else after


factor("clutter", "clutter")
