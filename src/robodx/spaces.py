"""The action spaces by name; what their numbers mean is said in docs/conventions.md and done in robots/control.py."""

from __future__ import annotations

from typing import Literal, get_args

ActionSpace = Literal["ee_delta", "ee_pose", "joint", "joint_velocity"]
# In whose axes a step of `ee_delta` is written, and which pose of the tool it starts from.
DeltaFrame = Literal["base", "tool"]
DeltaFrom = Literal["commanded", "achieved"]
ACTION_SPACES: tuple[ActionSpace, ...] = get_args(ActionSpace)
DELTA_FRAMES: tuple[DeltaFrame, ...] = get_args(DeltaFrame)
DELTA_FROM: tuple[DeltaFrom, ...] = get_args(DeltaFrom)


class InvalidAction(ValueError):
    """Numbers that no action space can execute: the wrong width, or not finite. The policy's own doing."""
