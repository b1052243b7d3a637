"""Embodiments, their kinematics and their action spaces: one file per robot."""

from robodx.sim import gl as _gl  # noqa: F401  (settles MUJOCO_GL before anything here imports mujoco)
