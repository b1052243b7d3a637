"""Episodes in which exactly one thing goes wrong, and some that go well with one blemish or none."""

from __future__ import annotations

from tests.failures.acting import shaken, then
from tests.failures.clumsy import LOSSES, MISPLACEMENTS, MISSES
from tests.failures.expected import Failure, Success, missing, perform, play
from tests.failures.misunderstood import FORBIDDEN, WRONG_THINGS
from tests.failures.plays import CORNERS, SLIPS, lose_and_try_again, press_down
from tests.failures.reckless import COLLISIONS, DANGERS, DELAYS, NONSENSE, TREMORS

__all__ = ["FAILURES", "SUCCESSES", "Failure", "Success", "missing", "perform", "play"]

FAILURES = (
    *WRONG_THINGS,
    *FORBIDDEN,
    *MISSES,
    *LOSSES,
    *MISPLACEMENTS,
    *COLLISIONS,
    *DANGERS,
    *TREMORS,
    *DELAYS,
    *NONSENSE,
)

SUCCESSES = (
    Success(
        "as it should be", "control/stack_cube", 20,
        lambda a: a.do(),
        frozenset(), ("no drop", "no collision", "no limit"),
        "the expert's own way",
    ),
    Success(
        "as it should be, three times", "control/stack_four", 21,
        lambda a: a.do(),
        frozenset(), ("no drop", "no collision", "no limit"),
        "the expert's own way, over three acts",
    ),
    Success(
        "drops the cube and takes it again", "control/stack_cube", 22,
        lambda a: lose_and_try_again(a, SLIPS, 0.1),
        frozenset({"drop_and_regrasp"}), ("drop red cube", "no collision"),
        "the grip weakens on the way; the cube is picked up again",
    ),
    Success(
        "drops one of three and takes it again", "spatial/place_between", 23,
        lambda a: lose_and_try_again(a, SLIPS, 0.06),
        frozenset({"drop_and_regrasp"}), ("drop", "no broken", "no collision"),
        "the grip weakens on the way; the same cube is picked up again",
    ),
    Success(
        "presses on the table first", "control/stack_four", 25,
        lambda a: then(press_down(a, -0.1, 0.0, depth_m=0.03), a.go((-0.1, 0.0, 0.15)), a.do()),
        frozenset({"collision"}), ("collision arena > 300", "no drop"),
        "before a good job the fingers are driven into the table",
    ),
    Success(
        "knocks a bystander away", "robustness/place_sphere_with_distractors", 25,
        lambda a: then(a.sweep(a.other(1, kind="any"), along=(0.3, 1.0), speed_m_s=0.5), a.do()),
        frozenset({"collision"}), ("contact", "grasp sphere", "no drop"),
        "on the way to the ball the hand sweeps a block aside that nothing was said of",
    ),
    Success(
        "twice around the table", "control/stack_cube", 26,
        lambda a: then(a.wander(CORNERS, 2), a.do()),
        frozenset({"detour"}), ("no drop", "no collision", "no limit"),
        "two rounds over the table before it begins",
    ),
    Success(
        "with a trembling hand", "control/stack_cube", 29,
        lambda a: shaken(a.do(), (0.0, 0.012, 0.0)),
        frozenset({"instability"}), ("no drop", "no collision", "no limit"),
        "done at the first try, by a hand that shakes at every step",
    ),
)  # fmt: skip
