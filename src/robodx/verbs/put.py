"""To put a thing on, in, beside or between others, or to one side of one."""

from __future__ import annotations

import math
from typing import Literal

from robodx.experts.base import Plan, PlanContext, put, resting
from robodx.experts.skills import Steps
from robodx.language.meaning import Clause
from robodx.registry import require
from robodx.scoring.contact import Grasped, settled
from robodx.scoring.from_meaning import Stages, StagesOf
from robodx.scoring.relations import FLANKS, Beside, Between, Flank, Flanking, In, On
from robodx.sim.geometry import Pose
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
        return resting(context, name, x, y, top)

    yield from put(context, name, goal)


def plan_in(context: PlanContext, clause: Clause) -> Steps:
    name, (container,) = context.target(clause), context.others(clause)
    context.require(container, "cell")
    drop_m = max(0.0, HELD_OVER_FLOOR_M - context.view.thing(name).half_extents[2])

    def goal() -> Pose:
        x, y, z = context.view.frame(container, "cell").position
        return resting(context, name, x, y, z + drop_m)

    yield from put(context, name, goal, opening=OPENING_IN_BIN)


def plan_beside(context: PlanContext, clause: Clause) -> Steps:
    """Behind or in front of the other, whichever side is free: the fingers close along y and stay clear of it."""
    name, (other,) = context.target(clause), context.others(clause)
    side = free_side(context, name, other)

    def goal() -> Pose:
        x, y, z = context.view.position(other)
        rx, _, rz = context.view.reach(other)
        offset = rx + context.view.thing(name).half_extents[0] + BESIDE_GAP_M
        return resting(context, name, x + side * offset, y, z - rz)

    yield from put(context, name, goal)


def free_side(context: PlanContext, name: str, other: str) -> int:
    """+1 behind, -1 in front: where no third thing is in the way."""
    view = context.view
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
        offset = context.view.reach(other)[axis] + context.view.thing(name).half_extents[axis] + FLANK_GAP_M

        def goal() -> Pose:
            x, y, z = context.view.position(other)
            dx, dy = (way * offset, 0.0) if axis == 0 else (0.0, way * offset)
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
