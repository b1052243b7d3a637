"""Failures of understanding: the wrong thing, or against what was said."""

from __future__ import annotations

from dataclasses import replace

from tests.failures.acting import then
from tests.failures.expected import CONSTRAINT, INCOMPLETE, MISORDERED, MISPLACED, MOTOR, REFERENCE, TIMEOUT, Failure
from tests.failures.plays import meaning_otherwise, opposite, put_blindly

# The wrong thing.
WRONG_THINGS = (
    Failure(
        "another colour", "language/direct", 2,
        lambda a: a.mistaking(("red cube", "blue cube")).do(),
        REFERENCE, MISORDERED, ("grasp blue cube", "no contact red cube", "broken blue cube grasped"),
        "asked for the red cube, it takes the blue one",
    ),
    Failure(
        "another by its two attributes", "language/attribute_pair", 8,
        lambda a: a.mistaking((a.thing, "big plain red cube")).do(),
        REFERENCE, MISORDERED, ("grasp big plain red cube", "broken"),
        "only one of two attributes is heeded",
    ),
    Failure(
        "counted from the wrong side", "language/ordinal", 21,
        lambda a: a.mistaking(("red cube", "blue cube")).do(),
        REFERENCE, MISORDERED, ("grasp blue cube", "broken"),
        "the third from the right taken for the third from the left",
    ),
    Failure(
        "the branch that does not hold", "language/conditional", 4,
        lambda a: a.mistaking(("red cube", "blue cube")).do(),
        REFERENCE, MISORDERED, ("grasp blue cube", "broken"),
        "the condition holds, but it does what was asked otherwise",
    ),
    Failure(
        "touches another sphere", "perception/touch_red_sphere", 1,
        lambda a: a.poke(a.other()),
        REFERENCE, MISORDERED, ("contact", "no contact red sphere", "broken"),
        "a sphere of another colour is touched",
    ),
    Failure(
        "touches the smaller", "perception/touch_bigger_sphere", 2,
        lambda a: a.poke("smaller sphere"),
        REFERENCE, MISORDERED, ("contact smaller sphere", "broken"),
        "the smaller of two spheres is touched",
    ),
    Failure(
        "the other end of the row", "spatial/pick_leftmost", 0,
        lambda a: a.mistaking(("cube 2", "cube 1")).do(),
        REFERENCE, MISORDERED, ("grasp cube 1", "broken cube 1"),
        "left and right are confused",
    ),
    Failure(
        "upper and lower confused", "control/stack_cube", 1,
        lambda a: a.mistaking(("red cube", "green cube"), ("green cube", "red cube")).do(),
        REFERENCE, MISORDERED, ("grasp green cube", "release green cube", "no grasp red cube"),
        "the green cube is stacked on the red one; nothing forbids it, it is only not what was asked",
    ),
    Failure(
        "true to the first look", "dynamic/colour_swap_pick", 2,
        lambda a: a.do(),
        REFERENCE, MISORDERED, ("event", "grasp cube 1", "broken cube 1"),
        "the colours are exchanged on the way, and it goes on to the cube that was red",
    ),
    Failure(
        "a distractor in the bin", "robustness/place_sphere_with_distractors", 0,
        lambda a: a.mistaking(("sphere", "lavender cross")).do(),
        REFERENCE, MISORDERED, ("grasp lavender cross", "no contact sphere"),
        "another thing is brought where the sphere was to go",
    ),
    Failure(
        "a cube for the sphere", "isolation/touch_sphere_with_control", 1,
        lambda a: a.mistaking(("orange sphere", "red cube")).do(),
        REFERENCE, MISORDERED, ("contact red cube", "broken"),
        "a cube is taken where the sphere was asked for",
    ),
    Failure(
        "takes what was excepted", "language/negation", 1,
        lambda a: a.mistaking(("red cube", "green cube")).do(),
        (REFERENCE, CONSTRAINT), MISORDERED, ("grasp green cube", "broken"),
        "the word not is not heeded: a wrong thing, and an exclusion violated",
    ),
    Failure(
        "into the wrong bin", "control/place_sphere_two_bins", 0,
        lambda a: a.do(a.clauses[1]),
        (CONSTRAINT, REFERENCE, TIMEOUT), (MISORDERED, INCOMPLETE), ("grasp sphere", "release sphere"),
        "the right sphere goes straight to the last of two bins: a wrong place, a skipped act or a wrong order",
    ),
    Failure(
        "onto the wrong block", "robustness/stack_cube_with_distractors", 0,
        lambda a: put_blindly(a, "red cube", a.other(kind="any"), dz=0.045),
        (REFERENCE, MOTOR), (MISORDERED, MISPLACED), ("grasp red cube", "release red cube", "no contact green cube"),
        "the right cube on top of another thing than the one meant",
    ),
)  # fmt: skip

