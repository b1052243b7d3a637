"""Changing a situation so that it stays a whole: what counts follows what is meant, and things keep their distance."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass, replace
from typing import TypeVar

from robodx.interventions.base import NotApplicable
from robodx.language.meaning import Clause, Instruction
from robodx.language.plain_wording import Understood, understood
from robodx.scoring.conditions import Condition
from robodx.scoring.events import Event, NewInstruction
from robodx.scoring.from_meaning import lifted, looks, stages_for
from robodx.scoring.parts import walk
from robodx.sim.scene import Scene, Thing
from robodx.tasks.base import Situation

T = TypeVar("T")

# Room that a thing that was moved has on all sides, as open fingers need it.
GAP_M = 0.025
# Where everything on the table can be reached, grasped and put down: x away from the robot, y to its left.
REACH_X_M = (-0.25, 0.15)
REACH_Y_M = (-0.28, 0.28)


def heard(situation: Situation) -> Understood:
    """What is asked for at first, and of which things."""
    what = understood(situation.instruction.meaning, looks(situation.scene))
    if what is None:
        raise NotApplicable("the words do not tell at first what is meant")
    return what


def target_of(situation: Situation) -> Thing:
    """What is handled first."""
    what = heard(situation)
    return situation.scene.thing(what.names[what.clauses[0].target])


def goal_of(situation: Situation) -> Thing:
    """The thing to which the first act relates it."""
    what = heard(situation)
    place = what.clauses[0].place
    if place is None or not place.of:
        raise NotApplicable("the first act has no goal that is a thing")
    return situation.scene.thing(what.names[place.of[0]])


def needed_things(situation: Situation) -> set[str]:
    """All that words, stages and events speak of, by name."""
    spoken = set(heard(situation).names.values())
    texts = [one for one in walk((situation.stages, situation.events)) if isinstance(one, str)]
    names = {thing.name for thing in situation.scene}
    return spoken | {name for text in texts if (name := text.split("/")[0]) in names}


def bystanders(situation: Situation) -> list[Thing]:
    """Loose things that nobody needs."""
    needed = needed_things(situation)
    return [t for t in situation.scene if not t.is_fixed and not t.is_parked and t.name not in needed]


def with_things(scene: Scene, changed: Mapping[str, Thing]) -> Scene:
    """With these in place of those of the same names; they may be called otherwise."""
    return replace(scene, things=tuple(changed.get(thing.name, thing) for thing in scene))


def renamed(part: T, names: Mapping[str, str]) -> T:
    """Stages, conditions, events or a scene with things called otherwise; all at once, so that two may swap."""
    if isinstance(part, str):
        thing, slash, rest = part.partition("/")
        return f"{names[thing]}{slash}{rest}" if thing in names else part  # type: ignore[return-value]
    if isinstance(part, tuple):
        return tuple(renamed(one, names) for one in part)  # type: ignore[return-value]
    if isinstance(part, Instruction):
        return part
    if is_dataclass(part) and not isinstance(part, type):
        values = {field.name: getattr(part, field.name) for field in fields(part) if field.init}
        changed = {name: renamed(value, names) for name, value in values.items()}
        return part if changed == values else replace(part, **changed)
    return part


def changed(
    situation: Situation,
    *,
    scene: Scene | None = None,
    instruction: Instruction | None = None,
    events: tuple[Event, ...] | None = None,
    time_limit_s: float | None = None,
) -> Situation:
    """The situation with this in it, and what counts derived again from what is meant now.

    If the same is asked of the same things, the same counts. If the same is asked of other things, the same counts of
    these. Otherwise the stages are those that follow from the meaning, if they were so before.
    """
    new_scene, said = scene or situation.scene, instruction or situation.instruction
    now = understood(said.meaning, looks(new_scene))
    if now is None:
        raise NotApplicable("the words would no longer tell what is meant")
    was = heard(situation)
    stages, never = situation.stages, situation.never
    if now.acts != was.acts:
        names = _exchanged(was, now)
        if names is not None:
            stages, never = renamed(stages, names), renamed(never, names)
        else:
            stages, never = _derived(situation, was, now, said, new_scene)
    after = replace(
        situation,
        scene=new_scene,
        instruction=said,
        stages=stages,
        never=never,
        events=situation.events if events is None else events,
        time_limit_s=time_limit_s or situation.time_limit_s,
    )
    _check_updates(situation, after)
    return after


def _exchanged(was: Understood, now: Understood) -> dict[str, str] | None:
    """Which things have changed roles, where the same acts are asked for; None where others are."""
    if [_way(clause) for clause in was.clauses] != [_way(clause) for clause in now.clauses]:
        return None
    names: dict[str, str] = {}
    for before, after in zip(was.clauses, now.clauses, strict=True):
        for old, new in zip(before.references, after.references, strict=True):
            if names.setdefault(was.names[old], now.names[new]) != now.names[new]:
                return None
    if len(set(names.values())) < len(names):
        return None
    # What takes another's role gives up its own.
    free = [name for name in names if name not in names.values()]
    for name in list(names.values()):
        if name not in names:
            names[name] = free.pop(0)
    return names


def _way(clause: Clause) -> tuple[object, ...]:
    return clause.act, len(clause.references), clause.once_lit is None


def _derived(
    situation: Situation, was: Understood, now: Understood, said: Instruction, scene: Scene
) -> tuple[tuple[Condition, ...], tuple[Condition, ...]]:
    try:
        stages_for(situation.instruction.meaning, situation.scene)
        stages = stages_for(said.meaning, scene)
    except ValueError as error:
        raise NotApplicable(f"what counts does not follow from what is meant: {error}") from error
    handled = {now.names[clause.target] for clause in now.clauses}
    never = [one for one in situation.never if not handled & set(_names_in(one))]
    if situation.never:
        # What was to be handled, and is not now, is a wrong choice.
        for clause in was.clauses:
            name = was.names[clause.target]
            if name not in handled and not scene.thing(name).is_fixed:
                never.append(lifted(scene, name))
    return stages, tuple(never)


def _names_in(condition: object) -> Iterable[str]:
    return (text.split("/")[0] for text in walk(condition) if isinstance(text, str))


def _check_updates(before: Situation, after: Situation) -> None:
    """What is said later must mean the same things as it did."""
    for old, new in zip(_updates(before), _updates(after), strict=False):
        was, now = (understood(one.meaning, looks(each.scene)) for one, each in ((old, before), (new, after)))
        if (was is None) != (now is None) or (was and now and was.acts != now.acts):
            raise NotApplicable("what is said later would mean something else")


def _updates(situation: Situation) -> list[Instruction]:
    return [event.effect.instruction for event in situation.events if isinstance(event.effect, NewInstruction)]


def is_clear(scene: Scene, names: Iterable[str], gap_m: float = GAP_M) -> bool:
    """Whether these things lie within reach, and apart from all others."""
    there = [thing for thing in scene if not thing.is_parked]
    for name in names:
        thing = scene.thing(name)
        x, y, _ = thing.pose.position
        if not (REACH_X_M[0] <= x <= REACH_X_M[1] and REACH_Y_M[0] <= y <= REACH_Y_M[1]):
            return False
        for other in there:
            ox, oy, _ = other.pose.position
            apart_m = thing.radius_m + other.radius_m + gap_m
            if other.name != name and math.hypot(x - ox, y - oy) < apart_m:
                return False
    return True
