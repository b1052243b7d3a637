"""Whether a thing can be handled where it lies, and whether there is room for it elsewhere."""

from __future__ import annotations

import math

from robodx.interventions.changing import REACH_X_M, REACH_Y_M
from robodx.language.meaning import Direction, Relation
from robodx.language.reference import is_related
from robodx.scoring.from_meaning import looks
from robodx.scoring.sides import FLANKS, HEADINGS, Flank
from robodx.sim.scene import Scene, Thing

Spot = tuple[float, float]
# What fingers need around a thing that they set down.
AROUND_M = 0.045
# What stays where it is set down: a sphere rolls away.
FLAT_BELOW = ("cube", "cylinder", "triangular block", "T-block", "peg", "hexagonal block", "cross", "half-moon")
# Lower than this, a thing stands on the table.
ON_TABLE_M = 0.003
# What is wider does not fit between the fingers.
WIDEST_M = 0.072
# What is taller than it is wide, by this share, topples.
SLENDER = 1.1
EDGED = "triangular block"
MOVED_M = 0.08
# As the expert leaves it between faces.
FLANK_GAP_M, NEAR_GAP_M, BESIDE_GAP_M = 0.05, 0.037, 0.002


def is_free_standing(scene: Scene, thing: Thing) -> bool:
    """On the table, loose, with nothing on it and nothing around it."""
    if thing.is_fixed or thing.is_parked or 2 * min(thing.half_extents[:2]) > WIDEST_M:
        return False
    known = looks(scene)
    own = known[thing.name]
    if own.position[2] - own.reach[2] > ON_TABLE_M:
        return False
    return not any(
        is_related(other, "on", own) or is_related(own, "inside", other)
        for name, other in known.items()
        if name != thing.name
    )


def topples(thing: Thing) -> bool:
    """Whether it falls over when it is pushed, or touched several times: it is slender, or has an edge on top."""
    half_x, half_y, half_z = thing.half_extents
    return thing.kind == EDGED or half_z > SLENDER * min(half_x, half_y)


def has_room(scene: Scene, thing: Thing, spot: Spot, *, beside: tuple[str, ...] = (), gap_m: float = AROUND_M) -> bool:
    """Whether it can be set down there; things that it is to stand beside may be near."""
    (x, y), (x0, x1), (y0, y1) = spot, REACH_X_M, REACH_Y_M
    if not (x0 <= x <= x1 and y0 <= y <= y1):
        return False
    others = (other for other in scene if other.name not in (thing.name, *beside) and not other.is_parked)
    return all(math.dist(spot, other.pose.position[:2]) >= thing.radius_m + other.radius_m + gap_m for other in others)


def free_ways(scene: Scene, thing: Thing) -> list[Direction]:
    """Directions in which it can be moved aside."""
    if thing.kind not in FLAT_BELOW or not is_free_standing(scene, thing):
        return []
    x, y, _ = thing.pose.position
    ways = {way: (x + MOVED_M * dx, y + MOVED_M * dy) for way, (dx, dy) in HEADINGS.items()}
    return [way for way, spot in ways.items() if has_room(scene, thing, spot)]


def spots(target: Thing, goal: Thing, relation: Relation) -> list[Spot]:
    """Where it may come to stand beside another, near it, or on one side of it."""
    (x, y, _), (reach_x, reach_y, _) = goal.pose.position, goal.reach(goal.pose.quaternion)
    half = max(target.half_extents[:2])
    sides: dict[Flank, tuple[int, int]] = dict(FLANKS)
    flank = next((side for side in sides if side == relation), None)
    if flank is not None:
        axis, way = sides[flank]
        off = way * ((reach_x, reach_y)[axis] + half + FLANK_GAP_M)
        return [(x + off, y) if axis == 0 else (x, y + off)]
    gap = BESIDE_GAP_M if relation == "beside" else NEAR_GAP_M
    across = [(x + reach_x + half + gap, y), (x - reach_x - half - gap, y)]
    return across if relation == "beside" else [*across, (x, y + reach_y + half + gap), (x, y - reach_y - half - gap)]
