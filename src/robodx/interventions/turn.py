"""Turns the target about its vertical axis."""

from __future__ import annotations

import math

import numpy as np

from robodx.experts.grasps import nearest_turn
from robodx.interventions.base import NotApplicable, intervention
from robodx.interventions.changing import target_of
from robodx.interventions.moving import check_movable, laid, turn_deg
from robodx.records.features import BOUNDS, level
from robodx.sim.geometry import Pose, about, multiply
from robodx.sim.scene import Thing
from robodx.tasks.base import Situation

TURN = "target_turn_deg"
# Of its sides to the table's edges, within each band and clear of its bounds.
BANDS_DEG = {
    level(TURN, (low + high) / 2): (low + 1.0, high - 1.0)
    for low, high in zip((0.0, *BOUNDS[TURN]), (*BOUNDS[TURN], 45.0), strict=True)
}
TRIES = 24
LEAST_DEG = 5.0
QUARTER_DEG = 90.0


def _turned(situation: Situation, thing: Thing, by_deg: float) -> Situation:
    quaternion = multiply(about("z", math.radians(by_deg)), thing.pose.quaternion)
    return laid(situation, {thing.name: Pose(thing.pose.position, quaternion)}, (TURN,))


def _placebo(situation: Situation, rng: np.random.Generator) -> Situation:
    """As far as it can be within its band, either way."""
    thing, now_deg = _target(situation)
    low, high = BANDS_DEG[level(TURN, abs(now_deg))]
    turns = [way * angle - now_deg for angle in rng.uniform(low, high, TRIES) for way in (1, -1)]
    # A quarter turn further it looks the same.
    seen = {_folded(turn) for turn in turns}
    for by_deg in sorted(seen, key=abs, reverse=True):
        if abs(by_deg) >= LEAST_DEG:
            try:
                return _turned(situation, thing, by_deg)
            except NotApplicable:
                continue
    raise NotApplicable(f"the {thing.name} cannot be turned so that it lies as squarely as it does")


def _folded(angle_deg: float) -> float:
    return math.degrees(nearest_turn(math.radians(angle_deg), math.radians(QUARTER_DEG)))


def _target(situation: Situation) -> tuple[Thing, float]:
    """And how far it is turned from the table's edges, signed."""
    thing = target_of(situation)
    now_deg = turn_deg(thing)
    if now_deg is None:
        raise NotApplicable(f"the {thing.name} is round")
    check_movable(situation, thing)
    return thing, now_deg


@intervention(
    "turn",
    factor="where",
    values={band: {TURN: band} for band in BANDS_DEG},
    entails=("expert_*",),
    placebo=_placebo,
)
def turn(situation: Situation, value: str, rng: np.random.Generator) -> Situation:
    """Turns the target where it lies, so that its sides are so many degrees off the table's edges."""
    thing, now_deg = _target(situation)
    if level(TURN, abs(now_deg)) == value:
        raise NotApplicable(f"the {thing.name} is turned so already")
    to_deg = rng.uniform(*BANDS_DEG[value])
    # Further the way that it is turned already; the other way where that is no good.
    for way in (1, -1):
        try:
            return _turned(situation, thing, math.copysign(to_deg, way * now_deg) - now_deg)
        except NotApplicable as no:
            reason = no
    raise reason
