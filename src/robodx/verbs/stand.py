"""To stand a long thing on its end."""

from __future__ import annotations

import math

import numpy as np

from robodx.experts import skills
from robodx.experts.base import CARRY_M, DROP_M, OVER_M, TRIES, PlanContext
from robodx.experts.grasps import from_above, nearest_turn, yaw_of
from robodx.experts.skills import Steps
from robodx.language.meaning import Clause
from robodx.scoring.contact import Grasped, settled
from robodx.scoring.from_meaning import Stages
from robodx.scoring.orientation import Standing
from robodx.sim.geometry import Pose
from robodx.sim.scene import Scene
from robodx.verbs.base import Sense, verb

# How far from its end it is taken: the pads are 20 mm wide.
FROM_END_M = 0.03
UPRIGHT_COSINE = 0.99


def stages(target: str, others: tuple[str, ...], scene: Scene) -> Stages:
    return (Grasped(target), settled(target) & Standing(target))


def plan(context: PlanContext, clause: Clause) -> Steps:
    """Take it near the end further left, and turn it about the fingers' axis until its other end points down.

    The hand then points left: sideways is how it can lie near the table.
    """
    view, hand = context.view, context.hand
    name = context.target(clause)
    half = view.thing(name).half_extents[0]
    for _ in range(TRIES):
        start = view.pose(name)
        end = math.copysign(1.0, start.axis("x")[1])
        # Its x axis up or down; and its z axis, along which the hand came, to the right.
        upright = np.array([[0.0, -end, 0.0], [0.0, 0.0, -1.0], [end, 0.0, 0.0]])
        goal = Pose.from_matrix((*start.position[:2], half + DROP_M), upright)

        def grasp(end: float = end) -> Pose:
            pose = view.pose(name)
            return from_above(*pose.apply((end * (half - FROM_END_M), 0.0, 0.0)), nearest_turn(yaw_of(pose), math.pi))

        def goal_now(goal: Pose = goal) -> Pose:
            return goal

        yield from skills.pick(hand, grasp, lift_to_m=CARRY_M)
        yield from skills.place(hand, context.pose(name), goal_now, over_m=OVER_M)
        if abs(view.pose(name).axis("x")[2]) > UPRIGHT_COSINE:
            return


verb(
    "stand",
    Sense(
        ("stand {target} upright", "set {target} on its end", "raise {target} until it stands"),
        ("turn {target} upright", "place {target} vertically on the table", "bring {target} into a standing position"),
        stages=stages,
        plan=plan,
    ),
    gerund="standing up",
)
