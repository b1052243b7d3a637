"""Things that come to look otherwise: their names, the words for them and what counts follow."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from robodx.interventions.base import NotApplicable
from robodx.interventions.changing import changed, heard, renamed, with_things
from robodx.interventions.redescribing import NewLook, described, redescribed
from robodx.scoring.events import Event, NewInstruction
from robodx.scoring.from_meaning import looks
from robodx.scoring.parts import walk
from robodx.sim.scene import Thing
from robodx.situations.features import features_of
from robodx.tasks.base import Situation


def relooked(
    situation: Situation, things: Mapping[str, Thing], new_looks: Sequence[NewLook] = (), *, keeps: Iterable[str] = ()
) -> Situation:
    """With these things in place of those of the same names: the same is asked of them, in words that fit them.

    `keeps` are the recorded attributes that must stay as they are.
    """
    seen = looks(situation.scene)
    names = _names(situation, new_looks)

    def later(event: Event) -> Event:
        if not isinstance(event.effect, NewInstruction):
            return event
        return replace(event, effect=NewInstruction(redescribed(event.effect.instruction, seen, new_looks)))

    def called(thing: Thing) -> Thing:
        return thing.named(names.get(thing.name, thing.name))

    same = replace(
        situation,
        scene=with_things(situation.scene, {name: called(situation.scene.thing(name)) for name in names}),
        stages=renamed(situation.stages, names),
        never=renamed(situation.never, names),
        events=renamed(situation.events, names),
    )
    after = changed(
        same,
        scene=with_things(situation.scene, {name: called(thing) for name, thing in things.items()}),
        instruction=redescribed(situation.instruction, seen, new_looks),
        events=tuple(later(event) for event in same.events),
    )
    check_words(same, after)
    if kept := tuple(keeps):
        before, now = features_of(situation), features_of(after)
        if lost := [name for name in kept if before.get(name) != now.get(name)]:
            raise NotApplicable(f"it would change {', '.join(lost)} too")
    return after


def check_words(before: Situation, after: Situation) -> None:
    """Each description in the words must fit what it did, and nothing more."""
    was, now = (described(each.instruction.meaning, looks(each.scene)) for each in (before, after))
    if was != now:
        raise NotApplicable("a description in the words would fit other things")


def _names(situation: Situation, new_looks: Sequence[NewLook]) -> dict[str, str]:
    """What is called by its looks is called by the new ones."""
    names: dict[str, str] = {}
    taken = {thing.name for thing in situation.scene} - {look.thing for look in new_looks}
    for look in new_looks:
        was, now = look.words
        name = re.sub(rf"(?<![\w-]){re.escape(was)}(?![\w-])", now, look.thing)
        free = name if name not in taken else next(f"{name} {n}" for n in range(2, 99) if f"{name} {n}" not in taken)
        names[look.thing] = free
        taken.add(free)
    return {old: new for old, new in names.items() if old != new}


def is_in_events(situation: Situation, name: str) -> bool:
    """Whether something will happen to it."""
    events = [event for event in situation.events if not isinstance(event.effect, NewInstruction)]
    return any(isinstance(one, str) and one.split("/")[0] == name for one in walk(events))


def others_than(situation: Situation, *kept: Thing) -> list[Thing]:
    """What else is there: first what nobody handles, then the rest."""
    handled = set(heard(situation).names.values())
    names = {thing.name for thing in kept}
    there = [thing for thing in situation.scene if not thing.is_parked and thing.name not in names]
    return sorted(there, key=lambda thing: thing.name in handled)
