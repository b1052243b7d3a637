"""To press a switch's button down."""

from __future__ import annotations

from robodx.experts import skills
from robodx.experts.base import TRIES, PlanContext
from robodx.experts.grasps import from_above
from robodx.experts.skills import Steps
from robodx.language.meaning import Clause
from robodx.scoring.contact import JointBeyond
from robodx.scoring.from_meaning import PRESSED_SHARE, Stages
from robodx.sim.geometry import Pose
from robodx.sim.scene import Scene
from robodx.verbs.base import Sense, verb


def stages(target: str, others: tuple[str, ...], scene: Scene) -> Stages:
    part = scene.thing(target).parts[0]
    return (JointBeyond(f"{target}/{part.name}", PRESSED_SHARE * part.range[1]),)


def plan(context: PlanContext, clause: Clause) -> Steps:
    view = context.view
    name = context.target(clause)
    context.require(name, "button")
    travel = view.thing(name).parts[0].range[1]

    def button() -> Pose:
        x, y, z = view.frame(name, "button").position
        return from_above(x, y, z, 0.0)

    for _ in range(TRIES):
        yield from skills.press(context.hand, button, depth_m=travel)


verb(
    "press",
    Sense(
        ("press {target}", "push {target} down", "hit {target}"),
        ("activate {target} by pressing it", "give {target} a firm push", "trigger {target} by pushing it down"),
        stages=stages,
        plan=plan,
    ),
    gerund="pressing",
)
