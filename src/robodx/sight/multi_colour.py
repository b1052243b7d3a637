"""Things of several colours: striped cubes, pegs with heads or bands, switches, lamps, plugs and sockets, slots."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from itertools import groupby

import numpy as np

from robodx.sight.cloud import Points, joined
from robodx.sight.fitting import Box, Sphere, fit_box, fit_sphere
from robodx.sight.ranks import quantile
from robodx.sight.segment import Patch, colour_word
from robodx.sight.sighting import (
    Sighting,
    along_narrow,
    along_wide,
    is_equal,
    is_sized,
    measured,
    standing,
    towards,
)
from robodx.sight.single_colour import is_rod
from robodx.sim.geometry import Pose, about
from robodx.sim.objects import banded_peg, charger, cube, lamp, peg, receptacle, slot_board, switch
from robodx.sim.scene import Shape, Thing

HEAD = "dark grey"
STRIPES = "white"
SLOT_FLOOR = "black"
# A peg is read in cells of this length; a band is at least this many long.
BAND_CELL_M = 0.004
BAND_CELLS = 3
CELL_POINTS = 3
BULB_M = 0.003


def multi_colour(patches: list[Patch]) -> Sighting | None:
    """One thing that all these touching patches are of; None if they are no such thing. The largest comes first."""
    points = joined([patch.points for patch in patches])
    if points.is_paint.any():
        return None
    box, colours = fit_box(points), {patch.colour for patch in patches}
    bulb = fit_sphere(_highest(patches).xyz)
    if _is_bulb(bulb):
        return _lamp(patches, points, bulb)
    if is_sized(box, switch()):
        return _switch(patches, points)
    if is_rod(box):
        return _peg(patches, points, along_wide(box))
    if STRIPES in colours and is_equal(*box.half[:2]) and is_equal(box.half[0], box.half[2]):
        return _striped(patches, points, box)
    if HEAD in colours and is_sized(box, receptacle()):
        return _receptacle(patches, points, box)
    if HEAD in colours and is_sized(box, charger()):
        return _charger(patches, points)
    if SLOT_FLOOR in colours and is_equal(*box.half[:2]) and box.half[2] < 2 * slot_board().half_extents[2]:
        return _slot(patches, points, box)
    return None


def with_peg_heads(patches: list[Patch]) -> Iterator[Patch]:
    """A peg's dark head is a part of it, even where the peg touches other things."""
    taken: set[int] = set()
    for head in patches:
        for shaft in patches if head.colour == HEAD else []:
            whole = joined([shaft.points, head.points])
            if id(shaft) not in taken and len(head.xyz) < len(shaft.xyz) and is_rod(fit_box(whole)):
                taken |= {id(head), id(shaft)}
                yield Patch(whole, shaft.colour, shaft.blob)
                break
    yield from (patch for patch in patches if id(patch) not in taken)


def _striped(patches: list[Patch], points: Points, box: Box) -> Sighting:
    own = next((patch.colour for patch in patches if patch.colour != STRIPES), STRIPES)
    return measured(cube(own, (box.half[0] + box.half[1]) / 2, is_striped=True), points, box)


def _peg(patches: list[Patch], points: Points, box: Box) -> Sighting:
    """By the colours along it: one with a dark head at one end, or with bands."""
    half_length, half_width, _ = box.half
    runs = _runs(patches, box)
    if not runs:
        # Too little of it is seen to tell colours along it.
        return measured(peg(patches[0].colour, half_width, 2 * half_length), points, box)
    (first, first_cells), (last, last_cells) = runs[0], runs[-1]
    if len(runs) == 2 and HEAD in (first, last):
        is_turned = first == HEAD and first_cells < last_cells
        box = box._replace(yaw_rad=box.yaw_rad + math.pi) if is_turned else box
        return measured(peg(last if is_turned else first, half_width, 2 * half_length), points, box)
    own = first if first == last else max(runs, key=lambda run: run[1])[0]
    bands = tuple(colour for colour, cells in runs if colour != own and cells >= BAND_CELLS)
    if not bands:
        return measured(peg(own, half_width, 2 * half_length), points, box)
    made = banded_peg(*bands, colour=own, half_width_m=half_width, length_m=2 * half_length)
    return measured(made, points, box)


