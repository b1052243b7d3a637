"""Scripts of more than a line: whole acts with one thing wrong in them."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from robodx.experts import skills
from robodx.experts.base import CARRY_M
from robodx.experts.grasps import from_above, nearest_turn
from robodx.experts.skills import Steps
from robodx.language.meaning import DIRECTIONS, Clause, Relation
from robodx.sim.geometry import Pose, Vector
from tests.failures.acting import Act, Actor, first, then

# Where hands are that touch nothing, and round which they wander.
CORNERS: tuple[Vector, ...] = ((-0.15, -0.2, 0.3), (0.05, -0.2, 0.25), (0.05, 0.2, 0.3), (-0.15, 0.2, 0.25))
# An opening that no longer holds a cube of 4 cm, without being opened wider than the cube.
SLIPS = 0.4968
ON_CUBE_M = 0.04
IN_BIN_M = 0.035


def put_blindly(a: Actor, name: str, place: str, dx: float = 0.0, dy: float = 0.0, dz: float = ON_CUBE_M) -> Steps:
    """Taken once and set down where it should be, or beside: never looking whether it went well."""
    yield from a.take(name)
    yield from a.set_down(a.at(place, dx, dy, dz))


def grasp_at(a: Actor, x: float, y: float) -> Steps:
    """Down to a place, close and up again, whatever is there."""
    yield from a.point(from_above(x, y, 0.1, 0.0))
    yield from a.go((x, y, 0.02))
    yield from a.close()
    yield from a.go((x, y, CARRY_M))


def lose_on_the_way(a: Actor, name: str, place: str, opening: float, dz: float = ON_CUBE_M) -> Steps:
    """Lifted, and half way to its goal the fingers give; the hand goes on as though nothing had happened."""
    yield from a.take(name)
    (x, y, _), (gx, gy, _) = a.view.position(name), a.view.position(place)
    yield from a.go(((x + gx) / 2, (y + gy) / 2, CARRY_M))
    yield from a.close(opening)
    yield from a.wait(1.0)
    yield from a.set_down(a.at(place, dz=dz))


def carry_low_through(a: Actor, name: str, obstacle: str, along: tuple[float, float], place: str) -> Steps:
    """The held thing and the hand that holds it plough through something that should have stayed where it was."""
    x, y, _ = a.view.position(place)
    yield from a.take(name)
    yield from a.sweep(obstacle, along=along)
    yield from a.set_down(lambda: (x, y, 0.02 + ON_CUBE_M))


def meaning_otherwise(a: Actor, relation: Relation) -> Steps:
    """The clause with another relation or direction than the one asked for."""
    (clause,) = a.clauses
    assert clause.place is not None
    return a.do(replace(clause, place=replace(clause.place, relation=relation)))


def opposite(clause: Clause) -> Relation:
    assert clause.place is not None
    left, right, forward, back = DIRECTIONS
    turned: dict[str, Relation] = {left: right, right: left, forward: back, back: forward}
    return turned[clause.place.relation]


def press_down(
    a: Actor, x: float, y: float, *, depth_m: float, speed_m_s: float = 0.5, drag: tuple[float, float] = (0.0, 0.0)
) -> Steps:
    """The closed fingers into the table, and along it without rising."""
    a.hand.grip = 0.0
    yield from a.go((x, y, 0.05))
    yield from a.go((x, y, -depth_m), speed_m_s)
    yield from a.go((x + drag[0], y + drag[1], -depth_m), 0.2)
    yield from a.wait(1.0)


def push_past(a: Actor, *, beyond_m: float) -> Steps:
    """From behind the thing and straight over the goal, to the far side of it."""
    a.hand.grip = 0.0
    (x, y, _), (gx, gy, _) = a.view.position(a.thing), a.view.position(a.place)
    length = math.hypot(gx - x, gy - y)
    ux, uy = (gx - x) / length, (gy - y) / length
    yield from a.point(from_above(x - 0.06 * ux, y - 0.06 * uy, 0.1, nearest_turn(math.atan2(uy, ux), math.pi)))
    yield from a.go((x - 0.06 * ux, y - 0.06 * uy, 0.02))
    yield from a.go((gx + beyond_m * ux, gy + beyond_m * uy, 0.02), 0.2)
    yield from a.go((gx + beyond_m * ux, gy + beyond_m * uy, CARRY_M))


def roll_past(a: Actor) -> Steps:
    """Hit with closed fingers from the far side, towards the disc and much too fast, wherever it has rolled by then."""
    a.hand.grip = 0.0

    def along(by_m: float, z: float) -> Pose:
        (x, y, _), (gx, gy, _) = a.view.position(a.thing), a.view.position(a.place)
        yaw_rad = math.atan2(gy - y, gx - x)
        x, y = x + by_m * math.cos(yaw_rad), y + by_m * math.sin(yaw_rad)
        return from_above(x, y, z, nearest_turn(yaw_rad, math.pi))

    yield from skills.reach(a.hand, lambda: along(-0.15, 0.1))
    yield from skills.reach(a.hand, lambda: along(-0.15, 0.02))
    yield from a.go(along(0.1, 0.02).position, 0.8)
    yield from skills.rise(a.hand, CARRY_M)


def swinging(a: Actor, *, amplitude_m: float, seconds: float, period_s: float) -> Steps:
    """To and fro over the thing along y, evenly, and never down to it."""
    yield from a.over(a.at(a.thing))
    home = a.hand.commanded
    for step in range(round(seconds / a.hand.period_s)):
        phase = 2 * math.pi * step * a.hand.period_s / period_s
        a.hand.commanded = home.shifted(dy=amplitude_m * math.sin(phase))
        yield a.hand.stay()
    a.hand.commanded = home


def insert_beside(a: Actor, *, dy: float, depth_m: float) -> Steps:
    """Brought before the hole and moved in, but not in line with it or not all the way."""
    yield from a.take(a.thing)
    hole = a.view.frame(a.place, "hole")
    tip = a.view.thing(a.thing).frame("tip").inverse()
    for along_m, dz in ((-0.03, 0.07), (-0.03, 0.0), (depth_m, 0.0)):
        goal = hole.shifted(dz=dz) @ Pose((along_m, dy, 0.0)) @ tip
        yield from a.bring(a.thing, goal)
    yield from a.open()
    yield from a.go(a.at(a.thing, dz=0.15))


def at_pace(a: Actor, pace: float) -> Steps:
    a.hand.pace = pace
    return a.do()


def wander_between(a: Actor, rounds: int) -> Steps:
    """All that is asked, but around the whole table before each act."""
    for clause in a.clauses:
        yield from a.wander(CORNERS, rounds)
        yield from a.do(clause)


def bad_numbers(a: Actor, value: float) -> Act:
    return then(first(1.0, a.do()), [np.full((1, 8), value, np.float32)])


def too_few_numbers(a: Actor) -> Act:
    return then(first(1.5, a.do()), [np.zeros((1, 7), np.float32)])


def lose_and_try_again(a: Actor, opening: float, height_m: float) -> Steps:
    """It slips half way; what lies on the table then is picked up and brought after all."""
    yield from a.take(a.thing)
    (x, y, _), (gx, gy, _) = a.view.position(a.thing), a.view.position(a.place)
    yield from a.go((x + (gx - x) / 3, y + (gy - y) / 3, height_m))
    yield from a.close(opening)
    yield from a.wait(0.5)
    yield from a.do()
