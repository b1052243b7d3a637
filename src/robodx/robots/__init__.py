"""Embodiments, their kinematics and their action spaces: one file per robot."""
