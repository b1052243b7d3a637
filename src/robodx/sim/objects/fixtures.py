"""What stands on the table for others to go into, onto or against, and devices."""

from __future__ import annotations

import math
from dataclasses import replace

from robodx.sim.geometry import Pose, about
from robodx.sim.objects.base import UNPLACED
from robodx.sim.scene import Part, Shape, Thing


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
        f"{colour} block with a hole", "block with a hole", colour, walls, (depth_m / 2, outer, height / 2), UNPLACED,
        is_fixed=True, frames=(("hole", Pose((-depth_m / 2, 0, centre))),),
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


def slot_board(colour: str = "brown", slot_half_m: float = 0.021, *, rim_m: float = 0.025) -> Thing:
    """A fixed board with a square slot whose dark floor can be seen; `cavity_half` is half the slot's width."""
    outer, half_height, floor_half = slot_half_m + rim_m, 0.008, 0.001
    rims = tuple(
        shape
        for side in (-1, 1)
        for shape in (
            Shape("box", (rim_m / 2, outer, half_height), Pose((side * (slot_half_m + rim_m / 2), 0, 0))),
            Shape("box", (slot_half_m, rim_m / 2, half_height), Pose((0, side * (slot_half_m + rim_m / 2), 0))),
        )
    )
    floor = Shape("box", (slot_half_m, slot_half_m, floor_half), Pose((0, 0, floor_half - half_height)), colour="black")
    return Thing(
        f"{colour} slot", "slot", colour, (*rims, floor), (outer, outer, half_height), UNPLACED, is_fixed=True,
        cavity_half=(slot_half_m, slot_half_m),
    )  # fmt: skip


SWITCH_TRAVEL_M = 0.008


def switch(colour: str = "red") -> Thing:
    """A push button on a base, with a lamp. `switch/button` slides down by SWITCH_TRAVEL_M against a spring.

    Its colour is that of the button.
    """
    base_half, cap_radius, cap_half, cap_x, lamp_radius = (0.05, 0.035, 0.0125), 0.018, 0.010, -0.015, 0.014
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
        "switch", "switch", colour, (base, lamp), (base_half[0], base_half[1], height / 2), UNPLACED,
        is_fixed=True, parts=(cap,), frames=(("button", Pose((cap_x, 0.0, height / 2))),),
    )  # fmt: skip


def lamp(colour: str = "dark grey") -> Thing:
    """A signal on a stand; its bulb `lamp/lamp` is dark until an event lights it."""
    foot_radius, foot_half, pole_radius, bulb_radius, height = 0.032, 0.005, 0.007, 0.026, 0.12
    bottom, top = -height / 2, height / 2
    pole_half = (height - 2 * foot_half - bulb_radius) / 2
    shapes = (
        Shape("cylinder", (foot_radius, foot_half), Pose((0, 0, bottom + foot_half)), colour="grey"),
        Shape("cylinder", (pole_radius, pole_half), Pose((0, 0, bottom + 2 * foot_half + pole_half)), colour="grey"),
        Shape("sphere", (bulb_radius,), Pose((0, 0, top - bulb_radius)), collides=False, name="lamp"),
    )
    return Thing("lamp", "lamp", colour, shapes, (foot_radius, foot_radius, top), UNPLACED, is_fixed=True)


def ramp(
    colour: str = "grey",
    *,
    slope_rad: float = 0.29,
    length_m: float = 0.36,
    half_width_m: float = 0.045,
    shelter_m: float = 0.07,
) -> Thing:
    """A slope down towards +x with a belt on it, at whose foot a shelter takes in what was carried down.

    The frame `top` lies in the middle of the belt's upper edge, x pointing downhill and z away from the belt.
    """
    belt_half, wall, room = 0.002, 0.004, 0.056
    run, rise = length_m * math.cos(slope_rad), length_m * math.sin(slope_rad)
    # From here to the end all is said from the foot of the upper end, and then from the centre of the box around it.
    crown = Pose((0.0, 0.0, rise), about("y", slope_rad))
    belt = Shape(
        "box",
        (length_m / 2, half_width_m, belt_half),
        crown @ Pose((length_m / 2, 0.0, belt_half)),
        colour="dark grey",
        surface_velocity=(1.0, 0.0, 0.0),
    )
    upright = Pose((0.0, 0.0, 0.0), about("x", math.pi / 2))
    wedge = Shape("prism", (half_width_m,), upright, outline=((0.0, 0.0), (run, 0.0), (0.0, rise)))
    middle = length_m - shelter_m / 2
    surface = 2 * belt_half
    walls = (
        *(
            Shape(
                "box",
                (shelter_m / 2, wall / 2, room / 2),
                crown @ Pose((middle, side * (half_width_m - wall / 2), surface + room / 2)),
            )
            for side in (-1, 1)
        ),
        Shape(
            "box",
            (wall / 2, half_width_m - wall, room / 2),
            crown @ Pose((length_m - wall / 2, 0.0, surface + room / 2)),
        ),
        Shape(
            "box",
            (shelter_m / 2, half_width_m, wall / 2),
            crown @ Pose((middle, 0.0, surface + room + wall / 2)),
        ),
    )
    highest, furthest = crown.apply((0.0, 0.0, surface)), crown.apply((length_m, 0.0, surface + room + wall))
    half = (furthest[0] / 2, half_width_m, highest[2] / 2)
    centre = Pose((-half[0], 0.0, -half[2]))
    shapes = tuple(replace(shape, pose=centre @ shape.pose) for shape in (wedge, belt, *walls))
    top = centre @ crown @ Pose((0.0, 0.0, surface))
    return Thing("ramp", "ramp", colour, shapes, half, UNPLACED, is_fixed=True, frames=(("top", top),))


def conveyor(colour: str = "grey", *, length_m: float = 0.8, half_width_m: float = 0.05) -> Thing:
    """A flat belt along x between two rails. The frame `belt` lies in the middle of its upper face."""
    half_length, half_rail, half_height = length_m / 2, 0.005, 0.006
    belt_half = (half_length, half_width_m, half_height)
    belt = Shape("box", belt_half, colour="dark grey", surface_velocity=(1.0, 0.0, 0.0))
    rails = tuple(
        Shape("box", (half_length, half_rail, half_height), Pose((0.0, side * (half_width_m + half_rail), 0.0)))
        for side in (-1, 1)
    )
    return Thing(
        "conveyor", "conveyor", colour, (belt, *rails), (half_length, half_width_m + 2 * half_rail, half_height),
        UNPLACED, is_fixed=True, frames=(("belt", Pose((0.0, 0.0, half_height))),),
    )  # fmt: skip
