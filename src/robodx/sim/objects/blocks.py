"""Loose things to take hold of."""

from __future__ import annotations

import math

from robodx.sim.geometry import Pose, about
from robodx.sim.objects.base import UNPLACED
from robodx.sim.scene import Shape, Thing

# Stripes stand out from the faces by this, so that the two do not flicker through each other.
STRIPE_RAISE_M = 0.0003


def cube(colour: str, half_m: float = 0.02, *, is_striped: bool = False, mass_kg: float = 0.05) -> Thing:
    """A striped one wears two white bands all around, which are seen and not felt."""
    body, name = Shape("box", (half_m,) * 3), f"{colour} cube"
    if not is_striped:
        return Thing(name, "cube", colour, (body,), (half_m,) * 3, UNPLACED, mass_kg)
    side = half_m + STRIPE_RAISE_M
    stripes = (
        Shape("box", (side, 0.18 * half_m, side), Pose((0, y * half_m, 0)), colour="white", collides=False)
        for y in (-0.45, 0.45)
    )
    return Thing(f"striped {name}", "cube", colour, (body, *stripes), (half_m,) * 3, UNPLACED, mass_kg, is_striped=True)


def sphere(colour: str, radius_m: float = 0.02, *, mass_kg: float = 0.04) -> Thing:
    return Thing(
        f"{colour} sphere", "sphere", colour, (Shape("sphere", (radius_m,)),), (radius_m,) * 3, UNPLACED, mass_kg
    )


def cylinder(colour: str, radius_m: float = 0.02, height_m: float = 0.05, *, mass_kg: float = 0.05) -> Thing:
    half = height_m / 2
    return Thing(
        f"{colour} cylinder", "cylinder", colour, (Shape("cylinder", (radius_m, half)),), (radius_m, radius_m, half),
        UNPLACED, mass_kg,
    )  # fmt: skip


def triangular_block(colour: str, side_m: float = 0.05, depth_m: float = 0.04, *, mass_kg: float = 0.04) -> Thing:
    """A roof lying on its face: an equilateral triangle in the xz plane, extruded along y."""
    half, height = side_m / 2, side_m * math.sqrt(3) / 2
    outline = ((-half, -height / 2), (half, -height / 2), (0.0, height / 2))
    # The outline lies in xy and is extruded along z; a quarter turn about x stands it up.
    roof = Shape("prism", (depth_m / 2,), Pose((0, 0, 0), about("x", math.pi / 2)), outline=outline)
    return Thing(
        f"{colour} triangular block", "triangular block", colour, (roof,), (half, depth_m / 2, height / 2), UNPLACED,
        mass_kg,
    )  # fmt: skip


def t_block(colour: str, bar_m: float = 0.06, thickness_m: float = 0.02, *, mass_kg: float = 0.05) -> Thing:
    """A letter T lying flat: the bar along y, the stem towards -x, by which it is held."""
    half, t = bar_m / 2, thickness_m / 2
    bar = Shape("box", (t, half, t), Pose((half - t, 0, 0)))
    stem = Shape("box", (half - t, t, t), Pose((-t, 0, 0)))
    return Thing(
        f"{colour} T-block", "T-block", colour, (bar, stem), (half, half, t), UNPLACED, mass_kg,
        # Above its middle, for it is so flat that fingers around that would meet the table.
        frames=(("grasp", Pose((-t, 0, 0.4 * t))),),
    )  # fmt: skip


def peg(colour: str, half_width_m: float = 0.015, length_m: float = 0.12, *, mass_kg: float = 0.08) -> Thing:
    """A square peg lying along x; its head at +x is darker, so that the insertion end can be told."""
    half, head = length_m / 2, 0.02
    shaft = Shape("box", (half - head / 2, half_width_m, half_width_m), Pose((-head / 2, 0, 0)))
    tip = Shape("box", (head / 2, half_width_m, half_width_m), Pose((half - head / 2, 0, 0)), colour="dark grey")
    return Thing(
        f"{colour} peg", "peg", colour, (shaft, tip), (half, half_width_m, half_width_m), UNPLACED, mass_kg,
        frames=(("tip", Pose((half, 0, 0))), ("grasp", Pose((-length_m / 6, 0, 0)))),
    )  # fmt: skip


def banded_peg(
    *bands: str, colour: str = "white", half_width_m: float = 0.015, length_m: float = 0.12, mass_kg: float = 0.08
) -> Thing:
    """A square peg lying along x with bands around it, between them and at both ends its own colour."""
    gap = 0.008
    pitch = (length_m - gap) / len(bands)
    start = (gap - length_m) / 2
    own = [(start + index * pitch, gap, None) for index in range(len(bands) + 1)]
    painted = [(start + (index + 0.5) * pitch, pitch - gap, band) for index, band in enumerate(bands)]
    shapes = tuple(
        Shape("box", (width / 2, half_width_m, half_width_m), Pose((x, 0, 0)), colour=paint)
        for x, width, paint in (*own, *painted)
    )
    return Thing(
        f"{'-'.join(bands)} peg", "peg", colour, shapes, (length_m / 2, half_width_m, half_width_m), UNPLACED, mass_kg,
        bands=bands,
    )  # fmt: skip
