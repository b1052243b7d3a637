"""Instances that a person can do something with, and some that nobody can: each is spoilt in one way."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from robodx.sim.colours import rgb
from robodx.sim.geometry import Vector
from robodx.sim.objects import cube
from robodx.sim.scene import Arena, Camera, Scene, Shape, Thing
from robodx.tasks.base import Situation
from robodx.tasks.bias import BOX_AT, PLACES, solid_and_box

(SOLID_X, SOLID_Y), (BOX_X, BOX_Y) = PLACES[0], BOX_AT
FAR_AWAY = (0.7, 0.6)


def good() -> Situation:
    return solid_and_box("cube", 0, "red", 0)


def spoilt(change: Callable[[Scene], Scene]) -> Situation:
    situation = good()
    return replace(situation, scene=change(situation.scene))


def with_thing(name: str, change: Callable[[Thing], Thing]) -> Situation:
    return spoilt(lambda s: replace(s, things=tuple(change(t) if t.name == name else t for t in s.things)))


def screened(x: float, y: float, half_m: float) -> Situation:
    """Something stands before this place, as the front camera sees it."""
    screen = cube("blue", half_m).named("screen").at(x + 0.06 + half_m, y)
    return spoilt(lambda s: replace(s, things=(*s.things, screen)))


def seen_from(position: Vector, target: Vector = (0.0, 0.0, 0.0)) -> Situation:
    camera = Camera("front", position, target, 45.0)
    return spoilt(lambda s: replace(s, cameras=tuple(camera if c.name == "front" else c for c in s.cameras)))


def tile() -> Situation:
    return with_thing(
        "solid", lambda t: replace(t, shapes=(Shape("box", (0.03, 0.03, 0.001)),)).at(SOLID_X, SOLID_Y, z=0.001)
    )


def in_arena(arena: Arena) -> Situation:
    return spoilt(lambda s: replace(s, arena=arena))


RED, DULL_RED = rgb("red"), (0.72, 0.11, 0.11)
# What is wrong, as it is told, by what was done.
PLANTED: dict[str, tuple[Callable[[], Situation], str]] = {
    "hidden behind another thing": (lambda: screened(SOLID_X, SOLID_Y, 0.05), "the solid is hidden"),
    "off-screen": (lambda: with_thing("solid", lambda t: t.at(*FAR_AWAY)), "the solid is off-screen"),
    "cut off": (lambda: with_thing("solid", lambda t: t.at(SOLID_X, 0.29)), "the solid is cut off by the edge"),
    "of the table's colour": (
        lambda: in_arena(Arena(table_colour=RED, table_second_colour=DULL_RED)),
        "the solid has the colour of what is around it",
    ),
    "flat": (tile, "the solid is seen flat or edge-on: 1 of 2 faces"),
    "edge-on": (
        lambda: with_thing("solid", lambda t: replace(t, shapes=(Shape("box", (0.001, 0.04, 0.04)),), is_fixed=True)),
        "the solid is seen flat or edge-on: 1 of 2 faces",
    ),
    "tiny": (
        lambda: with_thing("solid", lambda t: cube("red", 0.005).named("solid").at(SOLID_X, SOLID_Y)),
        "too small",
    ),
    "box hidden": (lambda: screened(BOX_X, BOX_Y, 0.09), "the box is hidden"),
    "box off-screen": (lambda: with_thing("box", lambda t: t.at(*FAR_AWAY)), "the box is off-screen"),
    "in the box already": (lambda: with_thing("solid", lambda t: t.at(BOX_X, BOX_Y, z=0.0245)), "it is done already"),
    "dark": (
        lambda: spoilt(lambda s: replace(s, lights=(), arena=replace(s.arena, ambient=0.0))),
        "the picture is too dark",
    ),
    "camera inside the robot": (lambda: seen_from((-0.615, 0.0, 0.25)), "the camera is inside of the robot"),
    "camera behind the robot's base": (lambda: seen_from((-1.1, -0.25, 0.12), (SOLID_X, SOLID_Y, 0.0)), "is hidden"),
    "camera turned away": (lambda: seen_from((1.0, 0.0, 0.8), (3.0, 0.0, 0.8)), "the box is off-screen"),
}
