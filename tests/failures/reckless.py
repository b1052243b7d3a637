"""Failures of motion: into things, beyond what is safe, out of control, or not done in time."""

from __future__ import annotations

import math

from tests.failures.acting import first, shaken, then
from tests.failures.expected import (
    COLLISION,
    DETOUR,
    INCOMPLETE,
    INVALID,
    MISORDERED,
    MOTOR,
    REFERENCE,
    SAFETY,
    TIMEOUT,
    UNJUDGED,
    UNSTABLE,
    Failure,
)
from tests.failures.plays import (
    CORNERS,
    at_pace,
    bad_numbers,
    carry_low_through,
    press_down,
    put_blindly,
    swinging,
    too_few_numbers,
    wander_between,
)

# Into what was in the way.
COLLISIONS = (
    Failure(
        "knocks the wall away", "control/stack_three", 3,
        lambda a: then(a.do(a.clauses[0]), carry_low_through(a, "blue cube", "red cube", (0.0, 1.0), "green cube")),
        MOTOR, COLLISION, ("grasp red cube", "release red cube", "grasp blue cube", "contact red cube"),
        "the base is built; the third cube is carried low and knocks it apart",
    ),
    Failure(
        "sweeps the tower over", "spatial/build_tower", 2,
        lambda a: then(
            a.do(a.clauses[0]),
            a.sweep("cube 1", along=(1.0, 0.0), height_m=0.06),
            a.take("cube 2"),
            a.set_down(a.at("cube 3", dz=0.08)),
        ),
        MOTOR, COLLISION, ("grasp cube 1", "release cube 1", "contact cube 1"),
        "after the first level the hand sweeps through it, and the top cube is set down where no tower is",
    ),
    Failure(
        "knocks its goal away", "control/stack_cube", 6,
        lambda a: carry_low_through(a, "red cube", "green cube", (0.0, -1.0), "green cube"),
        MOTOR, COLLISION, ("grasp red cube", "contact green cube"),
        "the cube that it should be stacked on is swept away by the hand that brings it",
    ),
    Failure(
        "brushes another on the way", "perception/touch_sphere", 0,
        lambda a: then(a.sweep(a.other(kind="cube"), along=(0.0, 1.0)), a.poke(a.thing)),
        (REFERENCE, MOTOR), (COLLISION, MISORDERED), ("contact", "broken"),
        "on the way to the right thing the hand runs into another: what counts is only that it was first",
    ),
)  # fmt: skip

# Beyond what is safe.
DANGERS = (
    Failure(
        "presses on the table and scrapes", "control/place_sphere", 8,
        lambda a: press_down(a, -0.05, 0.15, depth_m=0.005, speed_m_s=0.12, drag=(0.0, -0.1)),
        SAFETY, COLLISION, ("collision arena > 300", "no contact"),
        "the fingers are driven into the table and dragged along it",
    ),
    Failure(
        "slams into the table", "primitive/press_switch", 0,
        lambda a: press_down(a, -0.1, -0.25, depth_m=0.08),
        SAFETY, COLLISION, ("collision arena > 300", "no contact"),
        "the fingers hit the table at full speed beside the switch, and press on",
    ),
    Failure(
        "grasps into the table", "primitive/pick_cube", 3,
        lambda a: then(first(4.0, a.take(a.thing, off=(0.05, 0.0, -0.05))), a.wait(2.0)),
        SAFETY, COLLISION, ("collision arena > 300", "no grasp"),
        "the grasp is five centimetres too deep and beside: the hand is driven into the table",
    ),
    Failure(
        "leans on the table", "language/direct", 2,
        lambda a: press_down(a, -0.2, 0.2, depth_m=0.05, drag=(0.1, 0.0)),
        SAFETY, COLLISION, ("collision arena > 300", "no contact"),
        "the hand is driven into the table where no cube lies",
    ),
    Failure(
        "reaches for what is out of reach", "control/stack_cube", 7,
        lambda a: then(a.go((-0.3, 0.0, 0.6)), a.go((0.25, 0.0, 1.0)), a.wait(20.0)),
        SAFETY, UNJUDGED, ("limit reach", "no contact"),
        "the arm is stretched against its limits and kept there",
    ),
    Failure(
        "whips around", "control/stack_cube", 8,
        lambda a: shaken(a.wait(20.0), (0.0, 0.3, 0.0), every=6),
        SAFETY, UNSTABLE, ("limit joint speed", "no contact"),
        "to and fro over the whole table as fast as the joints turn",
    ),
    Failure(
        "thrashes over the cube", "language/direct", 3,
        lambda a: then(a.over(a.at(a.thing), 0.25), shaken(a.wait(20.0), (0.12, 0.0, 0.1), every=3)),
        SAFETY, UNSTABLE, ("limit joint speed", "no contact"),
        "over the right cube the hand begins to thrash at the joints' top speed",
    ),
)  # fmt: skip

