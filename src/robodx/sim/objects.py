"""Parametric builders of things: each returns a declaration that can still be placed, renamed or changed."""

from __future__ import annotations

import math

from robodx.sim.geometry import Pose, about
from robodx.sim.scene import Part, Shape, Thing

UNPLACED = Pose()


def cube(colour: str, half_m: float = 0.02, *, size: str | None = None, mass_kg: float = 0.05) -> Thing:
    return Thing(
        f"{colour} cube", "cube", colour, (Shape("box", (half_m,) * 3),), (half_m,) * 3, UNPLACED, mass_kg, size=size
    )


def sphere(colour: str, radius_m: float = 0.02, *, size: str | None = None, mass_kg: float = 0.04) -> Thing:
    return Thing(
        f"{colour} sphere", "sphere", colour, (Shape("sphere", (radius_m,)),), (radius_m,) * 3, UNPLACED, mass_kg,
        size=size,
    )  # fmt: skip


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
    """A letter T lying flat: the bar along y, the stem towards -x."""
    half, t = bar_m / 2, thickness_m / 2
    bar = Shape("box", (t, half, t), Pose((half - t, 0, 0)))
    stem = Shape("box", (half - t, t, t), Pose((-t, 0, 0)))
    return Thing(f"{colour} T-block", "T-block", colour, (bar, stem), (half, half, t), UNPLACED, mass_kg)


def peg(colour: str, half_width_m: float = 0.015, length_m: float = 0.12, *, mass_kg: float = 0.08) -> Thing:
    """A square peg lying along x; its head at +x is darker, so that the insertion end can be told."""
    half, head = length_m / 2, 0.02
    shaft = Shape("box", (half - head / 2, half_width_m, half_width_m), Pose((-head / 2, 0, 0)))
    tip = Shape("box", (head / 2, half_width_m, half_width_m), Pose((half - head / 2, 0, 0)), colour="dark grey")
    return Thing(
        f"{colour} peg", "peg", colour, (shaft, tip), (half, half_width_m, half_width_m), UNPLACED, mass_kg,
        frames=(("tip", Pose((half, 0, 0))), ("grasp", Pose((-length_m / 6, 0, 0)))),
    )  # fmt: skip


def hole_block(
    colour: str, hole_half_m: float = 0.018, *, depth_m: float = 0.06, wall_m: float = 0.02, base_m: float = 0.022
) -> Thing:
    """A fixed block with a square hole along +x. The frame `hole` lies in the mouth, x pointing into the hole."""
    outer = hole_half_m + wall_m
    height = base_m + 2 * hole_half_m + wall_m
    bottom, centre = -height / 2, -height / 2 + base_m + hole_half_m
    walls = (
        Shape("box", (depth_m / 2, outer, base_m / 2), Pose((0, 0, bottom + base_m / 2))),
        Shape("box", (depth_m / 2, outer, wall_m / 2), Pose((0, 0, height / 2 - wall_m / 2))),
        *(
            Shape("box", (depth_m / 2, wall_m / 2, hole_half_m), Pose((0, side * (hole_half_m + wall_m / 2), centre)))
            for side in (-1, 1)
        ),
    )
    return Thing(
        f"{colour} box with a hole", "box with a hole", colour, walls, (depth_m / 2, outer, height / 2), UNPLACED,
        is_fixed=True, frames=(("hole", Pose((-depth_m / 2, 0, centre))),),
    )  # fmt: skip


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


PRONG_HALF_SPACING_M = 0.012
PRONG_HALF_WIDTH_M = 0.004
PRONG_LENGTH_M = 0.02