def _runs(patches: list[Patch], box: Box) -> list[tuple[str, int]]:
    """Colours along the box's x axis, each with how many cells it is long."""
    axis = np.array([math.cos(box.yaw_rad), math.sin(box.yaw_rad)])
    along = [(patch.xyz[:, :2] - box.centre[:2]) @ axis + box.half[0] for patch in patches]
    edges = np.arange(0.0, 2 * box.half[0] + BAND_CELL_M, BAND_CELL_M)
    counts = np.array([np.histogram(one, edges)[0] for one in along])  # (patches, cells)
    words = [patches[int(cell.argmax())].colour for cell in counts.T if cell.sum() > CELL_POINTS]
    return [(word, len(list(group))) for word, group in groupby(words)]


def _switch(patches: list[Patch], points: Points) -> Sighting:
    """By its base; its cap, the highest of it, tells where its front is."""
    base, cap = fit_box(patches[0].points), _highest(patches)
    x, y = (cap.xyz[:, :2].mean(axis=0) - base.centre[:2]).tolist()
    seen = standing(switch(cap.colour), points, towards(along_wide(base), math.atan2(-y, -x), math.pi))
    bulb = _bulb(seen.thing)
    place = np.array(seen.pose.apply(bulb.pose.position))
    is_lamp = np.linalg.norm(points.xyz - place, axis=1) < bulb.size[0] + BULB_M
    is_lamp &= points.xyz[:, 2] > place[2] + BULB_M
    return replace(seen, lamp=colour_word(points.colours[is_lamp]) if is_lamp.any() else None)


def _is_bulb(ball: Sphere) -> bool:
    standard = lamp()
    bulb = _bulb(standard)
    height = standard.half_extents[2] + bulb.pose.position[2]
    return abs(ball.radius - bulb.size[0]) < BULB_M and abs(ball.centre[2] - height) < 2 * BULB_M


def _lamp(patches: list[Patch], points: Points, bulb: Sphere) -> Sighting:
    made, (x, y, _) = lamp(), bulb.centre
    return Sighting(made, Pose((x, y, made.half_extents[2])), len(points.xyz), _highest(patches).colour)


def _receptacle(patches: list[Patch], points: Points, box: Box) -> Sighting:
    """Its back is dark."""
    back = np.concatenate([patch.xyz for patch in patches if patch.colour == HEAD]).mean(axis=0)
    x, y = (back[:2] - box.centre[:2]).tolist()
    return standing(receptacle(), points, towards(along_narrow(box), math.atan2(y, x), math.pi))


def _charger(patches: list[Patch], points: Points) -> Sighting:
    """By its body, which is seen better than its prongs; these tell where its front is."""
    made, body = charger(patches[0].colour), fit_box(patches[0].points)
    prongs = np.concatenate([patch.xyz for patch in patches if patch.colour == HEAD]).mean(axis=0)
    x, y = (prongs[:2] - body.centre[:2]).tolist()
    box = towards(body, math.atan2(y, x), math.pi / 2)
    behind = made.frame("grasp").position[0]
    x, y, _ = Pose(box.centre, about("z", box.yaw_rad)).apply((-behind, 0.0, 0.0))
    return measured(made, points, box._replace(centre=(x, y, 0.0)))


def _slot(patches: list[Patch], points: Points, box: Box) -> Sighting:
    """As wide as its dark floor; the wall in front of it may hide some of that one way, but not the other."""
    floor = fit_box(next(patch.points for patch in patches if patch.colour == SLOT_FLOOR))
    room, outer = max(floor.half[:2]), max(box.half[:2])
    return standing(slot_board(patches[0].colour, room, rim_m=outer - room), points, box)


def _highest(patches: list[Patch]) -> Patch:
    return max(patches, key=lambda patch: quantile(patch.xyz[:, 2], 0.9))


def _bulb(thing: Thing) -> Shape:
    return next(shape for shape in thing.shapes if shape.name)
