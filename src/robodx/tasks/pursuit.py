"""Pursuit: the cube rides on a belt, so that a hand must be as quick as it is right."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from robodx.language.meaning import pick
from robodx.language.phrasing import say
from robodx.scoring.events import RunBelt, at
from robodx.scoring.from_meaning import stages_for
from robodx.sim.geometry import Pose, about
from robodx.sim.objects import conveyor, cube
from robodx.sim.scene import tabletop
from robodx.streams import Streams
from robodx.tasks.base import Register, Situation, Tier, task
from robodx.tasks.perception import VIVID, some

STEP_S = 0.05
TIME_LIMIT_S = 20.0
# So far from the belt's middle a hand can still take the cube from above.
REACH_M = 0.27
# And so far from it the front camera shows it whole, where a ride begins.
SEEN_M = 0.22
# How far the cube is from the belt's middle line, and how far belt and cube are turned: little, so that fingers close
# along the ride.
OFF_M = 0.02
TURN_RAD = 0.25


def pursuit(tier: Tier) -> Register:
    return task(
        family="pursuit",
        tier=tier,
        varies=("robot", "attributes", "layout", "timing", "arena"),
        tags=("stress",),
        time_limit_s=TIME_LIMIT_S,
        chance=1.0,
        version=2,
        primitive="primitive/pick_cube",
    )


def ride(streams: Streams, start_m: float, runs: Sequence[tuple[float, float]]) -> Situation:
    """A cube on a belt across the table, `start_m` to the left of its middle, and the belt's speeds by their times."""
    rng = streams.rng("layout", "belt")
    belt = conveyor().at(rng.uniform(-0.19, 0.0), 0.0, yaw_rad=math.pi / 2 + rng.uniform(-TURN_RAD, TURN_RAD))
    (colour,) = some(streams, VIVID, 1)
    on_belt = Pose((start_m, rng.uniform(-OFF_M, OFF_M), 0.02), about("z", rng.uniform(-TURN_RAD, TURN_RAD)))
    block = cube(colour).named("cube").posed(belt.pose @ belt.frame("belt") @ on_belt)
    scene, instruction = tabletop(belt, block), say(pick("cube"))
    return Situation(
        scene,
        instruction,
        stages_for(instruction.meaning, scene),
        events=tuple(at(time_s, RunBelt(belt.name, speed_m_s)) for time_s, speed_m_s in runs),
    )


@pursuit("easy")
def pick_from_slow_belt(streams: Streams) -> Situation:
    """Pick up the cube from a belt that runs slowly from one side to the other at constant speed."""
    layout = streams.rng("layout")
    start_m, side = layout.uniform(0.14, SEEN_M), layout.choice((-1.0, 1.0))
    # No faster than it stays in reach.
    speed_m_s = streams.rng("timing").uniform(0.02, (start_m + REACH_M) / TIME_LIMIT_S)
    return ride(streams, side * start_m, [(STEP_S, -side * speed_m_s)])


@pursuit("medium")
def pick_from_alternating_belt(streams: Streams) -> Situation:
    """Pick up the cube from a belt that runs back and forth at medium speed."""
    rng = streams.rng("timing")
    speed_m_s, run_s = rng.choice((-1.0, 1.0)) * rng.uniform(0.04, 0.06), rng.uniform(3.0, 4.0)
    way_m = speed_m_s * run_s
    times_s = np.arange(STEP_S, TIME_LIMIT_S, run_s)
    # Wherever it stays in reach.
    start_m = streams.rng("layout").uniform(max(-SEEN_M, -REACH_M - way_m), min(SEEN_M, REACH_M - way_m))
    return ride(streams, start_m, [(time_s, speed_m_s * (-1) ** turns) for turns, time_s in enumerate(times_s)])


@pursuit("hard")
def pick_from_restless_belt(streams: Streams) -> Situation:
    """Pick up the cube from a fast belt that changes speed and direction at random times."""
    rng = streams.rng("timing")
    start_m = streams.rng("layout").uniform(-SEEN_M, SEEN_M)
    runs: list[tuple[float, float]] = []
    time_s, place_m = STEP_S, start_m
    while time_s < TIME_LIMIT_S:
        run_s, speed_m_s = rng.uniform(0.75, 1.5), rng.choice((-1.0, 1.0)) * rng.uniform(0.08, 0.14)
        if abs(place_m + speed_m_s * run_s) > REACH_M:
            speed_m_s = -speed_m_s
        runs.append((time_s, speed_m_s))
        time_s, place_m = time_s + run_s, place_m + speed_m_s * run_s
    return ride(streams, start_m, runs)
