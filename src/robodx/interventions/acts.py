"""Asks for fewer of several acts, or for further ones."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from robodx.interventions.asking import (
    Asked,
    asked,
    asking,
    frees_hand,
    kept_apart,
    named,
    not_needed,
    reworded,
    said,
    said_after,
    stages_for_act,
)
from robodx.interventions.base import NotApplicable, intervention
from robodx.interventions.free_places import is_free_standing, topples
from robodx.language.meaning import Clause
from robodx.scoring.contact import Touched
from robodx.scoring.events import RunBelt
from robodx.scoring.parts import walk
from robodx.sim.scene import Thing
from robodx.tasks.base import Situation

MANY = 3
# What comes to lie safely when it is let go of in the air.
DROPPED_SAFELY = ("cube", "cylinder", "triangular block", "T-block", "peg", "hexagonal block", "cross", "half-moon")
# After these the thing stands or lies so that it may be touched from above.
TOUCHED_AFTER = ("put", "push", "move")
# Nearer to the robot, a hand that points down meets its own arm.
TOO_NEAR_M = -0.21
ORDER = "requires language/order"


@intervention(
    "acts",
    factor="doing",
    values={
        "1": {"acts": "1", ORDER: "no"},
        "2": {"acts": "2", ORDER: "yes"},
        "3": {"acts": "3 or more", ORDER: "yes"},
    },
    entails=(
        "places", "clauses", "grasps", "words", "word *", "verb", "phrasing", "distractors", "requires motor/*",
        "requires perception/*", "requires language/*", "requires choice", "requires distractors",
    ),
    placebo=reworded,
)  # fmt: skip
def acts(situation: Situation, value: str, rng: np.random.Generator) -> Situation:
    """Asks for the first one, two or three of several acts, or for further ones: to let go, to touch another thing."""
    now, number = asked(situation), int(value)
    if len(now.parts) == number or len(now.parts) > number == MANY:
        raise NotApplicable(f"there are {len(now.parts)} acts already")
    if len(now.parts) > number:
        handled = {now.names(clause)[0] for clause in now.what.clauses[:number]}
        return asking(
            situation,
            said(situation, now.parts[:number]),
            now.stages[:number],
            never=kept_apart(situation, now, handled),
        )
    further: list[tuple[Clause, str]] = []
    for one in _further(situation, now, rng):
        further.append(one)
        if len(now.parts) + len(further) == number:
            break
    else:
        raise NotApplicable("there is nothing further to ask for here")
    stages = [stages_for_act(clause, name, (), situation.scene) for clause, name in further]
    words = said_after(situation, [clause for clause, _ in further])
    return asking(situation, words, (*now.stages, *stages), never=situation.never)


def _further(situation: Situation, now: Asked, rng: np.random.Generator) -> Iterator[tuple[Clause, str]]:
    """Acts that need no further grasp: to let go of what is held, then to touch what was not handled, then what was."""
    last = now.what.clauses[-1]
    name = now.names(last)[0]
    if not frees_hand(last):
        if situation.scene.thing(name).kind not in DROPPED_SAFELY:
            raise NotApplicable(f"the {name} would roll away when it is let go of")
        if any(isinstance(event.effect, RunBelt) for event in situation.events):
            raise NotApplicable(f"the {name} would not come to rest on what moves")
        yield Clause("release", now.reference(-1)), name
    others = [thing for thing in not_needed(situation) if _may_be_touched(situation, thing)]
    for index in rng.permutation(len(others)):
        yield Clause("touch", named(situation, others[index].name)), others[index].name
    if last.action in TOUCHED_AFTER:
        yield Clause("touch", now.reference(-1)), name


def _may_be_touched(situation: Situation, thing: Thing) -> bool:
    is_forbidden = any(isinstance(part, Touched) and part.thing == thing.name for part in walk(situation.never))
    if is_forbidden or topples(thing):
        return False
    return is_free_standing(situation.scene, thing) and thing.pose.position[0] > TOO_NEAR_M