# Against what was said.
FORBIDDEN = (
    Failure(
        "the top before the middle", "spatial/build_tower", 0,
        lambda a: a.do(*reversed(a.clauses)),
        CONSTRAINT, MISORDERED, ("grasp cube 2", "broken cube 2 grasped and not once"),
        "the second act is done first",
    ),
    Failure(
        "the second act first", "spatial/assemble_set", 1,
        lambda a: a.do(a.clauses[1], a.clauses[0], a.clauses[2]),
        CONSTRAINT, MISORDERED, ("grasp", "broken"),
        "the second act is done first",
    ),
    Failure(
        "the bins the other way round", "control/place_sphere_two_bins", 1,
        lambda a: a.do(*reversed(a.clauses)),
        CONSTRAINT, MISORDERED, ("grasp sphere",),
        "blue and then purple, where purple and then blue was asked",
    ),
    Failure(
        "the parts in another order", "robustness/kit_assembly", 0,
        lambda a: a.do(*reversed(a.clauses)),
        (CONSTRAINT, REFERENCE), MISORDERED, ("grasp", "release", "no drop"),
        "all three parts come into their recesses, the last first; nothing but the order of the stages forbids it",
    ),
    Failure(
        "presses before the light", "dynamic/press_switch_in_time", 0,
        lambda a: a.do(replace(a.clauses[0], once_lit=None)),
        CONSTRAINT, MISORDERED, ("contact switch", "broken"),
        "it does not wait for the lamp",
    ),
    Failure(
        "presses when the light is out", "dynamic/press_switch_in_time", 4,
        lambda a: then(a.wait(8.0), a.do(replace(a.clauses[0], once_lit=None))),
        CONSTRAINT, MISORDERED, ("event", "contact switch", "broken"),
        "it presses after the lamp went out again",
    ),
    Failure(
        "catches before the light", "dynamic/catch_after_light", 0,
        lambda a: a.do(replace(a.clauses[0], once_lit=None)),
        CONSTRAINT, MISORDERED, ("contact sphere", "broken sphere touched and not"),
        "the ball is touched before the lamp is green",
    ),
    Failure(
        "lifts what is to be rolled", "dynamic/roll_ball_to_goal", 1,
        lambda a: a.take(a.thing),
        CONSTRAINT, MISORDERED, ("grasp sphere", "broken sphere lifted"),
        "the ball is picked up",
    ),
    Failure(
        "touches what must not be touched", "dynamic/pick_cube_ball_crossing", 0,
        lambda a: a.poke("sphere"),
        (CONSTRAINT, REFERENCE), MISORDERED, ("contact sphere", "no contact cube", "broken sphere"),
        "it goes for the thing that it was told not to touch",
    ),
    Failure(
        "an extra cube", "spatial/pick_leftmost", 1,
        lambda a: then(a.take("cube 3", lift_m=0.03), a.open(), a.take("cube 2")),
        CONSTRAINT, MISORDERED, ("grasp cube 3", "grasp cube 2", "broken cube 2 lifted"),
        "the right cube is grasped and put back, then another one is picked up",
    ),
    Failure(
        "the wrong way", "spatial/move_cube_direction", 0,
        lambda a: meaning_otherwise(a, opposite(a.clauses[0])),
        CONSTRAINT, (MISORDERED, MISPLACED), ("grasp cube 1", "broken"),
        "right where left was asked",
    ),
    Failure(
        "in where beside was asked", "spatial/place_in_or_beside_bowl", 1,
        lambda a: meaning_otherwise(a, "in"),
        CONSTRAINT, (MISORDERED, MISPLACED), ("grasp cube 1", "broken"),
        "the cube is put into the bowl, beside which it was to be",
    ),
    Failure(
        "leaves the second act out", "spatial/assemble_set", 2,
        lambda a: a.do(a.clauses[0], a.clauses[2]),
        CONSTRAINT, MISORDERED, ("release", "broken"),
        "after a good beginning it goes on to the third act, before the second is done",
    ),
)  # fmt: skip
