"""Lets things stand still that would move, or lets the target move."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from robodx.interventions.asking import names_in
from robodx.interventions.base import NotApplicable, intervention
from robodx.interventions.changing import changed, heard, renamed, target_of, with_things
from robodx.interventions.free_places import has_room, is_free_standing, topples
from robodx.interventions.happening import a_little_later, is_motion, require_still
from robodx.interventions.moving import TRIES, moved_within
from robodx.scoring.conditions import After
from robodx.scoring.contact import Grasped
from robodx.scoring.events import Event, Move, Push, Roll, SwapColours, at
from robodx.scoring.parts import walk
from robodx.scoring.relations import HandAt, HandNear
from robodx.scoring.sides import Displaced
from robodx.sim.scene import Thing
from robodx.tasks.base import Situation

# While a hand that set out at once is on its way.
BEGINS_S = 0.5
BY_M = (0.04, 0.07)
# A thing that slides is pushed at every step: each push brings it a few millimetres, and topples nothing low.
PUSH_M_S = 0.3
PUSH_EVERY_S = 0.05
PUSH_WAY_M = 0.0045
ROLL_M_S = 0.05
ROLL_WAY_M = 0.2
# Flat things with corners, which the hand does not find again while they turn.
TURNS_ASIDE = ("hexagonal block", "cross", "half-moon")
# Fingers reach 65 mm from the tool, and a thing 35 mm from its centre: nearer to it, it would move into them.
HAND_M = 0.1


def _placebo(situation: Situation, rng: np.random.Generator) -> Situation:
    """What moves does so a little later; what stands still lies as far away from the start."""
    if any(map(is_motion, situation.events)):
        return a_little_later(situation)
    target = target_of(situation)
    _require_free(situation, target)
    return moved_within(situation, target, "target", rng)


@intervention(
    "motion",
    factor="time",
    values={
        "still": {"requires change/moving things": "no", "requires change/sudden": "no"},
        "slides": {"requires change/moving things": "yes"},
        "jumps": {"requires change/sudden": "yes"},
    },
    entails=("first_event",),
    placebo=_placebo,
)
def motion(situation: Situation, value: str, rng: np.random.Generator) -> Situation:
    """Still: nothing moves or changes by itself. Slides, jumps: the target moves some centimetres after 0.5 s."""
    if value == "still":
        return _still(situation)
    require_still(situation)
    target = target_of(situation)
    if not is_free_standing(situation.scene, target):
        raise NotApplicable(f"the {target.name} does not stand free on the table")
    if value == "slides" and (target.kind in TURNS_ASIDE or topples(target)):
        raise NotApplicable(f"a {target.kind} that is pushed topples, or turns out of the hand's way")
    _require_free(situation, target)
    is_rolling = target.kind == "sphere" and value == "slides"
    dx, dy = _way(situation, target, (ROLL_WAY_M, ROLL_WAY_M) if is_rolling else BY_M, rng)
    length_m = math.hypot(dx, dy)
    if value == "jumps":
        there = target.pose.shifted(dx, dy).position
        is_too_late = Grasped(target.name) | HandAt(there, HAND_M)
        happening = [Event(After(BEGINS_S), Move(target.name, (dx, dy, 0.0)), unless=is_too_late)]
    elif is_rolling:
        happening = [at(BEGINS_S, Roll(target.name, (ROLL_M_S * dx / length_m, ROLL_M_S * dy / length_m)))]
    else:
        push = Push(target.name, (PUSH_M_S * dx / length_m, PUSH_M_S * dy / length_m, 0.0))
        pushes = round(length_m / PUSH_WAY_M)
        # Not out of a hand that is about to close.
        is_too_late = HandNear(target.name, HAND_M) | Grasped(target.name)
        happening = [Event(After(BEGINS_S + PUSH_EVERY_S * index), push, unless=is_too_late) for index in range(pushes)]
    return replace(situation, events=(*situation.events, *happening))


def _require_free(situation: Situation, target: Thing) -> None:
    if any(isinstance(part, Displaced) for part in walk(situation.stages)):
        raise NotApplicable(f"it matters where the {target.name} was at first")
    if heard(situation).clauses[0].action == "stand":
        raise NotApplicable(f"there may be no room for the hand to stand the {target.name} up elsewhere")


def _still(situation: Situation) -> Situation:
    moving = [event for event in situation.events if is_motion(event)]
    if not moving:
        raise NotApplicable("nothing moves or changes by itself")
    after = replace(situation, events=tuple(event for event in situation.events if event not in moving))
    for event in moving:
        if isinstance(event.effect, SwapColours):
            # Then what is meant stays what it is.
            swapped = {event.effect.first: event.effect.second, event.effect.second: event.effect.first}
            after = replace(after, stages=renamed(after.stages, swapped), never=renamed(after.never, swapped))
    what = heard(after)
    if what.names[what.clauses[0].target] not in names_in(after.stages):
        raise NotApplicable("without what happens something else would be meant")
    return after


def _way(
    situation: Situation, target: Thing, by_m: tuple[float, float], rng: np.random.Generator
) -> tuple[float, float]:
    """Whither it moves: over free table, to where the words mean it as well."""
    for _ in range(TRIES):
        angle, length = rng.uniform(-math.pi, math.pi), rng.uniform(*by_m)
        dx, dy = length * math.cos(angle), length * math.sin(angle)
        x, y, _ = target.pose.position
        if not all(has_room(situation.scene, target, (x + share * dx, y + share * dy)) for share in (0.5, 1.0)):
            continue
        moved = target.posed(target.pose.shifted(dx, dy))
        try:
            after = changed(situation, scene=with_things(situation.scene, {target.name: moved}))
        except NotApplicable:
            continue
        if after.stages == situation.stages and heard(after).acts == heard(situation).acts:
            return dx, dy
    raise NotApplicable(f"there is no way for the {target.name} to move that leaves the rest as it is")
