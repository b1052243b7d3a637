"""What holds other things."""

from __future__ import annotations

import math

from robodx.sim.geometry import Pose, about
from robodx.sim.objects.base import UNPLACED
from robodx.sim.scene import Shape, Thing


def bin_(colour: str, *, cell_half_m: float = 0.018, cell_height_m: float = 0.008, half_m: float = 0.055) -> Thing:
    """A shallow tray with a raised square cell in its centre, in which a sphere of 20 mm radius comes to rest.

    The frame `cell` is the centre of the cell's floor. Walls are low: fingers around a sphere must not meet them.
    """
    floor, wall, rim_height = 0.004, 0.005, 0.012
    bottom = -(floor + rim_height) / 2
    parts: list[Shape] = [Shape("box", (half_m, half_m, floor / 2), Pose((0, 0, bottom + floor / 2)))]
    for inner, height in ((cell_half_m, cell_height_m), (half_m - wall, rim_height)):
        middle = bottom + floor + height / 2
        for side in (-1, 1):
            offset = side * (inner + wall / 2)
            parts.append(Shape("box", (wall / 2, inner + wall, height / 2), Pose((offset, 0, middle))))
            parts.append(Shape("box", (inner, wall / 2, height / 2), Pose((0, offset, middle))))
    return Thing(
        f"{colour} bin", "bin", colour, tuple(parts), (half_m, half_m, -bottom), UNPLACED, is_fixed=True,
        frames=(("cell", Pose((0, 0, bottom + floor))),), cavity_half=(half_m - wall, half_m - wall),
    )  # fmt: skip


def bowl(colour: str, *, floor_radius_m: float = 0.062, rim_radius_m: float = 0.085, height_m: float = 0.034) -> Thing:
    """A wide shallow bowl, with room for an open hand in the middle; what touches it meets twelve slanted planks.

    The frame `cell` is the centre of its floor.
    """
    floor, wall, planks = 0.004, 0.004, 12
    bottom, rise = -height_m / 2, height_m - floor
    slant_rad = math.atan2(rim_radius_m - floor_radius_m, rise)
    outer = rim_radius_m + wall * math.cos(slant_rad)
    plank = (wall / 2, outer * math.tan(math.pi / planks), rise / math.cos(slant_rad) / 2)
    # Its inner face runs from the edge of the floor to the rim.
    radius = (floor_radius_m + rim_radius_m) / 2 + wall / 2 * math.cos(slant_rad)
    z = bottom + floor + rise / 2 - wall / 2 * math.sin(slant_rad)
    across, down = wall * math.cos(slant_rad), wall * math.sin(slant_rad)
    # From its foot up its outside, over the rim and down to the middle, where its triangles must not vanish.
    outline = (
        (floor_radius_m + across, bottom), (floor_radius_m + across, bottom + floor - down),
        (outer, -bottom - down), (rim_radius_m, -bottom), (floor_radius_m, bottom + floor), (1e-5, bottom + floor),
    )  # fmt: skip
    floor_pose = Pose((0, 0, bottom + floor / 2))
    shapes = [
        Shape("turned", (), outline=outline, collides=False),
        Shape("cylinder", (floor_radius_m, floor / 2), floor_pose, is_drawn=False),
    ]
    for index in range(planks):
        turn_rad = 2 * math.pi * index / planks
        pose = Pose((radius, 0, z), about("y", slant_rad))
        shapes.append(Shape("box", plank, Pose((0, 0, 0), about("z", turn_rad)) @ pose, is_drawn=False))
    return Thing(
        f"{colour} bowl", "bowl", colour, tuple(shapes), (outer, outer, height_m / 2), UNPLACED, is_fixed=True,
        # The widest square that lies within the rim.
        frames=(("cell", Pose((0, 0, bottom + floor))),), cavity_half=(rim_radius_m / math.sqrt(2),) * 2,
    )  # fmt: skip


def open_box(colour: str, *, cavity_half_m: float = 0.056, height_m: float = 0.03) -> Thing:
    """A square box with a flat floor and no lid, with room for an open hand in the middle, however it is turned.

    The frame `cell` is the centre of its floor.
    """
    floor, wall = 0.004, 0.005
    bottom, rise = -height_m / 2, height_m - floor
    outer, middle = cavity_half_m + wall, bottom + floor + rise / 2
    parts = [Shape("box", (outer, outer, floor / 2), Pose((0, 0, bottom + floor / 2)))]
    for side in (-1, 1):
        offset = side * (cavity_half_m + wall / 2)
        parts.append(Shape("box", (wall / 2, outer, rise / 2), Pose((offset, 0, middle))))
        parts.append(Shape("box", (cavity_half_m, wall / 2, rise / 2), Pose((0, offset, middle))))
    return Thing(
        f"{colour} box", "box", colour, tuple(parts), (outer, outer, height_m / 2), UNPLACED, is_fixed=True,
        frames=(("cell", Pose((0, 0, bottom + floor))),), cavity_half=(cavity_half_m, cavity_half_m),
    )  # fmt: skip


def crate(colour: str, half_m: float = 0.05, height_m: float = 0.03) -> Thing:
    """A low closed crate: things stand on it or beside it."""
    half = (half_m, half_m, height_m / 2)
    return Thing(f"{colour} crate", "crate", colour, (Shape("box", half),), half, UNPLACED, is_fixed=True)
