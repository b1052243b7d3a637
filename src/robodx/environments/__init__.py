"""RoboDx's tasks as environments of other libraries; importing this registers them with Gymnasium."""

from robodx.environments.gymnasium import GymTask, register

register()

__all__ = ["GymTask", "register"]
