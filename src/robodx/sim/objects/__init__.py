"""Parametric builders of things: each returns a declaration that can still be placed, renamed or changed."""

from robodx.sim.objects.blocks import banded_peg, cube, cylinder, peg, sphere, t_block, triangular_block
from robodx.sim.objects.containers import bin_, bowl, crate, open_box
from robodx.sim.objects.fixtures import (
    SWITCH_TRAVEL_M,
    charger,
    conveyor,
    goal_disc,
    hole_block,
    lamp,
    ramp,
    receptacle,
    slot_board,
    switch,
)
from robodx.sim.objects.kit import cross, half_moon, hexagonal_block, kit_tray, octagonal_peg

__all__ = [
    "SWITCH_TRAVEL_M", "banded_peg", "bin_", "bowl", "charger", "conveyor", "crate", "cross", "cube", "cylinder",
    "goal_disc", "half_moon", "hexagonal_block", "hole_block", "kit_tray", "lamp", "octagonal_peg", "open_box", "peg",
    "ramp", "receptacle", "slot_board", "sphere", "switch", "t_block", "triangular_block",
]  # fmt: skip
