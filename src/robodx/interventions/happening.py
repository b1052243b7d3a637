"""Changing what happens by itself, and when."""

from __future__ import annotations

from dataclasses import replace

from robodx.scoring.conditions import After
from robodx.scoring.events import Event


def later(events: tuple[Event, ...], by_s: float) -> tuple[Event, ...]:
    """All that happens at a time so much later, or earlier; what waits for something else is left as it is."""
    return tuple(
        replace(event, when=After(event.when.seconds + by_s)) if isinstance(event.when, After) else event
        for event in events
    )


def first_time_s(events: tuple[Event, ...]) -> float | None:
    return min((event.when.seconds for event in events if isinstance(event.when, After)), default=None)
