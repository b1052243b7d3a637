"""Patches to things: what kind of thing it is, how big, and how it lies.

Only standard things are known: what else stands there is a "block". Loose things are measured; fixtures and containers
are taken for the standard ones of their kind, turned and placed as seen.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

import numpy as np

from robodx.sight.cloud import Points, joined
from robodx.sight.fitting import Box, Sphere, facing, fit_box, fit_circle, fit_sphere
from robodx.sight.segment import NAMES, Patch, colour_indices, colour_word
from robodx.sim.geometry import Pose, about
from robodx.sim.objects import (
    banded_peg,
    bin_,
    bowl,
    charger,
    crate,
    cube,
    cylinder,
    goal_disc,
    hole_block,
    lamp,
    peg,
    receptacle,
    slot_board,
    sphere,
    switch,
    t_block,
    triangular_block,
)
from robodx.sim.scene import Thing

# What is none of the known kinds.
UNKNOWN = "block"
# A sphere's points lie this near its surface, as a share of its radius.
ROUND = 0.05
# Below, what has upright sides is round; pictures of cylinders come to 0.3, those of boxes to 0.55 and more.
SQUARE = 0.45
# What reaches down this far stands on the table.
FOOT_M = 0.012
# Sides that differ by no more than this, or this share, are equal.
EQUAL_M, EQUAL_SHARE = 0.003, 0.1
LONG = 2.2
SMALLEST_DISC_M = 0.015
THICKEST_ROD_M, LONGEST_ROD_M = 0.025, 0.08
FILL_CELL_M = 0.008
BAND_CELL_M = 0.004
MIN_BAND_CELLS = 3


@dataclass(frozen=True)
class Sighting:
    """A thing as seen in one look; its name is its looks, which another may share."""

    thing: Thing
    pose: Pose
    # How much of it was seen.
    points: int
    # The colour of its lamp, if it has one.
    lamp: str | None = None


def sightings(patches: Sequence[Patch]) -> list[Sighting]:
    """Everything that is made out; what touches is first taken together, then apart."""
    found: list[Sighting] = []
    for _, group in groupby(sorted(patches, key=lambda patch: patch.blob), key=lambda patch: patch.blob):
        found += _of_blob(list(group))
    return found


def _of_blob(patches: list[Patch]) -> Iterator[Sighting]:
    if len(patches) > 1:
        whole = _compound(patches)
        if whole is not None:
            yield whole
            return
        patches = list(_with_peg_heads(patches))
    for patch in patches:
        yield from _single(patch.points, patch.colour)


# One colour.


def _single(points: Points, colour: str) -> Iterator[Sighting]:
    if points.is_paint.mean() > 0.5:
        yield from _disc(points, colour)
        return
    ball = fit_sphere(points.xyz)
    if 0.006 < ball.radius < 0.045 and ball.error_m < ROUND * ball.radius:
        # Drawn as a polyhedron, which is a little smaller.
        yield Sighting(sphere(colour, ball.radius * 1.02), Pose(ball.centre), len(points.xyz))
        return
    ways, box = facing(points), fit_box(points)
    if box.half[2] > 0.012 and max(box.half[:2]) > 0.06 and ways.slanted > 0.25:
        yield _standard(bowl(colour), points, box._replace(yaw_rad=0.0))
    elif ways.slanted > 0.45 and box.half[2] > 0.012:
        yield _roof(points, colour)
    elif box.squareness < SQUARE and ways.sideways > 0.2:
        yield _cylinder(points, colour)
    else:
        yield from _cubes(points, colour, box) or [_boxlike(points, colour, box)]


def _cubes(points: Points, colour: str, box: Box) -> list[Sighting]:
    """Two or more cubes of one colour that touch, one on the other or side by side."""
    narrow, wide = sorted(box.half[:2])
    bottom, top = _span(points)
    high, across = (top - bottom) / 2 / narrow, wide / narrow
    if not (0.01 < narrow < 0.035 and round(high) * round(across) in (2, 3, 4) and min(high, across) < 1.2):
        return []
    if max(abs(high - round(high)), abs(across - round(across))) > 0.1 or (across > 1.5 and not 1.9 < across < 2.1):
        return []
    made, along = cube(colour, narrow), _along_wide(box)
    middle = Pose((box.centre[0], box.centre[1], (top + bottom) / 2), about("z", along.yaw_rad))
    offsets = [
        ((2 * i - round(across) + 1) * narrow, 0.0, (2 * k - round(high) + 1) * narrow)
        for i in range(round(across))
        for k in range(round(high))
    ]
    return [Sighting(made, middle @ Pose(offset), len(points.xyz) // len(offsets)) for offset in offsets]


def _boxlike(points: Points, colour: str, box: Box) -> Sighting:
    half_x, half_y, half_z = box.half
    narrow, wide = sorted((half_x, half_y))
    if wide > 0.04 and half_z < 0.012 and _equal(half_x, half_y):
        return _standard(bin_(colour), points, box)
    if wide > 0.04 and half_z < 0.02 and _equal(half_x, half_y):
        return _measured(replace(crate(colour, wide), is_fixed=True), points, box)
    if narrow > 0.024 and half_z > 0.032:
        return _standard(hole_block(colour), points, _along_narrow(box))
    if half_z < 0.014 and _equal(half_x, half_y) and wide > 0.02 and _fill(points, box) < 0.8:
        return _t_block(points, colour, box)
    if _equal(half_x, half_y) and (_equal(narrow, half_z) or not _stands(points)):
        return _measured(cube(colour, (half_x + half_y) / 2), points, box)
    if _is_rod(box):
        # Without a head that could be told from the rest.
        return _measured(peg(colour, narrow, 2 * wide), points, _along_wide(box))
    block = Thing(f"{colour} {UNKNOWN}", UNKNOWN, colour, (), box.half, Pose())
    return _measured(block, points, box)


def _disc(points: Points, colour: str) -> Iterator[Sighting]:
    low, high = points.xyz[:, :2].min(axis=0), points.xyz[:, :2].max(axis=0)
    half_x, half_y = ((high - low) / 2).tolist()
    if min(half_x, half_y) > SMALLEST_DISC_M:
        x, y = ((high + low) / 2).tolist()
        disc = goal_disc(colour, (half_x + half_y) / 2 + 0.001)
        yield Sighting(disc, Pose((x, y, disc.half_extents[2])), len(points.xyz))


def _cylinder(points: Points, colour: str) -> Sighting:
    is_side = np.abs(points.normals[:, 2]) < 0.2
    x, y, radius, _ = fit_circle(points.xyz[is_side, :2])
    bottom, top = _span(points)
    made = cylinder(colour, radius, top - bottom)
    return Sighting(made, Pose((x, y, (top + bottom) / 2)), len(points.xyz))


def _roof(points: Points, colour: str) -> Sighting:
    """A triangular block lies along the edge that its two slopes share: across it they face opposite ways."""
    slopes = points.normals[(points.normals[:, 2] > 0.2) & (points.normals[:, 2] < 0.9)]
    two_fold = np.exp(2j * np.arctan2(slopes[:, 1], slopes[:, 0])).mean()
    yaw = float(np.angle(two_fold)) / 2
    cosine, sine = math.cos(yaw), math.sin(yaw)
    flat = points.xyz[:, :2] @ np.array([[cosine, -sine], [sine, cosine]])
    low, high = flat.min(axis=0), flat.max(axis=0)
    u, v = ((low + high) / 2).tolist()
    bottom, top = _span(points)
    side = float(high[0] - low[0]) + 0.002
    made = triangular_block(colour, side, float(high[1] - low[1]))
    return Sighting(
        made, Pose((u * cosine - v * sine, u * sine + v * cosine, (top + bottom) / 2), about("z", yaw)), len(points.xyz)
    )


def _t_block(points: Points, colour: str, box: Box) -> Sighting:
    """The bar is the heavier end."""
    top = points.xyz[points.normals[:, 2] > 0.95, :2]
    x, y = (top.mean(axis=0) - box.centre[:2]).tolist()
    made = t_block(colour, box.half[0] + box.half[1], 2 * box.half[2])
    return _measured(made, points, _towards(box, math.atan2(y, x), math.pi / 2))


def _fill(points: Points, box: Box) -> float:
    """The share of the box's top that is there."""
    top = points.xyz[points.normals[:, 2] > 0.95, :2] - box.centre[:2]
    cosine, sine = math.cos(box.yaw_rad), math.sin(box.yaw_rad)
    inside = top @ np.array([[cosine, -sine], [sine, cosine]])
    across = np.maximum(np.round(2 * np.array(box.half[:2]) / FILL_CELL_M), 1).astype(int)
    cells = np.floor((inside / np.array(box.half[:2]) + 1) / 2 * across).astype(int)
    cells = cells[((cells >= 0) & (cells < across)).all(axis=1)]
    return len(np.unique(cells, axis=0)) / float(across.prod())


