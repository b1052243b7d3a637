"""To put a thing on, in, beside or between others, or to one side of one."""

from __future__ import annotations

import math
from typing import Literal

from robodx.experts.base import CARRY_M, Plan, PlanContext, put, resting
from robodx.experts.grasps import nearest_turn, yaw_of
from robodx.experts.skills import Steps
from robodx.language.meaning import Clause
from robodx.registry import require
from robodx.scoring.contact import Grasped, settled
from robodx.scoring.from_meaning import Stages, StagesOf
from robodx.scoring.relations import Beside, Between, In, On
from robodx.scoring.sides import FLANKS, Flank, Flanking, faced_reach
from robodx.sim.geometry import Pose, turned
from robodx.sim.scene import Scene
from robodx.verbs.base import Sense, verb

BESIDE_GAP_M = 0.002
# Between the faces of a thing and of what it is put next to: an open finger fits.
FLANK_GAP_M = 0.05
# Fingers open this share in a bin: clear of the thing, and short of the walls.
OPENING_IN_BIN = 0.65
# And come no nearer to its floor than this, for they would meet its cell: what is smaller is dropped the rest.
HELD_OVER_FLOOR_M = 0.02


def stages_on(target: str, others: tuple[str, ...], scene: Scene) -> Stages:
    resting_there = settled(target)
    for other in others:
        resting_there = On(target, other) & resting_there
    return (Grasped(target), resting_there)


def stages_in(target: str, others: tuple[str, ...], scene: Scene) -> Stages:
    return (Grasped(target), In(target, others[0]) & settled(target))


def stages_beside(target: str, others: tuple[str, ...], scene: Scene) -> Stages:
    return (Grasped(target), Beside(target, others[0]) & settled(target))


def stages_between(target: str, others: tuple[str, ...], scene: Scene) -> Stages:
    first, second = others
    return (Grasped(target), Between(target, first, second) & settled(target))


def stages_at(side: Flank) -> StagesOf:
    require("side to put a thing on", side, FLANKS)

    def stages(target: str, others: tuple[str, ...], scene: Scene) -> Stages:
        return (Grasped(target), Flanking(target, others[0], side) & settled(target))

    return stages


def plan_on(context: PlanContext, clause: Clause) -> Steps:
    """On top of one thing, or across the middle of several."""
    name, supports = context.target(clause), context.others(clause)

    def goal() -> Pose:
        places = [context.view.position(support) for support in supports]
        top = max(z + context.view.reach(support)[2] for support, (_, _, z) in zip(supports, places, strict=True))
        x, y = (sum(place[axis] for place in places) / len(places) for axis in (0, 1))
        return resting(context, name, x, y, top, yaw_of(context.view.pose(supports[0])))

    yield from put(context, name, goal)


def plan_in(context: PlanContext, clause: Clause) -> Steps:
    name, (container,) = context.target(clause), context.others(clause)
    context.require(container, "cell")
    drop_m = max(0.0, HELD_OVER_FLOOR_M - context.view.thing(name).half_extents[2])

    def goal() -> Pose:
        cell = context.view.frame(container, "cell")
        x, y, z = cell.position
        return resting(context, name, x, y, z + drop_m, yaw_of(cell))

    yield from put(context, name, goal, opening=OPENING_IN_BIN)


def plan_beside(context: PlanContext, clause: Clause) -> Steps:
    """Behind or in front of the other as it is turned, whichever side is free: the fingers stay clear of it."""
    name, (other,) = context.target(clause), context.others(clause)
    side = free_side(context, name, other)

    def goal() -> Pose:
        x, y = beside(context, name, other, side, BESIDE_GAP_M)
        pose = context.view.pose(other)
        return resting(context, name, x, y, pose.position[2] - context.view.reach(other)[2], yaw_of(pose))

    # Something may stand on the other: over it at the height at which things are carried, then straight down.
    yield from put(context, name, goal, over_m=CARRY_M)


def beside(context: PlanContext, name: str, other: str, side: int, gap_m: float = 0.0) -> tuple[float, float]:
    """Where a thing lies beside another: on that side of it which is nearest to straight behind, or in front."""
    pose, half = context.view.pose(other), context.view.thing(other).half_extents
    yaw = yaw_of(pose)
    turn = nearest_turn(yaw, math.pi / 2)
    # A quarter turn further, its depth is its width.
    depth = half[0] if abs(math.cos(yaw - turn)) > 0.5 else half[1]
    offset = side * (depth + context.view.thing(name).half_extents[0] + gap_m)
    return pose.position[0] + offset * math.cos(turn), pose.position[1] + offset * math.sin(turn)


