"""A verb of your own, in one file: robodx run mine --policy expert --plugin examples/my_verb.py"""

from __future__ import annotations

from robodx import Situation, task
from robodx.experts import skills
from robodx.experts.base import OVER_M, PlanContext
from robodx.experts.grasps import from_above
from robodx.experts.skills import Steps
from robodx.language.meaning import Clause, do
from robodx.language.phrasing import say
from robodx.scoring.contact import settled
from robodx.scoring.from_meaning import Stages, stages_for
from robodx.scoring.orientation import Tilted
from robodx.sim.objects import cylinder
from robodx.sim.scene import Region, Scene, tabletop
from robodx.streams import Streams
from robodx.verbs.base import Sense, verb

# It is hit this far below its top: from this far beside its middle to this far past it.
BELOW_TOP_M = 0.01
BESIDE_M = 0.06
PAST_M = 0.03
# Leaning so far, it is no longer upright.
FALLEN_RAD = 1.0


def stages(target: str, others: tuple[str, ...], scene: Scene) -> Stages:
    return (~Tilted(target, FALLEN_RAD) & settled(target),)


def plan(context: PlanContext, clause: Clause) -> Steps:
    """From its right to its left with closed fingers, near its top."""
    hand, name = context.hand, context.target(clause)
    x, y, z = context.view.position(name)
    height = z + context.view.reach(name)[2] - BELOW_TOP_M
    start, end = from_above(x, y - BESIDE_M, height, 0.0), from_above(x, y + PAST_M, height, 0.0)
    hand.grip = 0.0
    yield from skills.reach(hand, lambda: start.shifted(dz=OVER_M))
    yield from skills.reach(hand, lambda: start)
    yield from skills.reach(hand, lambda: end)
    yield from skills.retreat(hand)


verb(
    "topple",
    Sense(
        train=("topple {target}", "knock {target} over", "make {target} fall over"),
        test=("tip {target} over", "upset {target}", "bring {target} down on its side"),
        stages=stages,
        plan=plan,
    ),
    gerund="toppling",
)


@task(family="mine", varies=("robot", "layout"), chance=1.0)
def fell_the_pillar(streams: Streams) -> Situation:
    """Topple the purple cylinder."""
    pillar = cylinder("purple", radius_m=0.02, height_m=0.12)
    scene = tabletop(pillar.within(Region(x=(-0.15, 0.0), y=(-0.15, 0.15))))
    instruction = say(do("topple", "purple cylinder"))
    return Situation(scene, instruction, stages_for(instruction.meaning, scene))
