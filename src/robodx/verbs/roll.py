"""To roll a ball onto a place: it is ushered along the table."""

from __future__ import annotations

import math

from robodx.experts import skills
from robodx.experts.base import TRIES, PlanContext, is_crossed
from robodx.experts.grasps import from_above, nearest_turn
from robodx.experts.skills import Steps
from robodx.language.meaning import Clause
from robodx.sim.geometry import Pose
from robodx.verbs.base import Sense, verb


def plan(context: PlanContext, clause: Clause) -> Steps:
    """Stopped between the fingers, then rolled before one of them: they close along the way to the goal."""
    view = context.view
    name, (goal,) = context.target(clause), context.others(clause)

    def around() -> Pose:
        (x, y, z), (gx, gy, _) = view.position(name), view.position(goal)
        return from_above(x, y, z, nearest_turn(math.atan2(gy - y, gx - x) - math.pi / 2, math.pi))

    for _ in range(TRIES):
        yield from skills.roll(
            context.hand,
            around,
            context.pose(name),
            context.pose(goal),
            velocity=context.velocity(name),
            is_clear=lambda: not is_crossed(view, name),
        )
        if math.dist(view.position(name)[:2], view.position(goal)[:2]) < view.thing(goal).half_extents[0] / 2:
            return


verb(
    "roll",
    Sense(
        ("roll {target} onto {place}", "send {target} rolling onto {place}", "make {target} roll over to {place}"),
        (
            "let {target} roll onto {place}",
            "give {target} a push so that it rolls onto {place}",
            "get {target} to roll to {place}",
        ),
        relation="onto",
        plan=plan,
    ),
    gerund="rolling",
)
