"""Asks for another act on the same target."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from robodx.interventions.asking import Asked, Part, asked, asking, named, names_in, reworded, said, stages_for_act
from robodx.interventions.base import NotApplicable, intervention
from robodx.interventions.free_places import FLAT_BELOW, MOVED_M, has_room, is_free_standing, spots
from robodx.interventions.happening import require_still
from robodx.language.meaning import DIRECTIONS, Clause, If, Place, Relation
from robodx.language.reference import Reference
from robodx.scoring.conditions import Condition
from robodx.scoring.contact import TouchedFirst, TouchedOtherFirst
from robodx.scoring.sides import HEADINGS
from robodx.sim.scene import Scene, Thing
from robodx.tasks.base import Situation

FLAT_ON_TOP = ("cube", "cylinder", "T-block", "peg", "crate")
# What is put right beside another is squared up with it.
AS_WIDE_AS_DEEP = ("cube", "cylinder")
CONTAINERS = ("bin", "bowl", "box")
FITS_SHARE = 0.9
# How far from done it must be at first, between the two.
NOT_YET_M = 0.07
ACTS: dict[str, tuple[str, Relation | None]] = {
    "pick": ("pick", None),
    "touch": ("touch", None),
    "put in": ("put", "in"),
    "put on": ("put", "on"),
    "put beside": ("put", "beside"),
    "put left of": ("put", "left of"),
    "put right of": ("put", "right of"),
    "put in front of": ("put", "in front of"),
    "put behind": ("put", "behind"),
    "move near": ("move", "near"),
    "move left": ("move", "left"),
    "move right": ("move", "right"),
    "move forward": ("move", "forward"),
    "move back": ("move", "back"),
}


@intervention(
    "act",
    factor="doing",
    values={act: {"act": act} for act in ACTS},
    entails=(
        "places", "grasps", "goal_*", "verb", "phrasing", "words", "word *", "distractors", "requires motor/*",
        "requires choice", "requires distractors", "requires perception/*", "requires language/*",
    ),
    placebo=reworded,
)  # fmt: skip
def act(situation: Situation, value: str, rng: np.random.Generator) -> Situation:
    """Asks for another act on the same target in the same scene, as far as there is something to do it with."""
    now = asked(situation)
    if len(now.parts) > 1:
        raise NotApplicable("there are several acts")
    (clause,), (action, relation), scene = now.what.clauses, ACTS[value], situation.scene
    if clause.act == value:
        raise NotApplicable(f"that is what is asked for already: {value}")
    if clause.once_lit is not None:
        raise NotApplicable("it waits for a signal")
    require_still(situation)
    target = scene.thing(now.target)
    if not is_free_standing(scene, target):
        raise NotApplicable(f"the {target.name} does not stand free on the table")
    if relation is None:
        return _asking(situation, now, action, None, ())
    if relation in DIRECTIONS:
        if not _can_be_moved(scene, target, relation):
            raise NotApplicable(f"there is no room for the {target.name} there")
        return _asking(situation, now, action, Place(relation, distance_m=MOVED_M, among=DIRECTIONS), ())
    if isinstance(now.parts[0], If):
        raise NotApplicable("what it is related to might be what is handled if the condition were otherwise")
    goals = _goals(situation, now, relation, rng)
    for goal, reference in goals:
        return _asking(situation, now, action, Place(relation, (reference,)), (goal.name,))
    raise NotApplicable(f"there is nothing here to {value.partition(' ')[0]} the {target.name} {relation}")


def _asking(situation: Situation, now: Asked, action: str, place: Place | None, goals: tuple[str, ...]) -> Situation:
    (part,), name = now.parts, now.target
    clause = Clause(action, now.reference(0), place)
    # What must not happen with the target was said of the old act.
    never = [one for one in situation.never if name not in names_in(one) and not names_in(one) & set(goals)]
    never += [one for one in situation.never if isinstance(one, TouchedOtherFirst)]
    if action == "touch":
        stages: tuple[Condition, ...] = (TouchedFirst(name),)
        never = [*(one for one in never if not isinstance(one, TouchedOtherFirst)), TouchedOtherFirst(name)]
    else:
        stages = tuple(
            one for one in stages_for_act(clause, name, goals, situation.scene) if isinstance(one, Condition)
        )
    return asking(situation, said(situation, (_with_act(part, clause),)), (stages,), never=tuple(never))


def _with_act(part: Part, act: Clause) -> Part:
    """In both branches of a choice, each with its own target."""
    if isinstance(part, If):
        then, otherwise = (replace(each, action=act.action, place=act.place) for each in (part.then, part.otherwise))
        return replace(part, then=then, otherwise=otherwise)
    return replace(part, action=act.action, place=act.place)


def _can_be_moved(scene: Scene, target: Thing, way: Relation) -> bool:
    x, y, _ = target.pose.position
    dx, dy = next(heading for direction, heading in HEADINGS.items() if direction == way)
    return target.kind in FLAT_BELOW and has_room(scene, target, (x + MOVED_M * dx, y + MOVED_M * dy))


def _goals(
    situation: Situation, now: Asked, relation: Relation, rng: np.random.Generator
) -> Iterator[tuple[Thing, Reference]]:
    """Things to which it can be related so: first the goal that it has, then any."""
    scene, target = situation.scene, situation.scene.thing(now.target)
    place = now.what.clauses[0].place
    known = {now.what.names[reference]: reference for reference in (place.of if place else ())}
    others = [thing for thing in scene if thing.name != target.name and not thing.is_parked and thing.name not in known]
    shuffled = [others[index] for index in rng.permutation(len(others))]
    for thing in (*(scene.thing(name) for name in known), *shuffled):
        if _fits(scene, target, thing, relation):
            yield thing, known.get(thing.name) or named(situation, thing.name)


def _fits(scene: Scene, target: Thing, goal: Thing, relation: Relation) -> bool:
    is_standing = goal.is_fixed or is_free_standing(scene, goal)
    if relation == "in":
        cavity = goal.cavity_half
        return bool(
            cavity and goal.kind in CONTAINERS and target.kind != "peg"
            and max(target.half_extents[:2]) < FITS_SHARE * min(cavity)
        )  # fmt: skip
    if target.kind not in FLAT_BELOW or not is_standing:
        return False
    if relation == "on":
        return goal.kind in FLAT_ON_TOP
    if relation == "beside" and not (target.kind in AS_WIDE_AS_DEEP and goal.kind in (*AS_WIDE_AS_DEEP, "bin", "box")):
        return False
    apart_m = math.dist(target.pose.position[:2], goal.pose.position[:2]) - target.radius_m - goal.radius_m
    return apart_m > NOT_YET_M and all(
        has_room(scene, target, spot, beside=(goal.name,)) for spot in spots(target, goal, relation)
    )
