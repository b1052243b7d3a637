"""Makes the light warmer or colder."""

from __future__ import annotations

import numpy as np

from robodx.interventions.base import NotApplicable, intervention
from robodx.interventions.surroundings import coloured, key_light
from robodx.sim.colours import RGB
from robodx.situations.attributes import colour_word
from robodx.tasks.base import Situation

COLOURS: dict[str, RGB] = {"white": (1.0, 1.0, 1.0), "warm": (1.0, 0.88, 0.72), "cold": (0.6, 0.8, 1.0)}
# How much of a channel a placebo takes.
STEP = 0.04


def _placebo(situation: Situation, rng: np.random.Generator) -> Situation:
    """A little more of another tint, which has no other word."""
    colour = key_light(situation).colour
    channel = int(rng.integers(3))
    other = [value - STEP * (index == channel) for index, value in enumerate(colour)]
    return coloured(situation, (other[0], other[1], other[2]))


@intervention(
    "light colour",
    factor="looks",
    values={name: {"light_colour": colour_word(colour)} for name, colour in COLOURS.items()},
    placebo=_placebo,
)
def light_colour(situation: Situation, value: str, rng: np.random.Generator) -> Situation:
    """Makes the light white, warm as that of a lamp, or cold as the sky."""
    if colour_word(key_light(situation).colour) == colour_word(COLOURS[value]):
        raise NotApplicable(f"the light is {value} already")
    return coloured(situation, COLOURS[value])
