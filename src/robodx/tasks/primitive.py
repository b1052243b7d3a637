"""Primitives: single motor acts, by which other families' scores are normalised."""

from __future__ import annotations

from dataclasses import replace

from robodx.language.meaning import pick, press, stand
from robodx.scoring.events import Event, SwitchLamp
from robodx.sim.objects import cube, peg, switch
from robodx.sim.scene import Region, Thing, tabletop
from robodx.streams import Streams, Variation
from robodx.tasks.base import Register, Situation, task
from robodx.tasks.control import ANY_TURN, LOOKS, POSES, colours, plainly, to_do

# A lying peg, of any length there is, and room for the hand that turns to its side.
LYING = Region(x=(-0.18, 0.02), y=(-0.15, 0.15), yaw_rad=ANY_TURN)


def primitive(*, varies: tuple[Variation, ...] = POSES, version: int = 2) -> Register:
    return task(family="primitive", varies=varies, tags=("capability",), chance=1.0, version=version)


@primitive()
def pick_cube(streams: Streams) -> Situation:
    """Pick up the only cube, wherever it lies and however it is turned."""
    scene = tabletop(cube("red").within(Region(x=(-0.2, 0.05), y=(-0.2, 0.2), yaw_rad=ANY_TURN)))
    return to_do(scene, pick("red cube"))


@primitive()
def press_switch(streams: Streams) -> Situation:
    """Press the switch, so that its lamp turns on."""
    scene = tabletop(switch().within(Region(x=(-0.2, 0.02), y=(-0.2, 0.2), yaw_rad=ANY_TURN)))
    situation = to_do(scene, press("switch"))
    (pressed,) = situation.stages
    return replace(situation, events=(Event(pressed, SwitchLamp("switch/lamp")),))


def stand_upright(thing: Thing) -> Situation:
    return to_do(tabletop(thing.within(LYING)), stand("peg"))


@primitive(varies=LOOKS, version=1)
def stand_peg(streams: Streams) -> Situation:
    """Stand a lying peg on its end, within 0.08 rad and 5 mm."""
    (colour,) = colours(streams, "peg")
    return stand_upright(plainly(peg(colour)))
