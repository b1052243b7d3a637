"""Things of one colour: spheres, cylinders, cubes, T-blocks, bins and the like, told by their shape alone."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from robodx.sight.cloud import Points
from robodx.sight.fitting import FACING, UPRIGHT, Box, facing, fit_box, fit_circle, fit_sphere, is_slanted
from robodx.sight.segment import colour_word
from robodx.sight.sighting import (
    UNKNOWN,
    Sighting,
    along_narrow,
    along_wide,
    is_equal,
    is_sized,
    measured,
    span,
    standing,
    stands,
    towards,
)
from robodx.sim.geometry import Array, Pose, about
from robodx.sim.objects import (
    bin_,
    bowl,
    crate,
    cube,
    cylinder,
    goal_disc,
    hole_block,
    open_box,
    peg,
    sphere,
    t_block,
    triangular_block,
)
from robodx.sim.scene import Thing

# A sphere's points lie this near its surface, as a share of its radius; beyond these radii it is a part of something.
ROUND_SHARE = 0.05
SPHERE_RADII_M = (0.006, 0.045)
# Drawn as a polyhedron, a sphere is a little smaller and darker than it is.
DRAWN_SHARE = 0.98
DRAWN_LIGHT = 0.95
# Below, what has upright sides is round; cylinders come to 0.3, boxes to 0.55 and more.
SQUARE = 0.45
CYLINDER_SIDEWAYS = 0.2
# The share of slanted points from which a thing is a roof, and a wide one a bowl.
ROOF_SLANTED, BOWL_SLANTED = 0.45, 0.25
# Points this near the highest one are a bowl's rim.
RIM_M = 0.003
# Lower is a plate, of whose edges too little is seen to tell whether they are slanted or round.
PLATE_HALF_M = 0.012
# A rod is this much longer than wide, and thin enough to be held.
LONG = 2.2
ROD_HALF_M, ROD_HALF_LENGTH_M = 0.025, 0.08
# A T covers little more than half of the square around it; of what covers less the top is hidden.
T_LEAST, T_FILL = 0.3, 0.8
T_FLAT = 0.6
FILL_CELL_M = 0.008
# Of cubes that touch each other: their half sides, and how near the whole must be to a multiple of one.
CUBE_HALVES_M = (0.01, 0.035)
MULTIPLE = 0.1
SMALLEST_DISC_M = 0.015


def single_colour(points: Points, colour: str) -> Iterator[Sighting]:
    """What is made out in points of one colour; several things where cubes touch."""
    if points.is_paint.mean() > 0.5:
        yield from _disc(points, colour)
        return
    ball = fit_sphere(points.xyz)
    if SPHERE_RADII_M[0] < ball.radius < SPHERE_RADII_M[1] and ball.error_m < ROUND_SHARE * ball.radius:
        word = colour_word(points.colours / DRAWN_LIGHT)
        yield Sighting(sphere(word, ball.radius / DRAWN_SHARE), Pose(ball.centre), len(points.xyz))
        return
    ways, box = facing(points), fit_box(points)
    is_plate = box.half[2] < PLATE_HALF_M
    rim = _rim(points) if ways.slanted > BOWL_SLANTED else None
    if rim is not None and is_sized(rim, bowl(colour)):
        yield standing(bowl(colour), points, rim)
    elif ways.slanted > ROOF_SLANTED and not is_plate:
        yield _roof(points, colour)
    elif box.squareness < SQUARE and ways.sideways > CYLINDER_SIDEWAYS and not is_plate:
        yield _cylinder(points, colour)
    else:
        yield from _touching_cubes(points, colour, box) or [_boxlike(points, colour, box)]


def is_rod(box: Box) -> bool:
    """Long and thin, as pegs are."""
    narrow, wide = sorted(box.half[:2])
    return LONG * narrow < wide < ROD_HALF_LENGTH_M and narrow < ROD_HALF_M and is_equal(narrow, box.half[2])


def _rim(points: Points) -> Box:
    """The box around something round, by the circle of its highest points; its turn is nothing."""
    bottom, top = span(points)
    circle = fit_circle(points.xyz[points.xyz[:, 2] > top - RIM_M, :2])
    centre = (circle.x, circle.y, (bottom + top) / 2)
    return Box(centre, (circle.radius, circle.radius, (top - bottom) / 2), 0.0, 0.0)


def _boxlike(points: Points, colour: str, box: Box) -> Sighting:
    half_x, half_y, half_z = box.half
    narrow, wide = sorted((half_x, half_y))
    if is_sized(box, bin_(colour)):
        return standing(bin_(colour), points, box)
    if is_sized(box, crate(colour)):
        return standing(crate(colour, wide, 2 * half_z), points, box)
    if is_sized(box, open_box(colour)):
        return standing(open_box(colour), points, box)
    if is_sized(box, hole_block(colour)):
        return standing(hole_block(colour), points, along_narrow(box))
    if is_equal(half_x, half_y) and half_z < T_FLAT * wide and T_LEAST < _fill(points, box) < T_FILL:
        return _t_block(points, colour, box)
    # What is seen of a cube in a bowl may be flatter than it is.
    if is_equal(half_x, half_y) and (is_equal(narrow, half_z) or not stands(points)):
        return measured(cube(colour, (half_x + half_y) / 2), points, box)
    if is_rod(box):
        return measured(peg(colour, narrow, 2 * wide), points, along_wide(box))
    return measured(Thing(f"{colour} {UNKNOWN}", UNKNOWN, colour, (), box.half, Pose()), points, box)


def _disc(points: Points, colour: str) -> Iterator[Sighting]:
    low, high = points.xyz[:, :2].min(axis=0), points.xyz[:, :2].max(axis=0)
    half_x, half_y = ((high - low) / 2).tolist()
    if min(half_x, half_y) > SMALLEST_DISC_M:
        x, y = ((high + low) / 2).tolist()
        disc = goal_disc(colour, (half_x + half_y) / 2)
        yield Sighting(disc, Pose((x, y, disc.half_extents[2])), len(points.xyz))


def _cylinder(points: Points, colour: str) -> Sighting:
    is_side = np.abs(points.normals[:, 2]) < UPRIGHT
    circle = fit_circle(points.xyz[is_side, :2])
    bottom, top = span(points)
    made = cylinder(colour, circle.radius, top - bottom)
    return Sighting(made, Pose((circle.x, circle.y, (top + bottom) / 2)), len(points.xyz))


def _roof(points: Points, colour: str) -> Sighting:
    """A triangular block lies along the edge that its two slopes share: across it they face opposite ways."""
    slopes = points.normals[is_slanted(points)]
    yaw = float(np.angle(np.exp(2j * np.arctan2(slopes[:, 1], slopes[:, 0])).mean())) / 2
    turn = Pose(quaternion=about("z", yaw))
    inside = points.xyz @ turn.matrix
    low, high = inside.min(axis=0), inside.max(axis=0)
    x, y, _ = turn.apply(tuple(((low + high) / 2).tolist()))
    bottom, top = span(points)
    made = triangular_block(colour, float(high[0] - low[0]), float(high[1] - low[1]))
    return Sighting(made, Pose((x, y, (top + bottom) / 2), turn.quaternion), len(points.xyz))


def _t_block(points: Points, colour: str, box: Box) -> Sighting:
    """The bar is the heavier end."""
    x, y = (_top(points).mean(axis=0) - box.centre[:2]).tolist()
    made = t_block(colour, box.half[0] + box.half[1], 2 * box.half[2])
    return measured(made, points, towards(box, math.atan2(y, x), math.pi / 2))


def _top(points: Points) -> Array:
    """Where its points face up, as seen from above."""
    return points.xyz[points.normals[:, 2] > FACING, :2]


def _fill(points: Points, box: Box) -> float:
    """The share of the box's top that is there."""
    turn = Pose(quaternion=about("z", box.yaw_rad)).matrix[:2, :2]
    inside = (_top(points) - box.centre[:2]) @ turn
    sides = 2 * np.array(box.half[:2])
    across = np.maximum(np.round(sides / FILL_CELL_M), 1).astype(int)
    cells = np.floor((inside / sides + 0.5) * across).astype(int)
    cells = cells[((cells >= 0) & (cells < across)).all(axis=1)]
    return len(np.unique(cells, axis=0)) / float(across.prod())


def _touching_cubes(points: Points, colour: str, box: Box) -> list[Sighting]:
    """Cubes of one colour, two side by side or up to four on each other; none if it is anything else."""
    along, (bottom, top) = along_wide(box), span(points)
    wide, half, _ = along.half
    if not CUBE_HALVES_M[0] < half < CUBE_HALVES_M[1]:
        return []
    across, high = wide / half, (top - bottom) / 2 / half
    counts = (round(across), round(high))
    if counts not in ((2, 1), (1, 2), (1, 3), (1, 4)):
        return []
    if abs(across - counts[0]) > MULTIPLE or abs(high - counts[1]) > MULTIPLE:
        return []
    middle = Pose((box.centre[0], box.centre[1], (top + bottom) / 2), about("z", along.yaw_rad))
    offsets = [
        ((2 * i - counts[0] + 1) * half, 0.0, (2 * k - counts[1] + 1) * half)
        for i in range(counts[0])
        for k in range(counts[1])
    ]
    share = len(points.xyz) // len(offsets)
    return [Sighting(cube(colour, half), middle @ Pose(offset), share) for offset in offsets]
