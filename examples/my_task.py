"""A task of your own: robodx run mine --policy expert --plugin examples/my_task.py"""

from __future__ import annotations

from robodx import Situation, task
from robodx.language.meaning import put
from robodx.language.phrasing import say
from robodx.scoring.from_meaning import stages_for
from robodx.sim.objects import cube, cylinder
from robodx.sim.scene import Region, tabletop
from robodx.streams import Streams

LEFT = Region(x=(-0.2, 0.0), y=(0.05, 0.2))
RIGHT = Region(x=(-0.2, 0.0), y=(-0.2, -0.05))


@task(family="mine", varies=("robot", "layout"), chance=1 / 2)
def cap_the_pillar(streams: Streams) -> Situation:
    """Put the orange cube on the purple cylinder."""
    scene = tabletop(cube("orange").within(LEFT), cylinder("purple", radius_m=0.03).within(RIGHT))
    instruction = say(put("orange cube", "on", "purple cylinder"))
    return Situation(scene, instruction, stages_for(instruction.meaning, scene))
