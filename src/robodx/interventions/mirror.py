"""Mirrors the whole scene, left for right."""

from __future__ import annotations

import math
from contextlib import suppress

import numpy as np

from robodx.interventions.base import NotApplicable, intervention
from robodx.interventions.changing import goal_of, needed_things, target_of
from robodx.interventions.moving import LEVELS, spot_of, turn_deg
from robodx.interventions.whole_scene import Motion, moved_as_a_whole
from robodx.records.features import level
from robodx.sim.scene import Thing
from robodx.situations.attributes import side_of
from robodx.tasks.base import Situation

ANY = "any"
VALUES: dict[str, dict[str, str]] = {
    **{side: {"target_side": side} for side in ("left", "right")},
    **{f"goal {side}": {"goal_side": side} for side in ("left", "right")},
    # Wherever things come to lie.
    ANY: {},
}
SIDES = ("target_side", "goal_side")
# Who is told of a side is told of the other.
WORDS = ("act", "verb", "word left", "word right", "requires motor/move", "requires motor/put left of",
         "requires motor/put right of")  # fmt: skip
TURN = "target_turn_deg"
TRIES = 32
SHIFT_M, TURN_RAD = 0.08, 0.4
LEAST_M = 0.01


def _placebo(situation: Situation, rng: np.random.Generator) -> Situation:
    """The whole scene shifted and turned, as far as nothing that is recorded changes."""
    drawn = rng.uniform(-1.0, 1.0, (TRIES, 3)) * (SHIFT_M, SHIFT_M, TURN_RAD)
    spots = [spot_of(situation.scene.thing(name)) for name in sorted(needed_things(situation))]
    things = [target_of(situation)]
    with suppress(NotApplicable):
        things.append(goal_of(situation))
    motions = [motion for motion in (Motion(*one) for one in drawn.tolist()) if _keeps(things, motion)]
    far_m = {motion: sum(math.dist(motion.at(spot), spot) for spot in spots) / len(spots) for motion in motions}
    for motion in sorted(motions, key=lambda motion: -far_m[motion]):
        if far_m[motion] < LEAST_M:
            break
        try:
            return moved_as_a_whole(situation, motion, ())
        except NotApplicable:
            continue
    raise NotApplicable("the scene cannot be shifted or turned and all else be kept")


def _keeps(things: list[Thing], motion: Motion) -> bool:
    """What is soonest told: whether they stay in their parts of the table, and the first is turned about as it was."""
    ways = [(thing.pose.position[:2], motion.at(thing.pose.position)[:2]) for thing in things]
    turns = [turn_deg(thing) for thing in (things[0], things[0].posed(motion.pose(things[0].pose)))]
    return len({level(TURN, abs(turn)) for turn in turns if turn is not None}) <= 1 and all(
        told(*before) == told(*after) for before, after in ways for told in LEVELS.values()
    )


@intervention(
    "mirror",
    factor="where",
    values=VALUES,
    entails=(*WORDS, "expert_*"),
    placebo=_placebo,
)
def mirror(situation: Situation, value: str, rng: np.random.Generator) -> Situation:
    """Mirrors the whole scene and says left for right, so that the target or the goal comes to lie on that side."""
    if value != ANY:
        _check_side(situation, value)
    return moved_as_a_whole(situation, Motion(is_mirrored=True), (*SIDES, *WORDS))


def _check_side(situation: Situation, value: str) -> None:
    thing = goal_of(situation) if value.startswith("goal") else target_of(situation)
    ((_, side),) = VALUES[value].items()
    if side_of(-thing.pose.position[1]) != side:
        raise NotApplicable(f"in a mirror the {thing.name} does not lie on the {side}")
