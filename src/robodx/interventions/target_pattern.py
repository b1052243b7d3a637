"""Gives the target stripes, or takes them away."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from robodx.interventions.base import NotApplicable, intervention
from robodx.interventions.changing import target_of
from robodx.interventions.colouring import KEPT, others_recoloured
from robodx.interventions.redescribing import NewLook
from robodx.interventions.relooking import others_than, relooked
from robodx.sim.objects import cube
from robodx.sim.scene import Thing
from robodx.tasks.base import Situation

STRIPED = {"striped": True, "plain": False}


def _other_pattern(situation: Situation, things: Sequence[Thing]) -> Situation:
    """What is striped is plain, and the other way round."""
    others, new_looks = {}, []
    for thing in things:
        if thing.kind != "cube":
            raise NotApplicable(f"there are no stripes for a {thing.kind}")
        like = cube(thing.colour, thing.half_extents[0], is_striped=not thing.is_striped)
        others[thing.name] = replace(thing, shapes=like.shapes, is_striped=like.is_striped)
        new_looks.append(NewLook(thing.name, "is_striped", thing.is_striped, like.is_striped))
    return relooked(situation, others, new_looks, keeps=KEPT)


def _placebo(situation: Situation, rng: np.random.Generator) -> Situation:
    """Stripes on another cube; where there is none, another colour for another thing."""
    target = target_of(situation)
    for other in others_than(situation, target):
        try:
            return _other_pattern(situation, [other])
        except NotApplicable:
            continue
    return others_recoloured(situation, target, rng)


@intervention(
    "target pattern",
    factor="looks",
    values={name: {"target_pattern": name} for name in STRIPED},
    entails=("word *",),
    placebo=_placebo,
)
def target_pattern(situation: Situation, value: str, rng: np.random.Generator) -> Situation:
    """Gives a cube that is the target two white stripes, or takes them away; of all cubes, where it is told by them."""
    target = target_of(situation)
    if target.is_striped == STRIPED[value]:
        raise NotApplicable(f"the {target.name} is {value} already")
    try:
        return _other_pattern(situation, [target])
    except NotApplicable:
        cubes = [thing for thing in situation.scene if thing.kind == "cube"]
        if target not in cubes:
            raise
        return _other_pattern(situation, cubes)
