"""To pick up: the thing is grasped, and then off what it stood on."""

from __future__ import annotations

from robodx.experts.base import PlanContext, take
from robodx.experts.skills import Steps
from robodx.language.lexicon import EVERYDAY
from robodx.language.meaning import Clause
from robodx.scoring.contact import Grasped
from robodx.scoring.from_meaning import Stages, lifted
from robodx.sim.scene import Scene
from robodx.verbs.base import Sense, verb


def stages(target: str, others: tuple[str, ...], scene: Scene) -> Stages:
    return (Grasped(target), Grasped(target) & lifted(scene, target))


def plan(context: PlanContext, clause: Clause) -> Steps:
    yield from take(context, context.target(clause))


verb(
    "pick",
    Sense(
        ("pick up {target}", "lift {target}", "grasp and lift {target}"),
        ("scoop up {target}", "raise {target} into the air", "hold up {target}"),
        read=tuple(f"{word} {{target}}" for word in EVERYDAY["pick up"]),
        stages=stages,
        plan=plan,
    ),
    gerund="picking up",
)
