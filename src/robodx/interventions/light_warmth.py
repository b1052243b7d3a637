"""Makes the light warmer or colder, as lamps are."""

from __future__ import annotations

import numpy as np

from robodx.interventions.base import intervention
from robodx.interventions.factors import factor
from robodx.interventions.light_scaled import hardly_changed
from robodx.interventions.surroundings import coloured
from robodx.sim.colours import RGB
from robodx.tasks.base import Situation

# By colour temperature, from a candle to a blue sky, as bright in all.
LAMPS: dict[str, RGB] = {
    "1900 K": (1.0, 0.57, 0.16),
    "2700 K": (1.0, 0.71, 0.42),
    "3500 K": (1.0, 0.81, 0.62),
    "4500 K": (1.0, 0.89, 0.79),
    "7500 K": (0.90, 0.93, 1.0),
    "9500 K": (0.82, 0.88, 1.0),
    "12000 K": (0.76, 0.84, 1.0),
}


@intervention(
    "light warmth",
    factor="looks",
    values={name: {} for name in LAMPS},
    entails=("light_colour",),
    placebo=hardly_changed,
)
def light_warmth(situation: Situation, value: str, rng: np.random.Generator) -> Situation:
    """Gives the light the colour of a lamp of 1,900 to 12,000 kelvin."""
    return coloured(situation, LAMPS[value])


factor("light_warmth", "light warmth")
