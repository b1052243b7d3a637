"""Light, table, room and cameras: all that is changed without touching a thing."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from robodx.interventions.base import NotApplicable
from robodx.sim.colours import RGB
from robodx.sim.rooms import FAMILIAR_ROOMS, UNSEEN_ROOMS, Room, light
from robodx.sim.scene import Arena, Camera, Light, Scene
from robodx.situations.attributes import colour_word
from robodx.tasks.base import Situation

ROOMS = {"familiar": FAMILIAR_ROOMS, "unseen": UNSEEN_ROOMS}


def with_scene(situation: Situation, scene: Scene) -> Situation:
    if scene == situation.scene:
        raise NotApplicable("it is so already")
    return replace(situation, scene=scene)


def with_lights(situation: Situation, lights: Sequence[Light]) -> Situation:
    return with_scene(situation, replace(situation.scene, lights=tuple(lights)))


def brightness_of(situation: Situation) -> float:
    return sum(one.brightness for one in situation.scene.lights)


def brightened(situation: Situation, brightness: float) -> Situation:
    """As bright as this in all."""
    now = brightness_of(situation)
    if not now:
        raise NotApplicable("there is no light")
    return with_lights(
        situation, [replace(one, brightness=one.brightness * brightness / now) for one in situation.scene.lights]
    )


def key_light(situation: Situation) -> Light:
    if len(situation.scene.lights) != 1:
        raise NotApplicable("there is more than one light, or none")
    return situation.scene.lights[0]


def shining(situation: Situation, azimuth_rad: float) -> Situation:
    """As steeply as before, towards this side: 0 goes away from the robot, a quarter turn to its left."""
    key = key_light(situation)
    dx, dy, dz = key.direction
    flat = math.hypot(dx, dy)
    direction = (flat * math.cos(azimuth_rad), flat * math.sin(azimuth_rad), dz)
    return with_lights(situation, [light(key.brightness, key.colour, direction)])


def coloured(situation: Situation, colour: RGB) -> Situation:
    return with_lights(situation, [replace(key_light(situation), colour=colour)])


def in_arena(situation: Situation, arena: Arena) -> Situation:
    return with_scene(situation, replace(situation.scene, arena=arena))


def coloured_like(part: str) -> dict[str, Arena]:
    """By the word for the colour of its table, walls or floor, the first room that has it."""
    found: dict[str, Arena] = {}
    for room in (*FAMILIAR_ROOMS, *UNSEEN_ROOMS):
        found.setdefault(colour_word(getattr(room.arena, f"{part}_colour")), room.arena)
    return found


def other_walls(situation: Situation, rng: np.random.Generator) -> Situation:
    """The walls of another familiar room, around the same table."""
    return _of_another_room(situation, "wall", rng)


def other_table(situation: Situation, rng: np.random.Generator) -> Situation:
    """The table of another familiar room, between the same walls."""
    return _of_another_room(situation, "table", rng)


def _of_another_room(situation: Situation, part: str, rng: np.random.Generator) -> Situation:
    here = situation.scene.arena
    names = [f"{part}_{name}" for name in ("colour", "second_colour", "material")]
    others = [replace(here, **{name: getattr(room.arena, name) for name in names}) for room in FAMILIAR_ROOMS]
    others = [arena for arena in others if arena != here]
    return in_arena(situation, others[int(rng.integers(len(others)))])


def is_familiar(situation: Situation) -> bool:
    return any(room.arena == situation.scene.arena for room in FAMILIAR_ROOMS)


def in_room(situation: Situation, rooms: Sequence[Room], rng: np.random.Generator) -> Situation:
    """Any other of these."""
    others = [room for room in rooms if room.arena != situation.scene.arena]
    return with_scene(situation, others[int(rng.integers(len(others)))].around(situation.scene))


def with_cameras(situation: Situation, cameras: Sequence[Camera]) -> Situation:
    return with_scene(situation, replace(situation.scene, cameras=tuple(cameras)))


def any_way(rng: np.random.Generator, length_m: float) -> tuple[float, float, float]:
    x, y, z = rng.normal(size=3)
    share = length_m / math.hypot(x, y, z)
    return float(share * x), float(share * y), float(share * z)