# Several colours.


def _compound(patches: list[Patch]) -> Sighting | None:
    points = joined([patch.points for patch in patches])
    if points.is_paint.any():
        return None
    box, colours = fit_box(points), {patch.colour for patch in patches}
    narrow, wide = sorted(box.half[:2])
    main = patches[0].colour
    bulb = fit_sphere(max(patches, key=lambda patch: float(np.median(patch.xyz[:, 2]))).xyz)
    if bulb.centre[2] > 0.08 and "grey" in colours and abs(bulb.radius - 0.026) < 0.003:
        return _lamp(patches, points, bulb)
    if abs(wide - 0.05) < 0.006 and abs(narrow - 0.035) < 0.006 and abs(2 * box.half[2] - 0.0435) < 0.01:
        return _switch(patches, points, box)
    if _equal(narrow, wide) and _equal(narrow, box.half[2]) and "white" in colours:
        plain = max((p for p in patches if p.colour != "white"), key=lambda p: len(p.xyz), default=patches[0])
        return _measured(cube(plain.colour, (narrow + wide) / 2, is_striped=True), points, box)
    if _is_rod(box):
        return _banded(points, box)
    if "dark grey" in colours and abs(wide - 0.035) < 0.005 and abs(narrow - 0.017) < 0.005 and box.half[2] > 0.03:
        return _turned_by(receptacle(), _along_narrow(box), patches, "dark grey")
    if main == "white" and abs(wide - 0.035) < 0.005 and abs(narrow - 0.022) < 0.004 and box.half[2] < 0.021:
        return _charger(patches, points)
    if "black" in colours and box.half[2] < 0.011 and _equal(narrow, wide) and main != "black":
        hole = fit_box(next(patch.points for patch in patches if patch.colour == "black"))
        room = max(hole.half[:2])
        return _standard(slot_board(main, room, rim_m=wide - room), points, box)
    return None


