"""To push a thing along the table onto a place."""

from __future__ import annotations

import math

from robodx.experts import skills
from robodx.experts.base import TRIES, PlanContext
from robodx.experts.grasps import from_above, nearest_turn
from robodx.experts.skills import Steps
from robodx.language.meaning import Clause
from robodx.scoring.contact import settled
from robodx.scoring.from_meaning import Stages
from robodx.scoring.relations import CentredOn
from robodx.sim.geometry import Pose
from robodx.sim.scene import Scene
from robodx.verbs.base import Sense, verb

PUSH_NEAR_M = 0.02


def stages(target: str, others: tuple[str, ...], scene: Scene) -> Stages:
    radius = scene.thing(others[0]).half_extents[0]
    return (settled(target) & CentredOn(target, others[0], radius),)


def plan(context: PlanContext, clause: Clause) -> Steps:
    view, hand = context.view, context.hand
    name, (goal,) = context.target(clause), context.others(clause)
    half = view.thing(name).half_extents

    def behind() -> Pose:
        (x, y, z), (gx, gy, _) = view.position(name), view.position(goal)
        length = math.hypot(gx - x, gy - y) or 1.0
        back = half[0] + 0.035
        yaw = nearest_turn(math.atan2(gy - y, gx - x), math.pi)
        return from_above(x - (gx - x) / length * back, y - (gy - y) / length * back, max(z, 0.02), yaw)

    for _ in range(TRIES):
        yield from skills.push(hand, behind, context.pose(name), context.pose(goal), near_m=PUSH_NEAR_M)
        if math.dist(view.position(name)[:2], view.position(goal)[:2]) < view.thing(goal).half_extents[0] / 2:
            return


verb(
    "push",
    Sense(
        ("push {target} onto {place}", "slide {target} over to {place}", "shove {target} onto {place}"),
        (
            "nudge {target} onto {place}",
            "move {target} along the table to {place}",
            "bring {target} onto {place} by pushing it",
        ),
        relation="onto",
        stages=stages,
        plan=plan,
    ),
    gerund="pushing",
)
