"""Plans for the plain motor acts: pick, release, put, push, insert, press."""

from __future__ import annotations

import math

from robodx.experts import skills
from robodx.experts.base import OVER_M, TRIES, Scenery, plan, put, resting, take
from robodx.experts.grasps import OUTLINE_TURN_RAD, from_above, nearest_turn
from robodx.experts.skills import PoseNow, Steps
from robodx.language.meaning import Clause
from robodx.scoring.from_meaning import hole_for, insertion_depth_m
from robodx.sim.geometry import Pose, about, conjugate, rotate

BESIDE_GAP_M = 0.002
# Fingers open this share in a bin: clear of the thing, and short of the walls.
OPENING_IN_BIN = 0.65
# And come no nearer to its floor than this, for they would meet its cell: what is smaller is dropped the rest.
HELD_OVER_FLOOR_M = 0.02
PUSH_NEAR_M = 0.02


@plan("pick")
def pick(scenery: Scenery, clause: Clause) -> Steps:
    yield from take(scenery, scenery.target(clause))


@plan("release")
def release(scenery: Scenery, clause: Clause) -> Steps:
    """Open the fingers where they are, which is what is said; what else they may hold is not let go of."""
    view, name = scenery.view, scenery.target(clause)
    if any(view.is_grasped(other) for other in view.things if other != name):
        return
    yield from skills.release(scenery.hand)
    yield from skills.retreat(scenery.hand)


@plan("put", "on")
def put_on(scenery: Scenery, clause: Clause) -> Steps:
    """On top of one thing, or across the middle of several."""
    name, supports = scenery.target(clause), scenery.others(clause)

    def goal() -> Pose:
        places = [scenery.view.position(support) for support in supports]
        top = max(z + scenery.view.reach(support)[2] for support, (_, _, z) in zip(supports, places, strict=True))
        x, y = (sum(place[axis] for place in places) / len(places) for axis in (0, 1))
        return resting(scenery, name, x, y, top)

    yield from put(scenery, name, goal)


@plan("put", "in")
def put_in(scenery: Scenery, clause: Clause) -> Steps:
    name, (container,) = scenery.target(clause), scenery.others(clause)
    scenery.require(container, "cell")
    drop_m = max(0.0, HELD_OVER_FLOOR_M - scenery.view.thing(name).half_extents[2])

    def goal() -> Pose:
        x, y, z = scenery.view.frame(container, "cell").position
        return resting(scenery, name, x, y, z + drop_m)

    yield from put(scenery, name, goal, opening=OPENING_IN_BIN)


@plan("put", "beside")
def put_beside(scenery: Scenery, clause: Clause) -> Steps:
    """Behind or in front of the other, whichever side is free: the fingers close along y and stay clear of it."""
    name, (other,) = scenery.target(clause), scenery.others(clause)
    side = free_side(scenery, name, other)

    def goal() -> Pose:
        x, y, z = scenery.view.position(other)
        rx, _, rz = scenery.view.reach(other)
        offset = rx + scenery.view.thing(name).half_extents[0] + BESIDE_GAP_M
        return resting(scenery, name, x + side * offset, y, z - rz)

    yield from put(scenery, name, goal)


def free_side(scenery: Scenery, name: str, other: str) -> int:
    """+1 behind, -1 in front: where no third thing is in the way."""
    view = scenery.view
    x, y, _ = view.position(other)
    offset = view.reach(other)[0] + view.thing(name).half_extents[0]

    def room(side: int) -> float:
        return min(
            (
                math.dist((x + side * offset, y), view.position(third)[:2])
                for third in view.things
                if third not in (name, other) and view.is_present(third)
            ),
            default=1.0,
        )

    return -1 if room(-1) >= min(room(+1), 2 * offset) else +1


@plan("push", "onto")
def push_onto(scenery: Scenery, clause: Clause) -> Steps:
    view, hand = scenery.view, scenery.hand
    name, (goal,) = scenery.target(clause), scenery.others(clause)
    half = view.thing(name).half_extents

    def behind() -> Pose:
        (x, y, z), (gx, gy, _) = view.position(name), view.position(goal)
        length = math.hypot(gx - x, gy - y) or 1.0
        back = half[0] + 0.035
        yaw = nearest_turn(math.atan2(gy - y, gx - x), math.pi)
        return from_above(x - (gx - x) / length * back, y - (gy - y) / length * back, max(z, 0.02), yaw)

    for _ in range(TRIES):
        yield from skills.push(hand, behind, scenery.pose(name), scenery.pose(goal), near_m=PUSH_NEAR_M)
        if math.dist(view.position(name)[:2], view.position(goal)[:2]) < view.thing(goal).half_extents[0] / 2:
            return


@plan("insert", "into")
def insert_into(scenery: Scenery, clause: Clause) -> Steps:
    """The thing's `tip` to its hole in the other, then in along the hole's axis until the tip is near its far end."""
    view = scenery.view
    name, (other,) = scenery.target(clause), scenery.others(clause)
    thing = view.thing(name)
    hole = hole_for(thing, view.thing(other))
    for each, frame in ((name, "tip"), (name, "grasp"), (other, hole)):
        scenery.require(each, frame)
    thing_in_tip = thing.frame("tip").inverse()
    depth = insertion_depth_m(thing, view.thing(other))

    def at(depth_m: float, turn_rad: float) -> PoseNow:
        return lambda: view.frame(other, hole) @ Pose((depth_m, 0.0, 0.0), about("x", turn_rad)) @ thing_in_tip

    for _ in range(TRIES):
        yield from take(scenery, name)
        turn_rad = fitting_turn(view.frame(name, "tip"), view.frame(other, hole), thing.kind)
        entry, goal = at(-0.02, turn_rad), at(depth, turn_rad)
        yield from skills.insert(scenery.hand, scenery.pose(name), entry, goal, over_m=OVER_M)
        if view.frame(name, "tip").inverse().apply(view.frame(other, hole).position)[0] < -0.5 * depth:
            return


def fitting_turn(tip: Pose, hole: Pose, kind: str) -> float:
    """Of the turns about a hole's axis in which a thing fits, the one nearest to how it is turned now."""
    if kind not in OUTLINE_TURN_RAD:
        return 0.0
    _, y, z = rotate(conjugate(hole.quaternion), tip.axis("y"))
    turn = math.atan2(z, y)
    return turn - nearest_turn(turn, OUTLINE_TURN_RAD[kind])


@plan("press")
def press(scenery: Scenery, clause: Clause) -> Steps:
    view = scenery.view
    name = scenery.target(clause)
    scenery.require(name, "button")
    travel = view.thing(name).parts[0].range[1]

    def button() -> Pose:
        x, y, z = view.frame(name, "button").position
        return from_above(x, y, z, 0.0)

    for _ in range(TRIES):
        yield from skills.press(scenery.hand, button, depth_m=travel)