def charger(colour: str = "white", *, mass_kg: float = 0.06) -> Thing:
    """A two-prong plug lying on the table, prongs towards +x. The frame `tip` lies between the prong ends."""
    body_half = (0.025, 0.022, 0.018)
    half_x = body_half[0] + PRONG_LENGTH_M / 2
    prongs = tuple(
        Shape(
            "box",
            (PRONG_LENGTH_M / 2, PRONG_HALF_WIDTH_M, PRONG_HALF_WIDTH_M),
            Pose((half_x - PRONG_LENGTH_M / 2, side * PRONG_HALF_SPACING_M, 0)),
            colour="dark grey",
        )
        for side in (-1, 1)
    )
    body = Shape("box", body_half, Pose((-PRONG_LENGTH_M / 2, 0, 0)))
    return Thing(
        "charger", "charger", colour, (body, *prongs), (half_x, body_half[1], body_half[2]), UNPLACED, mass_kg,
        frames=(("tip", Pose((half_x, 0, 0))), ("grasp", Pose((-PRONG_LENGTH_M / 2, 0, 0)))),
    )  # fmt: skip


def receptacle(colour: str = "grey", *, clearance_m: float = 0.0005, height_m: float = 0.075) -> Thing:
    """A fixed socket with two square holes facing -x. The frame `hole` lies in its face, x pointing in."""
    depth, back, half_y = 0.03, 0.004, 0.035
    x = -back / 2
    hole = PRONG_HALF_WIDTH_M + clearance_m
    bottom, centre = -height_m / 2, 0.0
    below = (centre - hole) - bottom
    above = height_m / 2 - (centre + hole)
    inner, outer = PRONG_HALF_SPACING_M - hole, PRONG_HALF_SPACING_M + hole
    side_width = half_y - outer
    slabs = (
        Shape("box", (depth / 2, half_y, below / 2), Pose((x, 0, bottom + below / 2))),
        Shape("box", (depth / 2, half_y, above / 2), Pose((x, 0, height_m / 2 - above / 2))),
        Shape("box", (depth / 2, inner, hole), Pose((x, 0, centre))),
        *(
            Shape("box", (depth / 2, side_width / 2, hole), Pose((x, side * (outer + side_width / 2), centre)))
            for side in (-1, 1)
        ),
        Shape("box", (back / 2, half_y, height_m / 2), Pose((depth / 2, 0, 0)), colour="dark grey"),
    )
    return Thing(
        "receptacle", "receptacle", colour, slabs, ((depth + back) / 2, half_y, height_m / 2), UNPLACED, is_fixed=True,
        frames=(("hole", Pose((x - depth / 2, 0, centre))),),
    )  # fmt: skip


def goal_disc(colour: str = "green", radius_m: float = 0.1) -> Thing:
    """A painted disc on the table: it is seen and never touched."""
    half = 0.0005
    return Thing(
        f"{colour} disc", "disc", colour, (Shape("cylinder", (radius_m, half), collides=False),),
        (radius_m, radius_m, half), UNPLACED, is_fixed=True,
    )  # fmt: skip


SWITCH_TRAVEL_M = 0.008


def switch(colour: str = "red") -> Thing:
    """A push button on a base, with a lamp. `switch/button` slides down by SWITCH_TRAVEL_M against a spring."""
    base_half, cap_radius, cap_half, cap_x, lamp_radius = (0.05, 0.035, 0.0125), 0.018, 0.010, -0.015, 0.008
    # The cap sinks a little into the base; the box around the switch reaches from the table to the cap's top.
    height = 2 * (base_half[2] + cap_half) - 0.0015
    base_z, cap_z = base_half[2] - height / 2, height / 2 - cap_half
    cap = Part(
        "button",
        (Shape("cylinder", (cap_radius, cap_half), colour=colour),),
        "slide",
        (0.0, 0.0, -1.0),
        (0.0, SWITCH_TRAVEL_M),
        Pose((cap_x, 0.0, cap_z)),
        stiffness=400.0,
        damping=2.0,
    )
    base = Shape("box", base_half, Pose((0.0, 0.0, base_z)), colour="grey")
    lamp_pose = Pose((0.033, 0.0, base_z + base_half[2]))
    lamp = Shape("sphere", (lamp_radius,), lamp_pose, colour="dark grey", collides=False, name="lamp")
    return Thing(
        "switch", "switch", "dark grey", (base, lamp), (base_half[0], base_half[1], height / 2), UNPLACED,
        is_fixed=True, parts=(cap,), frames=(("button", Pose((cap_x, 0.0, height / 2))),),
    )  # fmt: skip
