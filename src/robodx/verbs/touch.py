"""To touch: no grasp, only a first contact."""

from __future__ import annotations

from robodx.experts import skills
from robodx.experts.base import TRIES, PlanContext
from robodx.experts.grasps import from_above
from robodx.experts.skills import Steps
from robodx.language.meaning import Clause
from robodx.sim.geometry import Pose
from robodx.verbs.base import Sense, verb

# Into its top: enough to be sure of the contact, too little to press on it.
PRESS_M = 0.004


def plan(context: PlanContext, clause: Clause) -> Steps:
    view, name = context.view, context.target(clause)

    def top() -> Pose:
        x, y, z = view.position(name)
        return from_above(x, y, z + view.reach(name)[2], 0.0)

    for _ in range(TRIES):
        yield from skills.touch(context.hand, top, depth_m=PRESS_M)


verb(
    "touch",
    Sense(
        ("touch {target}", "tap {target}", "make contact with {target}"),
        (
            "bring a finger into contact with {target}",
            "put your fingertips on {target}",
            "reach for {target} until you touch it",
        ),
        plan=plan,
    ),
    gerund="touching",
)
