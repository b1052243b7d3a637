"""A thing as seen in one look, and how it lies by the box around its points."""

from __future__ import annotations

import math
from dataclasses import dataclass

from robodx.sight.cloud import Points
from robodx.sight.fitting import FACE_POINTS, FACING, Box
from robodx.sight.ranks import median, quantile
from robodx.sim.geometry import Pose, about
from robodx.sim.scene import Thing

# What is none of the known kinds.
UNKNOWN = "block"
# What reaches down this far stands on the table.
FOOT_M = 0.012
# Points this near the highest one, and facing up, are the top.
TOP_M = 0.003
# Sides that differ by no more than this, or this share, are equal.
EQUAL_M, EQUAL_SHARE = 0.003, 0.1
# How far a standard thing's measured sides may be off.
STANDARD_M = 0.005


@dataclass(frozen=True)
class Sighting:
    """What was made out; the thing's name is only its looks, which another may share."""

    thing: Thing
    pose: Pose
    # How much of it was seen.
    points: int
    # The colour of its lamp, if it has one.
    lamp: str | None = None


def measured(thing: Thing, points: Points, box: Box) -> Sighting:
    """By its top where that is seen, else as it stands on the table."""
    x, y, _ = box.centre
    half, top = thing.half_extents[2], span(points)[1]
    z = half if stands(points) and top < 2 * half else top - half
    return Sighting(thing, Pose((x, y, z), about("z", box.yaw_rad)), len(points.xyz))


def standing(thing: Thing, points: Points, box: Box) -> Sighting:
    """On the table, where fixtures are."""
    x, y, _ = box.centre
    return Sighting(thing, Pose((x, y, thing.half_extents[2]), about("z", box.yaw_rad)), len(points.xyz))


def stands(points: Points) -> bool:
    return float(points.xyz[:, 2].min()) < FOOT_M


def span(points: Points) -> tuple[float, float]:
    """From its foot to its top."""
    heights = points.xyz[:, 2]
    highest = quantile(heights, 0.995)
    flat = heights[(points.normals[:, 2] > FACING) & (heights > highest - TOP_M)]
    top = median(flat) if len(flat) >= FACE_POINTS else highest
    return (0.0 if stands(points) else float(heights.min())), top


def is_equal(a: float, b: float) -> bool:
    return abs(a - b) < max(EQUAL_M, EQUAL_SHARE * max(a, b))


def is_sized(box: Box, standard: Thing) -> bool:
    """Whether a box is as large as a standard thing, turned either way."""
    own, others = sorted(box.half[:2]), sorted(standard.half_extents[:2])
    pairs = zip((*own, box.half[2]), (*others, standard.half_extents[2]), strict=True)
    return all(abs(a - b) < STANDARD_M for a, b in pairs)


def along_wide(box: Box) -> Box:
    """The same box with its x axis along the longer side."""
    if box.half[0] >= box.half[1]:
        return box
    x, y, z = box.half
    return box._replace(half=(y, x, z), yaw_rad=box.yaw_rad + math.pi / 2)


def along_narrow(box: Box) -> Box:
    """The same box with its x axis along the shorter side, away from the robot."""
    wide = along_wide(box)
    x, y, z = wide.half
    yaw = wide.yaw_rad - math.pi / 2
    return wide._replace(half=(y, x, z), yaw_rad=yaw if math.cos(yaw) >= 0 else yaw + math.pi)


def towards(box: Box, heading_rad: float, period_rad: float) -> Box:
    """The same box turned by whole periods, so that its x axis points about this way."""
    turns = round((heading_rad - box.yaw_rad) / period_rad)
    x, y, z = box.half
    is_swapped = period_rad < math.pi and turns % 2 == 1
    return box._replace(half=(y, x, z) if is_swapped else box.half, yaw_rad=box.yaw_rad + turns * period_rad)
