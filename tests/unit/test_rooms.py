"""Rooms: what tables and walls are made of, and which room a seed of a task stands in."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import mujoco
import numpy as np
import pytest

from robodx.registry import UnknownName
from robodx.sim import materials
from robodx.sim.colours import PALETTE
from robodx.sim.objects import cube
from robodx.sim.rooms import FAMILIAR_ROOMS, UNSEEN_ROOMS
from robodx.sim.scene import LIGHTS, Arena, tabletop
from robodx.sim.simulation import Simulation
from robodx.tasks.base import TASKS, Task

LIGHT, DARK = (0.8, 0.6, 0.4), (0.7, 0.5, 0.3)
DRAWN = [name for name in materials.MATERIALS if name != materials.PLAIN]


def pixels(name: str) -> np.ndarray[tuple[int, ...], np.dtype[np.int16]]:
    made = materials.picture(name, LIGHT, DARK)
    assert made is not None
    shape = (materials.PIXELS, materials.PIXELS, 3)
    return np.frombuffer(made.rgb, dtype=np.uint8).reshape(shape).astype(np.int16)


@pytest.mark.parametrize("name", DRAWN)
def test_a_material_lies_between_its_colours_and_has_no_seams(name: str) -> None:
    shades = pixels(name)
    assert shades.std(axis=(0, 1)).min() > 2.0
    assert (shades >= np.floor(255 * np.array(DARK))).all() and (shades <= np.ceil(255 * np.array(LIGHT))).all()
    for axis in (0, 1):
        steps = np.abs(np.diff(shades, axis=axis, append=shades.take([0], axis=axis))).mean(axis=(1 - axis, 2))
        assert steps[-1] <= steps[:-1].max()


def test_a_material_is_the_same_at_every_call() -> None:
    first = pixels("marble")
    materials.picture.cache_clear()
    assert (pixels("marble") == first).all()


def test_an_unknown_material_is_told_with_the_valid_ones() -> None:
    with pytest.raises(UnknownName, match=r'No material "wod". Did you mean "wood"'):
        Arena(table_material="wod")


def test_a_wall_is_drawn_and_nothing_touches_it(simulate: Callable[..., Simulation]) -> None:
    model = simulate(cube("red").at(0.0, 0.0)).model
    wall = model.geom("arena/back_wall")
    assert wall.type[0] == mujoco.mjtGeom.mjGEOM_PLANE and not wall.contype[0] and not wall.conaffinity[0]


def test_rooms_differ_and_objects_stand_out_on_every_table() -> None:
    rooms = (*FAMILIAR_ROOMS, *UNSEEN_ROOMS)
    assert len(set(rooms)) == len(rooms)
    for room in FAMILIAR_ROOMS:
        table = np.array(room.arena.table_colour)
        for colour in ("red", "green", "blue", "yellow", "orange", "purple", "pink", "white"):
            assert np.abs(table - PALETTE[colour]).max() > 0.12, (colour, room.arena)


def varied(*, has_own_room: bool) -> Task:
    """A task that varies the room, and makes the usual one or one of its own."""
    source = TASKS["control/stack_cube"]
    scene = UNSEEN_ROOMS[0].around(tabletop()) if has_own_room else tabletop()
    made = replace(source.situation(0), scene=scene)
    return replace(source, situate=lambda streams: made, varies=("arena",))


def test_a_task_that_varies_the_room_stands_in_every_familiar_one() -> None:
    scenes = [varied(has_own_room=False).situation(seed).scene for seed in range(12 * len(FAMILIAR_ROOMS))]
    assert {(scene.arena, scene.lights) for scene in scenes} == {(room.arena, (room.light,)) for room in FAMILIAR_ROOMS}


def test_a_task_with_a_room_of_its_own_keeps_it_and_others_have_the_usual_one() -> None:
    assert varied(has_own_room=True).situation(3).scene.arena == UNSEEN_ROOMS[0].arena
    usual = replace(varied(has_own_room=False), varies=()).situation(3).scene
    assert (usual.arena, usual.lights) == (Arena(), LIGHTS)
