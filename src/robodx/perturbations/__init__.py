"""Seeded, levelled changes to scene, instruction, observation or action: one file each."""
