"""Blocks of unusual outlines, and the tray they fit into."""

from __future__ import annotations

import math

from robodx.sim.geometry import Pose, about
from robodx.sim.objects.base import UNPLACED
from robodx.sim.scene import Shape, Thing

Outline = tuple[tuple[float, float], ...]

# Blocks of unusual outlines stand as high as each other, and are taken hold of above the middle: clear of a kit tray.
BLOCK_HEIGHT_M = 0.046
_HELD_ABOVE_M = 0.011


def polygon(sides: int, flat_half_m: float) -> Outline:
    """A regular one around the origin, with flat sides towards +y and -y, counted anticlockwise."""
    radius = flat_half_m / math.cos(math.pi / sides)
    # The first side beyond the +y direction begins half a side from it.
    first = math.pi / 2 + math.pi / sides
    turns = (first + 2 * math.pi * index / sides for index in range(sides))
    return tuple((radius * math.cos(turn), radius * math.sin(turn)) for turn in turns)


def cross_outline(half_m: float, arm_half_m: float) -> Outline:
    a, h = arm_half_m, half_m
    return ((a, a), (a, h), (-a, h), (-a, a), (-h, a), (-h, -a), (-a, -a), (-a, -h), (a, -h), (a, -a), (h, -a), (h, a))


def half_moon_outline(radius_m: float, facets: int = 9) -> Outline:
    """Half a disc, flat towards -y; an odd number of facets gives the fingers one to hold opposite the flat side."""
    apex_m = radius_m * math.cos(math.pi / facets / 2)
    turns = (math.pi * index / facets for index in range(facets + 1))
    return tuple((radius_m * math.cos(turn), radius_m * math.sin(turn) - apex_m / 2) for turn in turns)


HEXAGON = polygon(6, 0.02)
CROSS = cross_outline(0.024, 0.009)
HALF_MOON = half_moon_outline(0.027)


def hexagonal_block(colour: str, *, mass_kg: float = 0.05) -> Thing:
    return _upright(colour, "hexagonal block", HEXAGON, (_prism(HEXAGON),), mass_kg)


def cross(colour: str, *, mass_kg: float = 0.05) -> Thing:
    """Four arms of equal length, seen from above."""
    half, arm, h = CROSS[1][1], CROSS[0][0], BLOCK_HEIGHT_M / 2
    stub = (half - arm) / 2
    stubs = (Shape("box", (arm, stub, h), Pose((0, side * (arm + stub), 0))) for side in (-1, 1))
    return _upright(colour, "cross", CROSS, (Shape("box", (half, arm, h)), *stubs), mass_kg)


def half_moon(colour: str, *, mass_kg: float = 0.05) -> Thing:
    return _upright(colour, "half-moon", HALF_MOON, (_prism(HALF_MOON),), mass_kg)


def _prism(outline: Outline) -> Shape:
    return Shape("prism", (BLOCK_HEIGHT_M / 2,), outline=outline)


def _upright(colour: str, kind: str, outline: Outline, shapes: tuple[Shape, ...], mass_kg: float) -> Thing:
    """Standing on its outline; the frame `tip` lies under it, x pointing down into a recess of the same outline."""
    half = BLOCK_HEIGHT_M / 2
    half_x, half_y = (max(abs(corner[axis]) for corner in outline) for axis in (0, 1))
    return Thing(
        f"{colour} {kind}", kind, colour, shapes, (half_x, half_y, half), UNPLACED, mass_kg,
        frames=(("tip", Pose((0, 0, -half), about("y", math.pi / 2))), ("grasp", Pose((0, 0, _HELD_ABOVE_M)))),
    )  # fmt: skip


def octagonal_peg(colour: str, half_width_m: float = 0.018, length_m: float = 0.12, *, mass_kg: float = 0.08) -> Thing:
    """A peg lying along x on one of its eight sides; both its ends look alike."""
    outline = polygon(8, half_width_m)
    shaft = Shape("prism", (length_m / 2,), Pose((0, 0, 0), about("y", math.pi / 2)), outline=outline)
    return Thing(
        f"{colour} octagonal peg", "octagonal peg", colour, (shaft,), (length_m / 2, half_width_m, half_width_m),
        UNPLACED, mass_kg,
    )  # fmt: skip


RECESSES: dict[str, Outline] = {"hexagonal block": HEXAGON, "cross": CROSS, "half-moon": HALF_MOON}


def kit_tray(colour: str, *, clearance_m: float = 0.0025, depth_m: float = 0.01, cell_half_m: float = 0.0425) -> Thing:
    """A plate with a recess for each of three blocks, in a row from the robot's left to its right.

    A frame such as `cross hole` lies in the mouth of that block's recess, x pointing down.
    """
    paint = 0.0005
    shapes, frames = [], []
    for index, (kind, outline) in enumerate(RECESSES.items()):
        y = (len(RECESSES) - 1 - 2 * index) * cell_half_m
        for piece in _around(_grown(outline, clearance_m), cell_half_m):
            shapes.append(Shape("prism", (depth_m / 2,), Pose((0, y, 0)), outline=piece))
        # Seen through the recess and never touched: what is put in stands on the table.
        floor = Pose((0, y, (paint - depth_m) / 2))
        shapes.append(Shape("box", (cell_half_m, cell_half_m, paint / 2), floor, colour="dark grey", collides=False))
        frames.append((f"{kind} hole", Pose((0, y, depth_m / 2), about("y", math.pi / 2))))
    half = (cell_half_m, len(RECESSES) * cell_half_m, depth_m / 2)
    return Thing(
        f"{colour} kit tray", "kit tray", colour, tuple(shapes), half, UNPLACED, is_fixed=True, frames=tuple(frames)
    )


def _grown(outline: Outline, by_m: float) -> Outline:
    """Every side of an anticlockwise outline moved outwards."""
    corners = []
    for (ax, ay), (bx, by), (cx, cy) in zip(
        outline[-1:] + outline[:-1], outline, outline[1:] + outline[:1], strict=True
    ):
        before, after = math.dist((ax, ay), (bx, by)), math.dist((bx, by), (cx, cy))
        nx, ny = (by - ay) / before, (ax - bx) / before
        mx, my = (cy - by) / after, (bx - cx) / after
        share = by_m / (1 + nx * mx + ny * my)
        corners.append((bx + share * (nx + mx), by + share * (ny + my)))
    return tuple(corners)


def _around(outline: Outline, half_m: float) -> list[Outline]:
    """The square around an outline, without it, in convex pieces: one beyond each of its sides as seen from within."""

    def beyond(x: float, y: float) -> tuple[float, float]:
        scale = half_m / max(abs(x), abs(y))
        return (scale * x, scale * y)

    pieces = []
    for a, b in zip(outline, outline[1:] + outline[:1], strict=True):
        corners = [
            (sx * half_m, sy * half_m)
            for sx, sy in ((1, 1), (-1, 1), (-1, -1), (1, -1))
            if _turn(a, (sx, sy)) > 0 and _turn((sx, sy), b) > 0
        ]
        pieces.append((a, beyond(*a), *corners, beyond(*b), b))
    return pieces


def _turn(a: tuple[float, float], b: tuple[float, float]) -> float:
    """Positive where b lies anticlockwise of a, as seen from the origin."""
    return a[0] * b[1] - a[1] * b[0]