def free_side(context: PlanContext, name: str, other: str) -> int:
    """+1 behind, -1 in front: where no third thing is in the way."""
    view = context.view

    def room(side: int) -> float:
        place = beside(context, name, other, side)
        thirds = (third for third in view.things if third not in (name, other) and view.is_present(third))
        return min((math.dist(place, view.position(third)[:2]) for third in thirds), default=1.0)

    clear = 2 * math.dist(beside(context, name, other, 1), view.position(other)[:2])
    return -1 if room(-1) >= min(room(+1), clear) else +1


def plan_between(context: PlanContext, clause: Clause) -> Steps:
    name, (first, second) = context.target(clause), context.others(clause)

    def goal() -> Pose:
        (ax, ay, _), (bx, by, _) = context.view.position(first), context.view.position(second)
        return resting(context, name, (ax + bx) / 2, (ay + by) / 2, 0.0)

    yield from put(context, name, goal)


def plan_at(side: Flank) -> Plan:
    require("side to put a thing on", side, FLANKS)
    axis, way = FLANKS[side]

    def steps(context: PlanContext, clause: Clause) -> Steps:
        name, (other,) = context.target(clause), context.others(clause)
        reach = faced_reach(context.view, other)[axis]
        offset = reach + context.view.thing(name).half_extents[axis] + FLANK_GAP_M

        def goal() -> Pose:
            x, y, z = context.view.position(other)
            aside = (way * offset, 0.0, 0.0) if axis == 0 else (0.0, way * offset, 0.0)
            dx, dy, _ = turned(aside, context.view.heading_rad)
            return resting(context, name, x + dx, y + dy, z - context.view.reach(other)[2])

        yield from put(context, name, goal)

    return steps


def _sideways(side: Literal["left", "right"]) -> Sense:
    relation: Flank = "left of" if side == "left" else "right of"
    return Sense(
        (
            f"put {{target}} to the {side} of {{place}} as you see it",
            f"place {{target}} on the side of {{place}} that is to your {side}",
            f"set {{target}} down next to {{place}}, to your {side}",
        ),
        (
            f"position {{target}} {side} of {{place}} from your point of view",
            f"move {{target}} until it is just to the {side} of {{place}} as you look at it",
            f"bring {{target}} next to {{place}} on your {side}-hand side",
        ),
        relation=relation,
        stages=stages_at(relation),
        plan=plan_at(relation),
    )


verb(
    "put",
    Sense(
        ("put {target} in {place}", "place {target} inside {place}", "drop {target} into {place}"),
        ("deposit {target} in {place}", "transfer {target} to {place}", "move {target} into {place}"),
        relation="in",
        stages=stages_in,
        plan=plan_in,
    ),
    Sense(
        ("put {target} on top of {place}", "stack {target} on {place}", "set {target} down on {place}"),
        ("place {target} on top of {place}", "rest {target} on {place}", "move {target} onto {place}"),
        relation="on",
        stages=stages_on,
        plan=plan_on,
    ),
    Sense(
        (
            "put {target} right beside {place}",
            "place {target} directly next to {place}",
            "set {target} down right by {place}",
        ),
        (
            "position {target} side by side with {place}",
            "move {target} right up to {place}",
            "bring {target} right alongside {place}",
        ),
        relation="beside",
        stages=stages_beside,
        plan=plan_beside,
    ),
    Sense(
        (
            "put {target} midway between {place}",
            "place {target} in the middle of the gap between {place}",
            "set {target} down halfway between {place}",
        ),
        (
            "position {target} exactly between {place}",
            "move {target} to the midpoint between {place}",
            "centre {target} between {place}",
        ),
        relation="between",
        stages=stages_between,
        plan=plan_between,
    ),
    _sideways("left"),
    _sideways("right"),
    Sense(
        (
            "put {target} in front of {place} as you see it",
            "place {target} on the side of {place} that is nearer to you",
            "set {target} down on your side of {place}",
        ),
        (
            "position {target} in front of {place} from your point of view",
            "move {target} until it is just in front of {place} as you look at it",
            "bring {target} to the side of {place} that faces you",
        ),
        relation="in front of",
        stages=stages_at("in front of"),
        plan=plan_at("in front of"),
    ),
    Sense(
        (
            "put {target} behind {place} as you see it",
            "place {target} on the side of {place} that is farther from you",
            "set {target} down beyond {place}, away from you",
        ),
        (
            "position {target} behind {place} from your point of view",
            "move {target} until it is just behind {place} as you look at it",
            "bring {target} to the side of {place} that faces away from you",
        ),
        relation="behind",
        stages=stages_at("behind"),
        plan=plan_at("behind"),
    ),
    gerund="putting",
)
