"""Rooms that a task can stand in: the familiar ones, and those that only robustness shows."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from robodx.sim.colours import RGB
from robodx.sim.geometry import Vector
from robodx.sim.scene import LIGHTS, Arena, Light, Scene

# Where the middle of a light's beam meets the table, and how far away the lamp hangs.
_AIM, _LAMP_M = (-0.1, 0.0), 2.2


class Room(NamedTuple):
    """Table, wall, floor and the light that falls on them."""

    arena: Arena
    light: Light

    def around(self, scene: Scene) -> Scene:
        return replace(scene, arena=self.arena, lights=(self.light,))


def light(brightness: float, colour: RGB = (1.0, 1.0, 1.0), direction: Vector = LIGHTS[0].direction) -> Light:
    """The usual lamp, as bright and as warm as this, shining this way onto the middle of the table."""
    x, y, z = direction
    position = (_AIM[0] + _LAMP_M * x / z, _AIM[1] + _LAMP_M * y / z, _LAMP_M)
    return replace(LIGHTS[0], position=position, direction=direction, brightness=brightness, colour=colour)


# Tables on which every colour of an object stands out, in light that is nearly white.
FAMILIAR_ROOMS: tuple[Room, ...] = (
    Room(Arena(), LIGHTS[0]),
    Room(
        Arena(
            table_material="cloth", table_colour=(0.55, 0.61, 0.66), table_second_colour=(0.47, 0.53, 0.58),
            wall_material="plaster", wall_colour=(0.82, 0.78, 0.68), wall_second_colour=(0.76, 0.72, 0.62),
            floor_colour=(0.44, 0.38, 0.32), ambient=0.44,
        ),
        light(0.57, (1.0, 0.97, 0.93), (-0.15, -0.51, -1.0)),
    ),
    Room(
        Arena(
            table_material="marble", table_colour=(0.70, 0.70, 0.67), table_second_colour=(0.60, 0.60, 0.58),
            wall_material="wood", wall_colour=(0.62, 0.50, 0.38), wall_second_colour=(0.54, 0.42, 0.31),
            floor_colour=(0.36, 0.36, 0.38),
        ),
        light(0.6, (0.97, 0.98, 1.0), (-0.30, 0.44, -1.0)),
    ),
    Room(
        Arena(
            table_material="tiles", table_colour=(0.70, 0.60, 0.52), table_second_colour=(0.62, 0.53, 0.46),
            wall_material="plaster", wall_colour=(0.66, 0.72, 0.70), wall_second_colour=(0.60, 0.66, 0.64),
            floor_colour=(0.50, 0.47, 0.43), ambient=0.4,
        ),
        light(0.63, (1.0, 0.98, 0.95), (-0.20, 0.49, -1.0)),
    ),
    Room(
        Arena(
            table_material="plaster", table_colour=(0.56, 0.59, 0.53), table_second_colour=(0.49, 0.52, 0.47),
            wall_material="tiles", wall_colour=(0.80, 0.81, 0.82), wall_second_colour=(0.66, 0.68, 0.70),
            floor_colour=(0.40, 0.42, 0.44), ambient=0.43,
        ),
        light(0.58, (0.96, 0.98, 1.0), (-0.40, 0.35, -1.0)),
    ),
    Room(
        Arena(
            table_material="wood", table_colour=(0.80, 0.71, 0.58), table_second_colour=(0.72, 0.62, 0.48),
            wall_material="cloth", wall_colour=(0.58, 0.63, 0.70), wall_second_colour=(0.52, 0.57, 0.64),
            floor_colour=(0.46, 0.42, 0.40),
        ),
        light(0.57, (1.0, 0.97, 0.92), (-0.25, -0.47, -1.0)),
    ),
    Room(
        Arena(
            table_material="cloth", table_colour=(0.70, 0.63, 0.57), table_second_colour=(0.62, 0.55, 0.49),
            wall_material="wood", wall_colour=(0.74, 0.66, 0.54), wall_second_colour=(0.66, 0.58, 0.46),
            floor_colour=(0.34, 0.33, 0.35), ambient=0.4,
        ),
        light(0.62, (1.0, 1.0, 0.97), (-0.10, 0.52, -1.0)),
    ),
    Room(
        Arena(
            table_material="wood", table_colour=(0.54, 0.43, 0.33), table_second_colour=(0.46, 0.35, 0.26),
            wall_material="marble", wall_colour=(0.78, 0.76, 0.72), wall_second_colour=(0.62, 0.60, 0.58),
            floor_colour=(0.55, 0.54, 0.52), ambient=0.44,
        ),
        light(0.58, (0.98, 0.99, 1.0), (-0.43, -0.31, -1.0)),
    ),
)  # fmt: skip

# Dark tables, on which all of the unseen colours stand out, and light from lamps of other colours.
UNSEEN_ROOMS: tuple[Room, ...] = (
    Room(
        Arena(
            table_material="tiles", table_colour=(0.15, 0.17, 0.21), table_second_colour=(0.26, 0.29, 0.34),
            wall_material="plaster", wall_colour=(0.62, 0.40, 0.30), wall_second_colour=(0.54, 0.34, 0.26),
            floor_colour=(0.62, 0.58, 0.52), sky_colours=((0.98, 0.86, 0.70), (0.85, 0.60, 0.45)),
        ),
        light(0.75, (1.0, 0.88, 0.72)),
    ),
    Room(
        Arena(
            table_material="cloth", table_colour=(0.07, 0.24, 0.17), table_second_colour=(0.05, 0.17, 0.12),
            wall_material="wood", wall_colour=(0.34, 0.22, 0.15), wall_second_colour=(0.25, 0.16, 0.11),
            floor_colour=(0.30, 0.22, 0.17), sky_colours=((0.86, 0.90, 0.82), (0.58, 0.68, 0.56)), ambient=0.5,
        ),
        light(0.5, (1.0, 1.0, 0.92)),
    ),
    Room(
        Arena(
            table_material="wood", table_colour=(0.30, 0.09, 0.13), table_second_colour=(0.20, 0.06, 0.09),
            wall_material="tiles", wall_colour=(0.34, 0.33, 0.46), wall_second_colour=(0.48, 0.47, 0.60),
            floor_colour=(0.20, 0.21, 0.24), sky_colours=((0.55, 0.52, 0.66), (0.30, 0.28, 0.40)), ambient=0.38,
        ),
        light(0.8, (0.88, 0.92, 1.0)),
    ),
    Room(
        Arena(
            table_material="marble", table_colour=(0.22, 0.14, 0.10), table_second_colour=(0.35, 0.24, 0.17),
            wall_material="plaster", wall_colour=(0.45, 0.50, 0.36), wall_second_colour=(0.38, 0.43, 0.30),
            floor_colour=(0.55, 0.57, 0.60), sky_colours=((0.92, 0.93, 0.95), (0.70, 0.74, 0.80)), ambient=0.46,
        ),
        light(0.65, (0.86, 0.95, 1.0)),
    ),
    Room(
        Arena(
            table_material="plaster", table_colour=(0.09, 0.12, 0.30), table_second_colour=(0.13, 0.17, 0.38),
            wall_material="cloth", wall_colour=(0.30, 0.46, 0.48), wall_second_colour=(0.22, 0.36, 0.38),
            floor_colour=(0.48, 0.46, 0.38), sky_colours=((0.62, 0.80, 0.80), (0.35, 0.55, 0.58)), ambient=0.44,
        ),
        light(0.6, (1.0, 0.94, 0.84)),
    ),
)  # fmt: skip
