"""What holds other things."""

from __future__ import annotations

from robodx.sim.geometry import Pose
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
