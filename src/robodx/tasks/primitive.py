"""Primitives: single motor acts, by which other families' scores are normalised."""

from __future__ import annotations

from robodx.language.meaning import pick, press
from robodx.language.phrasing import say
from robodx.scoring.events import Event, SwitchLamp
from robodx.scoring.from_meaning import stages_for
from robodx.sim.objects import cube, switch
from robodx.sim.scene import Region, tabletop
from robodx.streams import Streams
from robodx.tasks.base import Situation, task


@task(family="primitive", varies=("robot", "layout"), tags=("capability",), chance=1.0)
def pick_cube(streams: Streams) -> Situation:
    """Pick up the only cube, wherever it lies."""
    scene = tabletop(cube("red").within(Region(x=(-0.2, 0.05), y=(-0.2, 0.2), yaw_rad=(-0.7, 0.7))))
    instruction = say(pick("red cube"))
    return Situation(scene, instruction, stages_for(instruction.meaning, scene))


@task(family="primitive", varies=("robot", "layout"), tags=("capability",), chance=1.0)
def press_switch(streams: Streams) -> Situation:
    """Press the switch, so that its lamp turns on."""
    scene = tabletop(switch().within(Region(x=(-0.2, 0.02), y=(-0.2, 0.2))))
    instruction = say(press("switch"))
    (pressed,) = stages_for(instruction.meaning, scene)
    return Situation(scene, instruction, (pressed,), events=(Event(pressed, SwitchLamp("switch/lamp")),))
