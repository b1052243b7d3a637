"""Checkpoints of LeRobot as policies."""

from __future__ import annotations

from robodx.policies.remote import remote
from robodx.wires.base import Wire


@remote("lerobot", takes="PATH")
def lerobot(place: str) -> Wire:
    """A LeRobot checkpoint (ACT, Diffusion Policy, SmolVLA, π0 …); ?device=cuda chooses where it runs."""
    from robodx.wires.lerobot import open_checkpoint

    return open_checkpoint(place)
