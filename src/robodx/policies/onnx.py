"""A network of yours, trained and exported by examples/training."""

from __future__ import annotations

from pathlib import Path

from robodx.policy_contract import Policy, policy


@policy("onnx", takes="FILE")
def from_onnx(file: str) -> Policy:
    """A network that examples/training/train.py trained and export.py wrote, run on one core."""
    from robodx.learned.networks import load

    return load(Path(file).expanduser())