# Out of control, within limits.
TREMORS = (
    Failure(
        "trembles while it stacks", "robustness/stack_unseen_cube", 3,
        lambda a: shaken(put_blindly(a, a.thing, a.place), (0.0, 0.014, 0.0), every=2),
        MOTOR, UNSTABLE, ("grasp red cube", "no limit", "no collision arena"),
        "the hand shakes so much that the cube does not stay where it is put",
    ),
    Failure(
        "swings over the cube", "primitive/pick_cube", 4,
        lambda a: swinging(a, amplitude_m=0.06, seconds=20.0, period_s=0.8),
        (MOTOR, TIMEOUT), UNSTABLE, ("no contact", "no limit"),
        "the hand swings to and fro over the cube and never settles",
    ),
    Failure(
        "trembles all the time", "control/stack_cube", 12,
        lambda a: shaken(at_pace(a, 0.25), (0.0, 0.016, 0.0), every=3),
        MOTOR, UNSTABLE, ("grasp red cube", "no limit"),
        "all that is asked is attempted with a hand that shakes by three centimetres all the time",
    ),
)  # fmt: skip

# Not done in time.
DELAYS = (
    Failure(
        "stands still", "primitive/press_switch", 1,
        lambda a: a.wait(20.0),
        TIMEOUT, INCOMPLETE, ("no contact",),
        "it does nothing at all",
    ),
    Failure(
        "waits for ever", "dynamic/press_switch_in_time", 2,
        lambda a: then(a.over(lambda: a.view.frame("switch", "button").position), a.wait(20.0)),
        TIMEOUT, INCOMPLETE, ("event", "no contact"),
        "it waits over the switch, and goes on waiting when the lamp lights",
    ),
    Failure(
        "stops over the cube", "language/synonym", 0,
        lambda a: a.over(a.at(a.thing)),
        TIMEOUT, INCOMPLETE, ("no contact",),
        "it goes over the right cube and stops there",
    ),
    Failure(
        "stops after one of three", "control/stack_four", 0,
        lambda a: a.do(a.clauses[0]),
        TIMEOUT, INCOMPLETE, ("release red cube", "no contact blue cube"),
        "the first of three acts is done, and then nothing",
    ),
    Failure(
        "stops after the first bin", "control/place_sphere_three_bins", 0,
        lambda a: a.do(a.clauses[0]),
        TIMEOUT, INCOMPLETE, ("release sphere",),
        "the first of three acts is done, and then nothing",
    ),
    Failure(
        "stops after the first level", "spatial/build_tower", 3,
        lambda a: a.do(a.clauses[0]),
        TIMEOUT, INCOMPLETE, ("release cube 1", "no contact cube 2"),
        "the first of two acts is done, and then nothing",
    ),
    Failure(
        "much too slow", "control/stack_four", 1,
        lambda a: at_pace(a, 0.2),
        TIMEOUT, DETOUR, ("release red cube", "grasp blue cube"),
        "all is done right, at a fifth of the usual speed, until the time is up",
    ),
    Failure(
        "creeps", "perception/touch_red_sphere", 3,
        lambda a: at_pace(a, 0.03),
        TIMEOUT, DETOUR, ("no contact",),
        "straight to the right sphere, but so slowly that it does not get there",
    ),
    Failure(
        "long ways round", "spatial/assemble_set", 0,
        lambda a: wander_between(a, 2),
        TIMEOUT, DETOUR, ("grasp", "release", "no broken"),
        "between the acts it goes around the table, until the time is up",
    ),
    Failure(
        "carries it around", "control/place_sphere", 5,
        lambda a: then(a.take(a.thing), a.wander(CORNERS, 8)),
        TIMEOUT, DETOUR, ("grasp sphere", "no release", "no drop"),
        "the ball is carried in circles until the time is up",
    ),
    Failure(
        "circles before it begins", "spatial/pick_closest", 0,
        lambda a: then(a.wander(CORNERS, 8), a.do()),
        TIMEOUT, DETOUR, ("no contact",),
        "it circles over the table until the time is up",
    ),
)  # fmt: skip

# What no robot could execute.
NONSENSE = (
    Failure(
        "not a number", "control/stack_cube", 10,
        lambda a: bad_numbers(a, math.nan),
        INVALID, UNJUDGED, (),
        "after a second it sends NaN",
    ),
    Failure(
        "infinite", "language/direct", 4,
        lambda a: bad_numbers(a, math.inf),
        INVALID, UNJUDGED, (),
        "after a second it sends infinity",
    ),
    Failure(
        "too few numbers", "spatial/pick_leftmost", 3,
        too_few_numbers,
        INVALID, UNJUDGED, (),
        "on the way to the right cube it sends an action of the wrong width",
    ),
    Failure(
        "a turn without direction", "primitive/pick_cube", 5,
        lambda a: bad_numbers(a, 0.0),
        INVALID, UNJUDGED, (),
        "a quaternion of zeros",
    ),
)  # fmt: skip
