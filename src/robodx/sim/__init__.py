"""Simulation: scenes, objects, physics, pictures. With `robots` the only folder that imports mujoco."""

from robodx.sim import gl

# MuJoCo reads MUJOCO_GL when it is imported and dies on a backend whose library is missing: settle it first.
gl.choose_backend()
