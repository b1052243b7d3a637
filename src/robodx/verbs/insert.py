"""To insert a thing's tip into a hole of another, as deep as the hand can bring it."""

from __future__ import annotations

import math

from robodx.experts import skills
from robodx.experts.base import OVER_M, TRIES, PlanContext, take
from robodx.experts.grasps import OUTLINE_TURN_RAD, nearest_turn
from robodx.experts.skills import PoseNow, Steps
from robodx.language.meaning import Clause
from robodx.scoring.contact import Grasped, settled
from robodx.scoring.from_meaning import Stages
from robodx.scoring.orientation import Inserted
from robodx.sim.geometry import Pose, about, conjugate, rotate
from robodx.sim.scene import Scene, Thing
from robodx.verbs.base import Sense, verb

# A thing counts as inserted at this share of how deep a hand can bring it.
INSERTED_SHARE = 0.75
# How near its grasp a held thing may come to what it is inserted into.
FINGERS_M = 0.025


def hole_for(thing: Thing, other: Thing) -> str:
    """The frame of the hole that a thing goes into: its own kind's where there are several."""
    own = f"{thing.kind} hole"
    return own if own in dict(other.frames) else "hole"


def insertion_depth_m(thing: Thing, other: Thing) -> float:
    """How deep a hand can bring a thing's `tip`: nearly through the other, and the fingers do not meet it."""
    tip, grasp = thing.frame("tip"), thing.frame("grasp")
    inwards = other.frame(hole_for(thing, other)).axis("x")
    half_thickness = sum(half * abs(share) for half, share in zip(other.half_extents, inwards, strict=True))
    ahead = sum((t - g) * a for t, g, a in zip(tip.position, grasp.position, tip.axis("x"), strict=True))
    return min(0.9 * 2 * half_thickness, ahead - FINGERS_M)


def stages(target: str, others: tuple[str, ...], scene: Scene) -> Stages:
    thing, other = scene.thing(target), scene.thing(others[0])
    depth = INSERTED_SHARE * insertion_depth_m(thing, other)
    inserted = Inserted(target, other.name, depth, hole=hole_for(thing, other))
    return (Grasped(target), settled(target) & inserted)


def plan(context: PlanContext, clause: Clause) -> Steps:
    """The thing's `tip` to its hole in the other, then in along the hole's axis until the tip is near its far end."""
    view = context.view
    name, (other,) = context.target(clause), context.others(clause)
    thing = view.thing(name)
    hole = hole_for(thing, view.thing(other))
    for each, frame in ((name, "tip"), (name, "grasp"), (other, hole)):
        context.require(each, frame)
    thing_in_tip = thing.frame("tip").inverse()
    depth = insertion_depth_m(thing, view.thing(other))

    def at(depth_m: float, turn_rad: float) -> PoseNow:
        return lambda: view.frame(other, hole) @ Pose((depth_m, 0.0, 0.0), about("x", turn_rad)) @ thing_in_tip

    for _ in range(TRIES):
        yield from take(context, name)
        turn_rad = fitting_turn(view.frame(name, "tip"), view.frame(other, hole), thing.kind)
        entry, goal = at(-0.02, turn_rad), at(depth, turn_rad)
        yield from skills.insert(context.hand, context.pose(name), entry, goal, over_m=OVER_M)
        if view.frame(name, "tip").inverse().apply(view.frame(other, hole).position)[0] < -0.5 * depth:
            return


def fitting_turn(tip: Pose, hole: Pose, kind: str) -> float:
    """Of the turns about a hole's axis in which a thing fits, the one nearest to how it is turned now."""
    if kind not in OUTLINE_TURN_RAD:
        return 0.0
    _, y, z = rotate(conjugate(hole.quaternion), tip.axis("y"))
    turn = math.atan2(z, y)
    return turn - nearest_turn(turn, OUTLINE_TURN_RAD[kind])


verb(
    "insert",
    Sense(
        ("insert {target} into {place}", "push {target} all the way into {place}", "fit {target} into {place}"),
        ("slide {target} into {place}", "plug {target} into {place}", "stick {target} into {place}"),
        relation="into",
        stages=stages,
        plan=plan,
    ),
    gerund="inserting",
)
