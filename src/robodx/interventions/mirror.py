"""Mirrors the whole scene, left for right."""

from __future__ import annotations

import math

import numpy as np

from robodx.interventions.base import NotApplicable, intervention
from robodx.interventions.changing import needed_things
from robodx.interventions.whole_scene import Motion, moved_as_a_whole
from robodx.situations.features import features_of
from robodx.tasks.base import Situation

VALUES = {
    **{side: {"target_side": side} for side in ("left", "right")},
    **{f"goal {side}": {"goal_side": side} for side in ("left", "right")},
}
SIDES = ("target_side", "goal_side")
# Who is told of a side is told of the other.
WORDS = ("act", "verb", "word left", "word right", "requires motor/move", "requires motor/put left of",
         "requires motor/put right of")  # fmt: skip
TRIES = 32
SHIFT_M, TURN_RAD = 0.08, 0.4
LEAST_M = 0.01


def _placebo(situation: Situation, rng: np.random.Generator) -> Situation:
    """The whole scene shifted and turned, as far as nothing that is recorded changes."""
    drawn = rng.uniform(-1.0, 1.0, (TRIES, 3)) * (SHIFT_M, SHIFT_M, TURN_RAD)
    motions = [Motion(*map(float, one)) for one in drawn]
    for motion in sorted(motions, key=lambda one: -_moved_m(situation, one)):
        if _moved_m(situation, motion) < LEAST_M:
            break
        try:
            return moved_as_a_whole(situation, motion, ())
        except NotApplicable:
            continue
    raise NotApplicable("the scene cannot be shifted or turned and all else be kept")


def _moved_m(situation: Situation, motion: Motion) -> float:
    """How far what is needed moves on average."""
    poses = [situation.scene.thing(name).pose.position for name in sorted(needed_things(situation))]
    return sum(math.dist(motion.at(each), each) for each in poses) / len(poses)


@intervention(
    "mirror",
    factor="where",
    values=VALUES,
    entails=(*WORDS, "expert_*"),
    placebo=_placebo,
)
def mirror(situation: Situation, value: str, rng: np.random.Generator) -> Situation:
    """Mirrors the whole scene and says left for right, so that the target or the goal comes to lie on that side."""
    ((attribute, side),) = VALUES[value].items()
    after = moved_as_a_whole(situation, Motion(is_mirrored=True), (*SIDES, *WORDS))
    if features_of(after).get(attribute) != side:
        raise NotApplicable(f"in a mirror it does not lie on the {side}")
    return after
