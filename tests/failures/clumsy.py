"""Failures of the hand: the right thing missed, lost, or put wrong."""

from __future__ import annotations

from tests.failures.acting import then
from tests.failures.expected import INCOMPLETE, LOST, MISPLACED, MISSED, MOTOR, TIMEOUT, Failure
from tests.failures.plays import (
    IN_BIN_M,
    ON_CUBE_M,
    SLIPS,
    grasp_at,
    insert_beside,
    lose_on_the_way,
    push_past,
    put_blindly,
    roll_past,
)

# Not got hold of.
MISSES = (
    Failure(
        "closes beside it", "primitive/pick_cube", 0,
        lambda a: a.take(a.thing, off=(0.045, 0.0, 0.0)),
        MOTOR, MISSED, ("no grasp",),
        "the fingers close on nothing, four centimetres beside the cube",
    ),
    Failure(
        "closes above it", "primitive/pick_cube", 1,
        lambda a: a.take(a.thing, off=(0.0, 0.0, 0.05)),
        MOTOR, MISSED, ("no contact", "no grasp"),
        "the fingers close over the cube",
    ),
    Failure(
        "stacks nothing", "control/stack_cube", 2,
        lambda a: then(a.take(a.thing, off=(-0.04, 0.0, 0.0)), a.set_down(a.at(a.place, dz=ON_CUBE_M))),
        MOTOR, MISSED, ("no grasp",),
        "the grasp misses, and the rest is done with empty fingers",
    ),
    Failure(
        "closes where it was", "dynamic/place_rolling_sphere", 0,
        lambda a: then(a.wait(1.0), grasp_at(a, *a.view.position(a.thing)[:2])),
        MOTOR, MISSED, ("event", "no grasp"),
        "the ball has rolled on when the fingers close",
    ),
    Failure(
        "closes where it lay", "dynamic/pick_cube_bumped", 1,
        lambda a: then(a.wait(1.5), grasp_at(a, *a.view.position(a.thing)[:2])),
        MOTOR, MISSED, ("event", "no grasp"),
        "the cube was knocked aside and is taken where it was",
    ),
    Failure(
        "never closes", "spatial/pick_leftmost", 2,
        lambda a: a.take(a.thing, grip=0.8),
        MOTOR, MISSED, ("no grasp", "no broken"),
        "down around the right cube and up again, with open fingers",
    ),
    Failure(
        "comes down with closed fingers", "language/direct", 3,
        lambda a: then(a.poke(a.thing), a.poke(a.thing)),
        MOTOR, MISSED, ("contact green cube", "no grasp", "no broken"),
        "the right cube is touched from above, and never held",
    ),
    Failure(
        "misses the peg", "control/insert_peg", 0,
        lambda a: then(a.take(a.thing, off=(0.0, 0.0, 0.06)), a.set_down(a.at(a.place, dx=-0.12, dz=0.03))),
        MOTOR, MISSED, ("no grasp",),
        "the grasp misses the peg, and the rest is done with empty fingers",
    ),
)  # fmt: skip

# Held and lost.
LOSSES = (
    Failure(
        "slips on the way", "control/stack_cube", 3,
        lambda a: lose_on_the_way(a, "red cube", "green cube", SLIPS),
        MOTOR, LOST, ("grasp red cube", "drop red cube"),
        "the grip weakens half way, and the cube slips out",
    ),
    Failure(
        "slips at once", "control/place_sphere", 0,
        lambda a: then(a.take(a.thing, grip=0.496), a.set_down(a.at(a.place, dz=IN_BIN_M))),
        MOTOR, LOST, ("grasp sphere", "drop sphere"),
        "the fingers hold the ball too loosely to lift it",
    ),
    Failure(
        "opens half way", "control/place_sphere", 1,
        lambda a: lose_on_the_way(a, "sphere", "bin", 1.0, IN_BIN_M),
        MOTOR, (LOST, MISPLACED), ("grasp sphere", "release sphere"),
        "the fingers open in mid-air, far from the bin",
    ),
    Failure(
        "drops the peg", "control/insert_peg", 1,
        lambda a: lose_on_the_way(a, a.thing, a.place, 0.371, 0.1),
        MOTOR, LOST, ("grasp peg", "drop peg"),
        "the grip weakens half way, and the peg slips out",
    ),
    Failure(
        "loses the second one", "control/stack_three", 0,
        lambda a: then(a.do(a.clauses[0]), lose_on_the_way(a, "blue cube", "green cube", SLIPS)),
        MOTOR, LOST, ("grasp red cube", "grasp blue cube", "drop blue cube"),
        "the first act goes well, in the second the cube slips",
    ),
    Failure(
        "slips between the others", "spatial/place_between", 0,
        lambda a: lose_on_the_way(a, "cube 2", "cube 1", SLIPS),
        MOTOR, LOST, ("grasp cube 2", "drop cube 2", "no broken"),
        "the grip weakens on the way, and the cube slips out",
    ),
    Failure(
        "grasps and cannot lift", "primitive/pick_cube", 2,
        lambda a: a.take(a.thing, grip=0.4963),
        MOTOR, LOST, ("grasp red cube", "drop red cube"),
        "held too loosely, the cube stays on the table",
    ),
)  # fmt: skip

