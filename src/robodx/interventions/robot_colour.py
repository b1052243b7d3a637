"""Paints the robot."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from robodx.interventions.base import intervention
from robodx.interventions.factors import factor
from robodx.interventions.light_scaled import hardly_changed
from robodx.interventions.surroundings import with_scene
from robodx.sim.colours import rgb
from robodx.tasks.base import Situation

PAINTS = ("red", "orange", "yellow", "green", "blue", "purple", "grey", "black")


@intervention("robot colour", factor="looks", values={name: {} for name in PAINTS}, placebo=hardly_changed)
def robot_colour(situation: Situation, value: str, rng: np.random.Generator) -> Situation:
    """Paints what is white of the robot in another colour."""
    return with_scene(situation, replace(situation.scene, robot_colour=rgb(value)))


factor("robot_colour", "robot colour")