def _with_peg_heads(patches: list[Patch]) -> Iterator[Patch]:
    """A peg's dark head is a part of it, even where the peg touches other things."""
    taken: set[int] = set()
    for head in patches:
        if head.colour != "dark grey":
            continue
        for shaft in patches:
            if shaft is head or id(shaft) in taken:
                continue
            points = joined([shaft.points, head.points])
            if _is_rod(fit_box(points)) and len(head.xyz) < len(shaft.xyz):
                taken |= {id(head), id(shaft)}
                yield Patch(points, shaft.colour, shaft.blob)
                break
    yield from (patch for patch in patches if id(patch) not in taken)


def _banded(points: Points, box: Box) -> Sighting:
    """A peg, by the colours along it: one with a dark head at one end, or with bands."""
    box = _along_wide(box)
    runs = _runs(points, box)
    own = runs[0][0] if runs[0][0] == runs[-1][0] else max(runs, key=lambda run: run[1])[0]
    if len(runs) == 2 and "dark grey" in (runs[0][0], runs[1][0]):
        is_first = runs[0][0] == "dark grey" and runs[0][1] < runs[1][1]
        box = box._replace(yaw_rad=box.yaw_rad + math.pi) if is_first else box
        made = peg(runs[1][0] if is_first else runs[0][0], box.half[1], 2 * box.half[0])
    else:
        bands = tuple(colour for colour, count in runs if colour != own and count >= MIN_BAND_CELLS)
        made = banded_peg(*bands, colour=own, half_width_m=box.half[1], length_m=2 * box.half[0]) if bands else peg(own)
    return _measured(made, points, box)


def _runs(points: Points, box: Box) -> list[tuple[str, int]]:
    """Colours along the box's x axis, each with how many cells it is long."""
    along = (points.xyz[:, :2] - box.centre[:2]) @ (math.cos(box.yaw_rad), math.sin(box.yaw_rad))
    colours = colour_indices(points.colours)
    cells = np.floor((along + box.half[0]) / BAND_CELL_M).astype(int)
    words = [
        NAMES[int(np.bincount(colours[cells == cell]).argmax())] for cell in np.unique(cells) if (cells == cell).sum() > 3
    ]
    return [(word, len(list(group))) for word, group in groupby(words)]


def _switch(patches: list[Patch], points: Points, box: Box) -> Sighting:
    """Its cap tells where its front is: the one patch that is higher than the base."""
    base = max(patches, key=lambda patch: len(patch.xyz))
    cap = max(patches, key=lambda patch: float(np.quantile(patch.xyz[:, 2], 0.9)))
    x, y = (cap.xyz[:, :2].mean(axis=0) - box.centre[:2]).tolist()
    turned = _towards(_along_wide(fit_box(base.points)), math.atan2(-y, -x), math.pi)
    seen = _standard(switch(cap.colour), points, turned)
    bulb = next(shape for shape in seen.thing.shapes if shape.name)
    place = seen.pose.apply(bulb.pose.position)
    is_bulb = (np.linalg.norm(points.xyz - place, axis=1) < bulb.size[0] + 0.002) & (points.xyz[:, 2] > place[2] + 0.002)
    return replace(seen, lamp=colour_word(points.colours[is_bulb]) if is_bulb.any() else None)


