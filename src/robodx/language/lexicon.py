"""The words there are for things: kinds, sizes, and what else people call them."""

from __future__ import annotations

SIZES = ("big", "small")
KINDS = (
    "cube", "sphere", "cylinder", "triangular block", "T-block", "peg", "box with a hole", "bin", "charger",
    "receptacle", "disc", "switch",
)  # fmt: skip
ORDINALS = ("first", "second", "third", "fourth")
