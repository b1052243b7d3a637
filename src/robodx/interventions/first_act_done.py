"""Begins with the first of several acts done, and asks for the rest."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from robodx.interventions.asking import Asked, asked, asking, reworded, said
from robodx.interventions.base import NotApplicable, intervention
from robodx.interventions.changing import with_things
from robodx.interventions.free_places import has_room, spots
from robodx.interventions.moving import moved_within
from robodx.language.plain_wording import understood
from robodx.scoring.conditions import Condition
from robodx.scoring.contact import TouchedOtherFirst
from robodx.scoring.from_meaning import lifted, looks
from robodx.scoring.parts import walk
from robodx.scoring.sides import HEADINGS
from robodx.sim.geometry import Pose, about
from robodx.sim.scene import Scene
from robodx.tasks.base import Situation

# Just above what it will rest on.
OVER_M = 0.001
SHIFTS_M = ((0.01, 0.0), (-0.01, 0.0), (0.0, 0.01), (0.0, -0.01))


def _placebo(situation: Situation, rng: np.random.Generator) -> Situation:
    """The thing stands elsewhere at first, but not where it is to go."""
    now = asked(situation)
    if len(now.parts) < 2:
        raise NotApplicable("there is only one act")
    if now.what.clauses[0].place is None or now.what.clauses[0].place.distance_m is not None:
        return reworded(situation, rng)
    try:
        return moved_within(situation, situation.scene.thing(now.target), "target", rng)
    except NotApplicable:
        return reworded(situation, rng)


@intervention(
    "first act done",
    factor="doing",
    values={"1 left": {"acts": "1"}, "2 left": {"acts": "2"}},
    entails=(
        "places", "act", "clauses", "grasps", "verb", "phrasing", "words", "target_*", "goal_*",
        "things_of_target_kind", "distractors", "word *", "requires *",
    ),
    placebo=_placebo,
)  # fmt: skip
def first_act_done(situation: Situation, value: str, rng: np.random.Generator) -> Situation:
    """Begins with the first of several acts done: the thing stands where it was to go, and the rest is asked for."""
    now, left = asked(situation), int(value[0])
    if len(now.parts) - 1 != left:
        raise NotApplicable(f"of {len(now.parts)} acts {len(now.parts) - 1} would be left")
    thing, there, instruction = (
        situation.scene.thing(now.target),
        place_when_done(situation, now),
        said(situation, now.parts[1:]),
    )
    for dx, dy in ((0.0, 0.0), *SHIFTS_M):
        # A little aside too: what stands on another is not to be told from it by its side.
        seen = looks(with_things(situation.scene, {thing.name: thing.posed(there.shifted(dx, dy))}))
        rest = understood(instruction.meaning, seen)
        if rest is None or rest.acts != now.what.acts[1:]:
            raise NotApplicable("the rest would mean something else then")
    scene = with_things(situation.scene, {thing.name: thing.posed(there)})
    return asking(replace(situation, scene=scene), instruction, now.stages[1:], never=_never(situation, now, scene))


def _never(situation: Situation, now: Asked, scene: Scene) -> tuple[Condition, ...]:
    """Nothing is too early any more for what is done; and what is done must stay so."""
    done = now.stages[0][-1]
    kept = [one for one in situation.never if done not in walk(one) and one != TouchedOtherFirst(now.target)]
    is_over = now.target not in {now.names(clause)[0] for clause in now.what.clauses[1:]}
    if situation.never and is_over and not scene.thing(now.target).is_fixed:
        kept.append(lifted(scene, now.target))
    return tuple(kept)


def place_when_done(situation: Situation, now: Asked) -> Pose:
    """Where the target of the first act is when that is done."""
    clause, scene = now.what.clauses[0], situation.scene
    thing, goals = scene.thing(now.target), [scene.thing(name) for name in now.names(clause)[1:]]
    place = clause.place
    if clause.action in ("touch", "press"):
        return thing.pose
    if clause.action in ("push", "roll"):
        x, y, _ = goals[0].pose.position
        return Pose((x, y, thing.pose.position[2]), thing.pose.quaternion)
    if clause.act == "put in":
        cell = goals[0].pose @ goals[0].frame("cell")
        return _resting(cell.position, thing.half_extents[2])
    if clause.act == "put on" and len(goals) == 1:
        x, y, z = goals[0].pose.position
        return _resting((x, y, z + goals[0].reach(goals[0].pose.quaternion)[2]), thing.half_extents[2])
    if clause.action == "move" and place is not None and place.distance_m is not None:
        x, y, _ = thing.pose.position
        dx, dy = next(heading for way, heading in HEADINGS.items() if way == place.relation)
        return _resting((x + place.distance_m * dx, y + place.distance_m * dy, 0.0), thing.half_extents[2])
    if clause.action in ("put", "move") and place is not None and len(goals) == 1:
        for spot in spots(thing, goals[0], place.relation):
            if has_room(scene, thing, spot, beside=(goals[0].name,)):
                return _resting((*spot, 0.0), thing.half_extents[2])
    raise NotApplicable(f"it is not known where a thing is after {clause.act}")


def _resting(at: tuple[float, float, float], half_m: float) -> Pose:
    x, y, z = at
    return Pose((x, y, z + half_m + OVER_M), about("z", 0.0))
