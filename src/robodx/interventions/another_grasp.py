"""Asks for a grasp that has nothing to do with the rest, before it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from robodx.interventions.asking import (
    Asked,
    Stages,
    any_time,
    asked,
    asking,
    named,
    not_needed,
    said,
    stages_for_act,
    without,
)
from robodx.interventions.base import NotApplicable, intervention
from robodx.interventions.changing import heard
from robodx.interventions.free_places import MOVED_M, free_ways, topples
from robodx.interventions.happening import require_still
from robodx.language.meaning import Clause, Direction, Place
from robodx.language.reference import Reference
from robodx.scoring.parts import walk
from robodx.scoring.sides import HEADINGS, Displaced
from robodx.sim.scene import Thing
from robodx.situations.attributes import grasps_of
from robodx.tasks.base import Situation

Further = Callable[[Reference, Direction], Clause]


def _moved(target: Reference, way: Direction) -> Clause:
    return Clause("move", target, Place(way, distance_m=MOVED_M))


def _touched(target: Reference, way: Direction) -> Clause:
    return Clause("touch", target)


def _placebo(situation: Situation, rng: np.random.Generator) -> Situation:
    """The same thing is touched first, not taken."""
    return _with_first(situation, rng, _touched)


@intervention(
    "another grasp first",
    factor="doing",
    values={"1": {"grasps": "1"}, "2": {"grasps": "2"}, "3": {"grasps": "3 or more"}},
    entails=(
        "places", "act", "acts", "clauses", "verb", "phrasing", "words", "target_*", "goal_*", "things_of_target_kind",
        "distractors", "word *", "requires *",
    ),
    placebo=_placebo,
)  # fmt: skip
def another_grasp_first(situation: Situation, value: str, rng: np.random.Generator) -> Situation:
    """Asks first to move another thing a little, so that the same needs one grasp more: the first, second or third."""
    count = grasps_of(heard(situation).clauses)
    if count != int(value) - 1:
        raise NotApplicable(f"with another there would be {count + 1} grasps")
    return _with_first(situation, rng, _moved)


def _with_first(situation: Situation, rng: np.random.Generator, act: Further) -> Situation:
    require_still(situation)
    now = asked(situation)
    thing, reference, way = _chosen(situation, now, rng)
    clause = act(reference, way)
    first = stages_for_act(clause, thing.name, (), situation.scene)
    stages: list[Stages] = [first, *(any_time(each) for each in now.stages)]
    never = without(situation.never, thing.name)
    return asking(situation, said(situation, (clause, *now.parts)), stages, never=never)


def _chosen(situation: Situation, now: Asked, rng: np.random.Generator) -> tuple[Thing, Reference, Direction]:
    """What is moved first and whither: a thing that nobody needs, or else the target itself."""
    others = not_needed(situation)
    things = [others[index] for index in rng.permutation(len(others))]
    if not any(isinstance(part, Displaced) for part in walk(situation.stages)):
        things.append(situation.scene.thing(now.target))
    for thing in things:
        # Nothing that would fall over when it is touched instead: the placebo takes the same.
        ways = [] if topples(thing) else free_ways(situation.scene, thing)
        for index in rng.permutation(len(ways)):
            if _is_as_good(situation, now, thing, ways[index]):
                reference = now.reference(0) if thing.name == now.target else named(situation, thing.name)
                return thing, reference, ways[index]
    raise NotApplicable("there is no other thing that could be moved aside first")


def _is_as_good(situation: Situation, now: Asked, thing: Thing, way: Direction) -> bool:
    """Whether the words mean the same after the move as before."""
    dx, dy = HEADINGS[way]
    moved = replace(thing, placement=thing.pose.shifted(MOVED_M * dx, MOVED_M * dy))
    scene = replace(situation.scene, things=tuple(moved if one.name == thing.name else one for one in situation.scene))
    try:
        return asked(replace(situation, scene=scene)).what.acts == now.what.acts
    except NotApplicable:
        return False
