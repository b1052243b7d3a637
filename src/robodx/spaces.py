"""The action spaces by name; what their numbers mean is said in docs/conventions.md and done in robots/control.py."""

from __future__ import annotations

from typing import Literal, get_args

ActionSpace = Literal["ee_delta", "ee_pose", "joint", "joint_velocity"]
ACTION_SPACES: tuple[ActionSpace, ...] = get_args(ActionSpace)
