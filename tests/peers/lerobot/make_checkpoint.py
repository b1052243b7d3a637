"""Writes a tiny LeRobot checkpoint with random weights: `python make_checkpoint.py FOLDER`.

An ACT policy with the names that RoboDx's environments have: two cameras, joints and gripper opening in, joint actions
out. Its statistics are centred on the Panda's home pose, so that what it says is executable, and stays near home.
"""

from __future__ import annotations

import sys
from pathlib import Path

import torch
from lerobot.configs.types import FeatureType, PolicyFeature
from lerobot.policies.act.configuration_act import ACTConfig
from lerobot.policies.act.modeling_act import ACTPolicy
from lerobot.policies.factory import make_pre_post_processors

from robodx.robots.panda import PANDA

CAMERAS = ("observation.images.front", "observation.images.wrist")
ACTION_DIM = 8
CHUNK = 8


def make_checkpoint(folder: Path, *, size: int = 64, seed: int = 0) -> Path:
    """The policy and both of its processors, as LeRobot itself saves them; the same seed gives the same weights."""
    torch.manual_seed(seed)
    config = ACTConfig(
        input_features={
            **{name: PolicyFeature(FeatureType.VISUAL, (3, size, size)) for name in CAMERAS},
            "observation.state": PolicyFeature(FeatureType.STATE, (ACTION_DIM,)),
        },
        output_features={"action": PolicyFeature(FeatureType.ACTION, (ACTION_DIM,))},
        device="cpu",
        push_to_hub=False,
        chunk_size=CHUNK,
        n_action_steps=CHUNK,
        # Nothing is downloaded, and little computed.
        pretrained_backbone_weights=None,
        dim_model=32,
        n_heads=2,
        dim_feedforward=64,
        n_encoder_layers=1,
        n_vae_encoder_layers=1,
        latent_dim=8,
    )
    policy = ACTPolicy(config)
    policy.eval()
    preprocessor, postprocessor = make_pre_post_processors(config, dataset_stats=_statistics())
    for part in (policy, preprocessor, postprocessor):
        part.save_pretrained(folder)
    return folder


def _statistics() -> dict[str, dict[str, torch.Tensor]]:
    home = torch.tensor([*PANDA.arm.home, 0.5])
    near = {"mean": home, "std": torch.full_like(home, 0.1)}
    pixels = {"mean": torch.full((3, 1, 1), 0.5), "std": torch.full((3, 1, 1), 0.25)}
    return {"observation.state": near, "action": near, **dict.fromkeys(CAMERAS, pixels)}


if __name__ == "__main__":
    make_checkpoint(Path(sys.argv[1]))
