"""Simulation: scenes, objects, physics, pictures. Its `engine` is the only module that imports mujoco."""
