"""Asks for the same when a lamp lights up, or at once."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from robodx.interventions.accompanying import put_in
from robodx.interventions.asking import USUAL_LIMIT_S
from robodx.interventions.base import NotApplicable, intervention
from robodx.interventions.changing import heard, target_of
from robodx.interventions.cues import IN_CUES_OF_ALL
from robodx.interventions.happening import later
from robodx.interventions.wording import manner_of
from robodx.language.meaning import Clause, Meaning
from robodx.language.reference import Reference
from robodx.records.features import NO, REQUIRES, WORD, YES
from robodx.scoring.conditions import After, Condition
from robodx.scoring.contact import Lit, Touched
from robodx.scoring.events import Event, SwitchLamp, at
from robodx.scoring.from_meaning import stages_for
from robodx.scoring.parts import walk
from robodx.sim.objects import lamp
from robodx.sim.scene import Thing
from robodx.situations.attributes import LATE_S
from robodx.tasks.base import Situation

WORDS, CHANGE = f"{REQUIRES}language/signal", f"{REQUIRES}change/signal"
KIND = "lamp"
# When it lights up, and by how much sooner it does in the placebo.
LIGHTS_S = (1.5, 4.0)
SOONER_S = (0.3, 0.5)
# A lamp on a stand is put beyond most things, where the hand does not pass.
LAMP_X_M, LAMP_Y_M = (0.08, 0.13), (-0.26, 0.26)


def _placebo(situation: Situation, rng: np.random.Generator) -> Situation:
    """The lamp lights up a little sooner or later; or one lights up that nobody speaks of."""
    if not _is_awaited(situation):
        return _lighting(situation, rng)[0]
    times_s = [e.when.seconds for e in situation.events if _lights(e) and isinstance(e.when, After)]
    if not times_s:
        raise NotApplicable("it is not told when the lamp lights up")
    sooner_s = rng.uniform(*SOONER_S)
    by_s = -sooner_s if min(times_s) - sooner_s >= LATE_S else sooner_s
    events = tuple(later((event,), by_s)[0] if _lights(event) else event for event in situation.events)
    return replace(situation, events=events)


@intervention(
    "signal",
    factor="time",
    values={level: {WORDS: level, CHANGE: level, f"{WORD}{KIND}": level} for level in (NO, YES)},
    entails=(*IN_CUES_OF_ALL, "things", "first_event"),
    placebo=_placebo,
)
def signal(situation: Situation, value: str, rng: np.random.Generator) -> Situation:
    """Asks for the same when a lamp lights up, after 1.5 to 4 s, and not before; or at once, whatever the lamp does."""
    if _is_awaited(situation) == (value == YES):
        raise NotApplicable("the words ask for it when a lamp lights up" if value == YES else "no signal is awaited")
    return _awaiting(situation, rng) if value == YES else _at_once(situation)


def _is_awaited(situation: Situation) -> bool:
    return any(clause.once_lit is not None for clause in heard(situation).clauses)


def _lights(event: Event) -> bool:
    return isinstance(event.effect, SwitchLamp)


def _at_once(situation: Situation) -> Situation:
    """What counts is what follows from the words, where it counted when the lamp was lit."""
    parts = tuple(
        replace(part, once_lit=None) if isinstance(part, Clause) else part
        for part in situation.instruction.meaning.clauses
    )
    said = manner_of(situation.instruction).say(Meaning(parts))
    stages = situation.stages
    if any(isinstance(one, Lit) for one in walk(stages)):
        stages = stages_for(said.meaning, situation.scene)
    never = tuple(each for each in situation.never if not any(isinstance(one, Lit) for one in walk(each)))
    return replace(situation, instruction=said, stages=stages, never=never)


def _awaiting(situation: Situation, rng: np.random.Generator) -> Situation:
    first, *more = situation.instruction.meaning.clauses
    if not isinstance(first, Clause) or first.plain.is_negated:
        raise NotApplicable("it would not be clear for what to wait")
    after, shining = _lighting(situation, rng)
    own = shining.name == target_of(situation).name
    awaited = replace(first, once_lit=first.target if own else Reference(KIND))
    said = manner_of(situation.instruction).say(Meaning((awaited, *more)))
    too_early = _begun(after, first) & ~Lit(f"{shining.name}/{KIND}")
    return replace(after, instruction=said, never=(*after.never, too_early))


def _begun(situation: Situation, clause: Clause) -> Condition:
    """To rest a finger on a switch is not to press it; all else is begun by touching it."""
    if clause.action == "press":
        return stages_for(Meaning((clause,)), situation.scene)[-1]
    return Touched(target_of(situation).name)


def _lighting(situation: Situation, rng: np.random.Generator) -> tuple[Situation, Thing]:
    """With a lamp that lights up by itself: that of the target, another that is there, or one that is put in."""
    if not all(map(_lights, situation.events)):
        raise NotApplicable("something else happens by itself")
    lights_s, target = rng.uniform(*LIGHTS_S), target_of(situation)
    there = [thing for thing in situation.scene if any(shape.name == KIND for shape in thing.shapes)]
    if target in there:
        shining = target
    elif there:
        shining = there[0]
    else:
        situation = put_in(situation, lambda: lamp().at(rng.uniform(*LAMP_X_M), rng.uniform(*LAMP_Y_M)))
        shining = situation.scene.things[-1]
    lights = SwitchLamp(f"{shining.name}/{KIND}")
    others = (e for e in situation.events if isinstance(e.effect, SwitchLamp) and e.effect.lamp != lights.lamp)
    time_limit_s = (situation.time_limit_s or USUAL_LIMIT_S) + lights_s
    return replace(situation, events=(*others, at(lights_s, lights)), time_limit_s=time_limit_s), shining
