"""Two things exchange their places: into another part of the table without a place that was empty before."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from robodx.interventions.base import NotApplicable
from robodx.interventions.changing import heard
from robodx.interventions.moving import LEVELS, RegionOfTable, at_spot, check_movable, laid, places_of, spot_of
from robodx.sim.scene import Thing
from robodx.tasks.base import Situation

# Where both may come to lie otherwise: the other may be the goal, or the target.
MAY_CHANGE = (*places_of("target"), *places_of("goal"))


def swapped_into(situation: Situation, thing: Thing, region: RegionOfTable, rng: np.random.Generator) -> Situation:
    """With one that lies there; rather with one that nobody needs, and as far away or as far to the side."""
    if region.has(*spot_of(thing)):
        raise NotApplicable(f"the {thing.name} lies there already")
    there = [other for other in _others(situation, thing, rng) if region.has(*spot_of(other))]
    if not there:
        raise NotApplicable(f"nothing lies there with which the {thing.name} could exchange places")
    needed = set(heard(situation).names.values())
    there.sort(key=lambda other: (other.name in needed, _cost(thing, other)))
    return _swapped(situation, [(thing, other) for other in there], MAY_CHANGE)


def swapped_within(situation: Situation, thing: Thing, rng: np.random.Generator) -> Situation:
    """With one in the same part of the table; else two others exchange places. Nothing that is recorded changes."""
    others = _others(situation, thing, rng)
    pairs = [(thing, other) for other in others if _cost(thing, other) == 0]
    pairs += [(one, other) for place, one in enumerate(others) for other in others[:place]]
    if not pairs:
        raise NotApplicable(f"there are no two things that could exchange places and leave the {thing.name} there")
    return _swapped(situation, pairs, ())


def _others(situation: Situation, thing: Thing, rng: np.random.Generator) -> list[Thing]:
    """In any order."""
    there = [other for other in situation.scene if other.name != thing.name and not other.is_parked]
    return [there[index] for index in rng.permutation(len(there))]


def _cost(thing: Thing, other: Thing) -> int:
    """In how many of the words for places the two differ."""
    return sum(level(*spot_of(thing)) != level(*spot_of(other)) for level in LEVELS.values())


def _swapped(situation: Situation, pairs: Sequence[tuple[Thing, Thing]], may_change: tuple[str, ...]) -> Situation:
    """The first of the pairs that can; each keeps its turn."""
    reason = None
    for one, other in pairs:
        try:
            check_movable(situation, one, other)
            poses = {one.name: at_spot(one, spot_of(other)), other.name: at_spot(other, spot_of(one))}
            return laid(situation, poses, may_change)
        except NotApplicable as no:
            reason = reason or no
    assert reason is not None
    raise reason
