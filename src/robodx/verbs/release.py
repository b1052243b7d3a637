"""To let go of what is held, wherever the hand is."""

from __future__ import annotations

from robodx.experts import skills
from robodx.experts.base import PlanContext
from robodx.experts.skills import Steps
from robodx.language.meaning import Clause
from robodx.scoring.contact import Grasped, settled
from robodx.scoring.from_meaning import Stages
from robodx.sim.scene import Scene
from robodx.verbs.base import Sense, verb


def stages(target: str, others: tuple[str, ...], scene: Scene) -> Stages:
    return (Grasped(target), settled(target))


def plan(context: PlanContext, clause: Clause) -> Steps:
    """Open the fingers where they are, which is what is said; what else they may hold is not let go of."""
    view, name = context.view, context.target(clause)
    if any(context.is_in_hand(other) for other in view.things if other != name):
        return
    yield from skills.release(context.hand)
    yield from skills.retreat(context.hand)


verb(
    "release",
    Sense(
        ("release {target}", "let go of {target}", "loosen your grip on {target}"),
        ("drop {target}", "open your gripper to free {target}", "stop holding {target}"),
        stages=stages,
        plan=plan,
    ),
    gerund="letting go of",
)
