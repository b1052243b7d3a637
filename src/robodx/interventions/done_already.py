"""Begins with what is asked for done already."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from robodx.interventions.asking import asked
from robodx.interventions.base import NotApplicable, intervention
from robodx.interventions.changing import target_of, with_things
from robodx.interventions.first_act_done import place_when_done
from robodx.interventions.moving import check_movable, moved_within
from robodx.language.plain_wording import understood
from robodx.scoring.conditions import Condition
from robodx.scoring.from_meaning import looks
from robodx.tasks.base import Situation

# So long it must stay so: longer than to do it again would take to begin.
KEPT_S = 6.0
# What goes into a bin lies higher there than its cell, and falls the rest.
OVER_FLOOR_M = 0.008
# What is as long as wide, but for this, is as near from all sides.
ROUNDISH_M = 0.01
ACTS = ("put in", "put on", "move near")


def _placebo(situation: Situation, rng: np.random.Generator) -> Situation:
    return moved_within(situation, target_of(situation), "target", rng)


@intervention(
    "done already",
    factor="doing",
    values={"yes": {}},
    entails=("target_*", "goal_*", "requires *", "expert_*"),
    placebo=_placebo,
)
def done_already(situation: Situation, value: str, rng: np.random.Generator) -> Situation:
    """Lays the target where it is to go, and asks for it all the same: it must stay there for 6 seconds."""
    now = asked(situation)
    if len(now.parts) > 1 or now.what.clauses[0].act not in ACTS or situation.events:
        raise NotApplicable(f"only what is asked to {', '.join(ACTS)} can be there from the start")
    thing = situation.scene.thing(now.target)
    x, y, _ = thing.half_extents
    if now.what.clauses[0].act == "move near" and abs(x - y) > ROUNDISH_M:
        raise NotApplicable(f"the {thing.name} is long: how near it lies depends on how it is turned")
    check_movable(situation, thing)
    there = place_when_done(situation, now).shifted(dz=OVER_FLOOR_M if now.what.clauses[0].act == "put in" else 0.0)
    scene = with_things(situation.scene, {thing.name: thing.posed(there)})
    rest = understood(situation.instruction.meaning, looks(scene))
    if rest is None or rest.acts != now.what.acts:
        raise NotApplicable("the words would mean other things then")
    done = situation.stages[-1]
    if not isinstance(done, Condition):
        raise NotApplicable("it may be done in several ways")
    return replace(situation, scene=scene, stages=(done.held_for(KEPT_S),))