# Brought and put wrong.
MISPLACEMENTS = (
    Failure(
        "sets it on the edge", "control/stack_cube", 4,
        lambda a: put_blindly(a, "red cube", "green cube", dy=0.03),
        MOTOR, MISPLACED, ("grasp red cube", "release red cube"),
        "three centimetres beside the middle of the other cube: it falls off",
    ),
    Failure(
        "beside the bin", "control/place_sphere", 2,
        lambda a: put_blindly(a, "sphere", "bin", dy=-0.12, dz=0.01),
        MOTOR, MISPLACED, ("grasp sphere", "release sphere"),
        "the ball is set down next to the bin",
    ),
    Failure(
        "lets go too high", "control/place_sphere", 6,
        lambda a: then(a.take(a.thing), a.over(a.at(a.place, dx=0.025, dy=0.02), 0.22), a.open(), a.wait(1.0)),
        MOTOR, MISPLACED, ("grasp sphere", "release sphere"),
        "the ball is let go more than twenty centimetres above the bin and bounces off",
    ),
    Failure(
        "pushes past the disc", "control/push_cube", 0,
        lambda a: push_past(a, beyond_m=0.12),
        MOTOR, MISPLACED, ("contact cube",),
        "the cube is pushed onto the disc and off it on the far side",
    ),
    Failure(
        "stops short of the disc", "control/push_cube", 1,
        lambda a: push_past(a, beyond_m=-0.17),
        (MOTOR, TIMEOUT), (MISPLACED, INCOMPLETE), ("contact cube",),
        "the cube is pushed towards the disc, but not onto it",
    ),
    Failure(
        "inserts beside the hole", "control/insert_peg", 2,
        lambda a: insert_beside(a, dy=0.05, depth_m=-0.004),
        MOTOR, MISPLACED, ("grasp peg", "release peg"),
        "the peg is brought to the block beside the hole and let go there",
    ),
    Failure(
        "lets go before it is in", "control/plug_charger", 0,
        lambda a: insert_beside(a, dy=0.0, depth_m=-0.02),
        MOTOR, MISPLACED, ("grasp charger", "release charger"),
        "the charger is let go before its prongs are in",
    ),
    Failure(
        "base too wide", "control/stack_three", 1,
        lambda a: then(
            put_blindly(a, "red cube", "green cube", dx=-0.12, dz=0.0),
            put_blindly(a, "blue cube", "green cube", dx=-0.06),
        ),
        MOTOR, MISPLACED, ("grasp red cube", "release red cube"),
        "the first cube is not put beside the second, and the third falls between them",
    ),
    Failure(
        "not between", "spatial/place_between", 1,
        lambda a: then(a.take("cube 2"), a.set_down(lambda: (-0.2, 0.15, 0.02))),
        MOTOR, MISPLACED, ("grasp cube 2", "release cube 2", "no broken"),
        "the right cube is set down far from the place between the others",
    ),
    Failure(
        "never lets go", "control/stack_cube", 5,
        lambda a: then(a.take("red cube"), a.over(a.at("green cube")), a.go(a.at("green cube", dz=ON_CUBE_M))),
        (MOTOR, TIMEOUT), (MISPLACED, INCOMPLETE), ("grasp red cube", "no release"),
        "the cube is brought to its place and held there for the rest of the time",
    ),
    Failure(
        "rolls it past", "dynamic/roll_ball_to_goal", 2,
        lambda a: roll_past(a),
        MOTOR, MISPLACED, ("contact sphere", "no broken"),
        "the ball is knocked across the disc and off the table",
    ),
)  # fmt: skip
