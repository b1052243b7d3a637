"""Parametric builders of things: each returns a declaration that can still be placed, renamed or changed."""

from robodx.sim.objects.blocks import cube, cylinder, peg, sphere, t_block, triangular_block
from robodx.sim.objects.containers import bin_
from robodx.sim.objects.fixtures import SWITCH_TRAVEL_M, charger, goal_disc, hole_block, receptacle, switch

__all__ = [
    "SWITCH_TRAVEL_M", "bin_", "charger", "cube", "cylinder", "goal_disc", "hole_block", "peg", "receptacle", "sphere",
    "switch", "t_block", "triangular_block",
]  # fmt: skip
