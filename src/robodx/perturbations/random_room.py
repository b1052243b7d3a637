"""Rooms that no list has: how demonstrations come to be of more rooms than the familiar ones."""

from __future__ import annotations

import colorsys

import numpy as np

from robodx.perturbations.base import Perturbation, perturbation
from robodx.sim.colours import RGB, rgb
from robodx.sim.materials import MATERIALS, PLAIN
from robodx.sim.rooms import Room, light
from robodx.sim.scene import Arena, Scene

# Of so many rooms, the one on whose table the things stand out most.
DRAWN = 3


@perturbation("random_room", kind="scene", levels={"on": 1.0}, is_ordered=False, most=1.0)
class RandomRoom(Perturbation):
    """Draws the room at random: materials, colours and light of table, walls and floor.

    `robodx generate --random-rooms` has such rooms in its demonstrations. They are neither the familiar rooms nor the
    unseen ones of robustness, which stay for evaluation.
    """

    def scene(self, scene: Scene) -> Scene:
        rng = self.draws.rng()
        colours = {shape.colour or thing.colour for thing in scene.things for shape in thing.shapes}
        painted = np.array([rgb(colour) for colour in colours if colour] or [(1.0, 1.0, 1.0)])
        rooms = [_room(rng) for _ in range(DRAWN)]
        distances = [np.linalg.norm(painted - room.arena.table_colour, axis=1).min() for room in rooms]
        return rooms[int(np.argmax(distances))].around(scene)


def _room(rng: np.random.Generator) -> Room:
    table, wall, floor, sky = (_colour(rng) for _ in range(4))
    made_of = [str(name) for name in rng.choice([name for name in MATERIALS if name != PLAIN], 2)]
    arena = Arena(
        table_material=made_of[0], table_colour=table, table_second_colour=_shade(table, rng),
        wall_material=made_of[1], wall_colour=wall, wall_second_colour=_shade(wall, rng),
        floor_colour=floor, sky_colours=(sky, _shade(sky, rng)), ambient=float(rng.uniform(0.36, 0.5)),
    )  # fmt: skip
    warmth = float(rng.uniform(-0.25, 0.25))
    white = (1.0 + min(warmth, 0.0), 1.0 - abs(warmth) / 3, 1.0 - max(warmth, 0.0))
    around_rad, slant = float(rng.uniform(-np.pi, np.pi)), float(rng.uniform(0.3, 0.55))
    direction = (float(slant * np.cos(around_rad)), float(slant * np.sin(around_rad)), -1.0)
    return Room(arena, light(float(rng.uniform(0.5, 0.8)), white, direction))


def _colour(rng: np.random.Generator) -> RGB:
    """From dark to light, and less saturated than most things are."""
    return colorsys.hsv_to_rgb(float(rng.uniform()), float(rng.uniform(0.0, 0.6)), float(rng.uniform(0.12, 0.85)))


def _shade(colour: RGB, rng: np.random.Generator) -> RGB:
    share = float(rng.uniform(0.7, 1.3))
    red, green, blue = (min(share * part, 1.0) for part in colour)
    return red, green, blue
