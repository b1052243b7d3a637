"""Plans for putting things where a relation or a direction says."""

from __future__ import annotations

from robodx.experts.base import Plan, Scenery, plan, put, resting
from robodx.experts.skills import Steps
from robodx.language.meaning import DIRECTIONS, Clause, Direction
from robodx.scoring.relations import FLANKS, HEADINGS, Flank
from robodx.sim.geometry import Pose

# Between the faces of a thing and of what it is put next to: an open finger fits.
FLANK_GAP_M = 0.05


@plan("put", "between")
def put_between(scenery: Scenery, clause: Clause) -> Steps:
    name, (first, second) = scenery.target(clause), scenery.others(clause)

    def goal() -> Pose:
        (ax, ay, _), (bx, by, _) = scenery.view.position(first), scenery.view.position(second)
        return resting(scenery, name, (ax + bx) / 2, (ay + by) / 2, 0.0)

    yield from put(scenery, name, goal)


def put_at(side: Flank) -> Plan:
    axis, way = FLANKS[side]

    def steps(scenery: Scenery, clause: Clause) -> Steps:
        name, (other,) = scenery.target(clause), scenery.others(clause)
        offset = scenery.view.reach(other)[axis] + scenery.view.thing(name).half_extents[axis] + FLANK_GAP_M

        def goal() -> Pose:
            x, y, z = scenery.view.position(other)
            dx, dy = (way * offset, 0.0) if axis == 0 else (0.0, way * offset)
            return resting(scenery, name, x + dx, y + dy, z - scenery.view.reach(other)[2])

        yield from put(scenery, name, goal)

    return steps


def move_to(direction: Direction) -> Plan:
    """By the distance asked for, from where the thing is when its turn comes."""

    def steps(scenery: Scenery, clause: Clause) -> Steps:
        name = scenery.target(clause)
        assert clause.place is not None and clause.place.distance_m is not None, "moved how far?"
        x, y, z = scenery.view.position(name)
        floor = z - scenery.view.reach(name)[2]
        dx, dy = (clause.place.distance_m * way for way in HEADINGS[direction])
        yield from put(scenery, name, lambda: resting(scenery, name, x + dx, y + dy, floor))

    return steps


for _side in FLANKS:
    plan("put", _side)(put_at(_side))
for _direction in DIRECTIONS:
    plan("move", _direction)(move_to(_direction))
