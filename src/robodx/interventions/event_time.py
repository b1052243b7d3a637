"""Lets what happens by itself happen earlier or later."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from robodx.interventions.base import NotApplicable, intervention
from robodx.interventions.happening import a_little_later, first_time_s, later
from robodx.situations.attributes import LATE_S, first_event
from robodx.tasks.base import Situation

# When the first of it happens then.
EARLY_S = (0.4, 0.8)
LATER_S = (1.0, 1.3)


def _placebo(situation: Situation, rng: np.random.Generator) -> Situation:
    after = a_little_later(situation)
    if (first_time_s(after) < LATE_S) != (first_time_s(situation) < LATE_S):
        raise NotApplicable("a little earlier would be early")
    return after


@intervention(
    "event time",
    factor="time",
    values={"earlier": {"first_event": "early"}, "later": {"first_event": "late"}},
    placebo=_placebo,
)
def event_time(situation: Situation, value: str, rng: np.random.Generator) -> Situation:
    """Lets what happens by itself begin within the first second, or after it."""
    first_s = first_time_s(situation)
    if (first_s < LATE_S) == (value == "earlier"):
        raise NotApplicable(f"that is {first_event([situation.instruction.meaning], situation.events)} already")
    to_s = rng.uniform(*(EARLY_S if value == "earlier" else LATER_S))
    return replace(situation, events=later(situation.events, to_s - first_s))
