"""Pursuit: the cube rides on a belt, so that a hand must be as quick as it is right."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from robodx.language.meaning import pick
from robodx.language.phrasing import say
from robodx.scoring.contact import Grasped
from robodx.scoring.events import RunBelt, at
from robodx.scoring.from_meaning import LIFT_M
from robodx.scoring.relations import Lifted
from robodx.sim.geometry import Pose
from robodx.sim.objects import conveyor, cube
from robodx.sim.scene import tabletop
from robodx.streams import Streams
from robodx.tasks.base import Register, Situation, Tier, task

STEP_S = 0.05
TIME_LIMIT_S = 20.0
# So far from the belt's middle a hand can still take the cube from above.
REACH_M = 0.3


def pursuit(tier: Tier) -> Register:
    return task(
        family="pursuit",
        tier=tier,
        varies=("robot", "timing"),
        tags=("stress",),
        time_limit_s=TIME_LIMIT_S,
        chance=1.0,
        primitive="primitive/pick_cube",
    )


def ride(start_m: float, runs: Sequence[tuple[float, float]]) -> Situation:
    """A cube on a belt across the table, `start_m` to the left of its middle, and the belt's speeds by their times."""
    belt = conveyor().at(-0.10, 0.0, yaw_rad=math.pi / 2)
    top = belt.pose @ belt.frame("belt")
    block = cube("red").posed(top @ Pose((start_m, 0.0, 0.02)))
    height_m = top.position[2] + LIFT_M
    return Situation(
        scene=tabletop(belt, block),
        instruction=say(pick("red cube")),
        stages=(Grasped(block.name), Grasped(block.name) & Lifted(block.name, height_m)),
        events=tuple(at(time_s, RunBelt(belt.name, speed_m_s)) for time_s, speed_m_s in runs),
    )


@pursuit("easy")
def pick_from_slow_belt(streams: Streams) -> Situation:
    """Pick up the cube from a belt that runs slowly from left to right at constant speed."""
    speed_m_s = streams.rng("timing").uniform(0.02, 0.027)
    return ride(0.24, [(STEP_S, -speed_m_s)])


@pursuit("medium")
def pick_from_alternating_belt(streams: Streams) -> Situation:
    """Pick up the cube from a belt that runs back and forth at medium speed."""
    rng = streams.rng("timing")
    speed_m_s, run_s = rng.choice((-1.0, 1.0)) * rng.uniform(0.04, 0.06), rng.uniform(3.0, 4.0)
    times_s = np.arange(STEP_S, TIME_LIMIT_S, run_s)
    return ride(0.0, [(time_s, speed_m_s * (-1) ** turns) for turns, time_s in enumerate(times_s)])


@pursuit("hard")
def pick_from_restless_belt(streams: Streams) -> Situation:
    """Pick up the cube from a fast belt that changes speed and direction at random times."""
    rng = streams.rng("timing")
    runs: list[tuple[float, float]] = []
    time_s, place_m = STEP_S, 0.0
    while time_s < TIME_LIMIT_S:
        run_s, speed_m_s = rng.uniform(0.75, 1.5), rng.choice((-1.0, 1.0)) * rng.uniform(0.08, 0.14)
        if abs(place_m + speed_m_s * run_s) > REACH_M:
            speed_m_s = -speed_m_s
        runs.append((time_s, speed_m_s))
        time_s, place_m = time_s + run_s, place_m + speed_m_s * run_s
    return ride(0.0, runs)
