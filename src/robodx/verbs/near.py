"""To move a thing near another, on any side of it."""

from __future__ import annotations

import math

from robodx.experts.base import PlanContext, Spot, put, resting, roomy
from robodx.experts.grasps import WIDEST_M
from robodx.experts.skills import Steps
from robodx.language.meaning import Clause
from robodx.scoring.contact import Grasped, settled
from robodx.scoring.from_meaning import Stages
from robodx.scoring.relations import Beside
from robodx.sim.geometry import Pose
from robodx.sim.scene import Scene
from robodx.verbs.base import Sense, verb

# Between two faces, at most; the expert leaves so much that an open finger fits between them.
NEAR_M = 0.05
GAP_M = 0.037
# Of the fingers' width, by how much they open beyond what they let go of.
CLEAR_SHARE = 0.15
OPEN_M = 0.08


def stages(target: str, others: tuple[str, ...], scene: Scene) -> Stages:
    return (Grasped(target), Beside(target, others[0], gap_m=NEAR_M, offset_m=math.inf) & settled(target))


def plan(context: PlanContext, clause: Clause) -> Steps:
    """On the nearest side of the other that is free; the fingers open only as far as they must."""
    name, (other,) = context.target(clause), context.others(clause)
    view = context.view
    half = view.thing(name).half_extents[:2]
    held_m = 2 * max((side for side in half if 2 * side <= WIDEST_M), default=WIDEST_M / 2)
    # As it comes to lie, squared up with the table.
    turned = resting(context, name, 0.0, 0.0, 0.0)
    half_x, half_y, _ = view.thing(name).reach(turned.quaternion)
    (x, y, z), (reach_x, reach_y, reach_z) = view.position(other), view.reach(other)
    dx, dy = reach_x + half_x + GAP_M, reach_y + half_y + GAP_M
    sides: list[Spot] = [(dx, 0.0), (-dx, 0.0), (0.0, dy), (0.0, -dy)]
    spot = roomy(context, name, [(x + side_x, y + side_y) for side_x, side_y in sides], beside=(other,))

    def goal() -> Pose:
        return resting(context, name, *spot, z - reach_z)

    yield from put(context, name, goal, opening=min(1.0, held_m / OPEN_M + CLEAR_SHARE))


verb(
    "move",
    Sense(
        ("move {target} near {place}", "put {target} close to {place}", "bring {target} within 5 cm of {place}"),
        (
            "lay {target} down near {place}",
            "shift {target} until it is close to {place}",
            "place {target} not far from {place}",
        ),
        relation="near",
        stages=stages,
        plan=plan,
    ),
    gerund=None,
)
