"""What a failure cause is: two labels, and what they hang on."""

from __future__ import annotations

from typing import Literal, NamedTuple

Kind = Literal["reference", "constraint", "motor", "safety", "timeout", "invalid_action"]
Type = Literal[
    "grasp synthesis", "grasp stability", "placement and release",
    "collision", "trajectory sub-optimality", "control instability",
    "incomplete execution", "wrong object", "incorrect action sequence",
]  # fmt: skip

# What is let go of has come to rest after this time.
SETTLED_S = 0.75
# A hand or a thing that moved less than this in the last seconds has stopped.
REST_S = 2.0
REST_M = 0.01
# Farther off than this, fingers do not close on a thing.
AWAY_M = 0.10


class FailureCause(NamedTuple):
    """`object` and `condition` are empty where the failure cause is of none."""

    kind: Kind
    # None for what is no behaviour: numbers that cannot be executed.
    type: Type | None
    step: int
    object: str
    condition: str
    says: str


def the(name: str) -> str:
    """A thing, in a sentence; those that look alike are numbered."""
    return name if is_numbered(name) else f"the {name}"


def is_numbered(name: str) -> bool:
    return name[-1:].isdigit()
