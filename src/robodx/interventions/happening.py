"""Changing what happens by itself, and when."""

from __future__ import annotations

from dataclasses import replace

from robodx.interventions.base import NotApplicable
from robodx.scoring.conditions import After
from robodx.scoring.events import Event, NewInstruction
from robodx.situations.requirements import of_event
from robodx.tasks.base import Situation

# A little earlier or later: two control steps of most policies.
LITTLE_S = 0.1


def later(events: tuple[Event, ...], by_s: float) -> tuple[Event, ...]:
    """All that happens at a time so much later, or earlier; what waits for something else is left as it is."""
    return tuple(
        replace(event, when=After(event.when.seconds + by_s)) if isinstance(event.when, After) else event
        for event in events
    )


def first_time_s(situation: Situation) -> float:
    """When something first happens that makes a difference."""
    telling = [event.when for event in situation.events if of_event(event, [situation.instruction.meaning])]
    times_s = [when.seconds for when in telling if isinstance(when, After)]
    if not times_s:
        raise NotApplicable("nothing happens at a time of its own")
    return min(times_s)


def a_little_later(situation: Situation) -> Situation:
    """All that happens at a time a little earlier, or later where it comes at once."""
    by_s = -LITTLE_S if first_time_s(situation) > 2 * LITTLE_S else LITTLE_S
    return replace(situation, events=later(situation.events, by_s))


def is_motion(event: Event) -> bool:
    """Whether it moves or changes things."""
    return of_event(event, ()) in ("change/moving things", "change/sudden")


def require_still(situation: Situation) -> None:
    if any(map(is_motion, situation.events)):
        raise NotApplicable("something moves or changes by itself")


def is_new_instruction(event: Event) -> bool:
    return isinstance(event.effect, NewInstruction)