def _lamp(patches: list[Patch], points: Points, bulb: Sphere) -> Sighting:
    made, (x, y, _) = lamp(), bulb.centre
    lit = max(patches, key=lambda patch: float(np.median(patch.xyz[:, 2])))
    return Sighting(made, Pose((x, y, made.half_extents[2])), len(points.xyz), lit.colour)


def _charger(patches: list[Patch], points: Points) -> Sighting:
    """By its body, which is seen better than its prongs; these tell where its front is."""
    body, whole = fit_box(patches[0].points), charger()
    x, y = (points.xyz[:, :2].mean(axis=0) - patches[0].xyz[:, :2].mean(axis=0)).tolist()
    box = _towards(body, math.atan2(y, x), math.pi / 2)
    body_in_charger = whole.frame("grasp").position[0]
    x, y, _ = Pose(box.centre, about("z", box.yaw_rad)).apply((-body_in_charger, 0.0, 0.0))
    return _measured(whole, points, box._replace(centre=(x, y, 0.0)))


def _turned_by(thing: Thing, box: Box, patches: list[Patch], colour: str) -> Sighting:
    """A standard thing whose part of this colour is at its +x end; without one, its longer side is its -x end."""
    points = joined([patch.points for patch in patches])
    marked = [patch.xyz for patch in patches if patch.colour == colour]
    ahead = np.concatenate(marked).mean(axis=0) if marked else 2 * np.array(box.centre) - points.xyz.mean(axis=0)
    x, y = (ahead[:2] - box.centre[:2]).tolist()
    return _standard(thing, points, _towards(box, math.atan2(y, x), math.pi))


# How it lies.


def _measured(thing: Thing, points: Points, box: Box) -> Sighting:
    """By its top where that is seen, else as it stands on the table."""
    x, y, _ = box.centre
    half, top = thing.half_extents[2], _span(points)[1]
    z = half if _stands(points) and top < 2 * half else top - half
    return Sighting(thing, Pose((x, y, z), about("z", box.yaw_rad)), len(points.xyz))


def _standard(thing: Thing, points: Points, box: Box) -> Sighting:
    """A fixture on the table."""
    x, y, _ = box.centre
    return Sighting(thing, Pose((x, y, thing.half_extents[2]), about("z", box.yaw_rad)), len(points.xyz))


def _stands(points: Points) -> bool:
    return float(points.xyz[:, 2].min()) < FOOT_M


def _span(points: Points) -> tuple[float, float]:
    """From its foot to its top."""
    heights = points.xyz[:, 2]
    highest = float(np.quantile(heights, 0.995))
    flat = heights[(points.normals[:, 2] > 0.95) & (heights > highest - 0.003)]
    top = float(np.median(flat)) if len(flat) >= 5 else highest
    return (0.0 if _stands(points) else float(points.xyz[:, 2].min())), top


def _equal(a: float, b: float) -> bool:
    return abs(a - b) < max(EQUAL_M, EQUAL_SHARE * max(a, b))


def _is_rod(box: Box) -> bool:
    """Long, and no thicker than a finger's width: pegs, however they lie."""
    narrow, wide = sorted(box.half[:2])
    return wide > LONG * narrow and narrow < THICKEST_ROD_M and wide < LONGEST_ROD_M and _equal(narrow, box.half[2])


def _along_wide(box: Box) -> Box:
    """The same box with its x axis along the longer side."""
    if box.half[0] >= box.half[1]:
        return box
    x, y, z = box.half
    return box._replace(half=(y, x, z), yaw_rad=box.yaw_rad + math.pi / 2)


def _along_narrow(box: Box) -> Box:
    wide = _along_wide(box)
    x, y, z = wide.half
    # Of the two ways, the one that faces the robot.
    yaw = wide.yaw_rad - math.pi / 2
    return wide._replace(half=(y, x, z), yaw_rad=yaw if math.cos(yaw) >= 0 else yaw + math.pi)


def _towards(box: Box, heading_rad: float, period_rad: float) -> Box:
    """The same box turned by whole periods, so that its x axis points about this way."""
    turns = round((heading_rad - box.yaw_rad) / period_rad)
    x, y, z = box.half
    is_swapped = period_rad < math.pi and turns % 2 == 1
    return box._replace(half=(y, x, z) if is_swapped else box.half, yaw_rad=box.yaw_rad + turns * period_rad)

