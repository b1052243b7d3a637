"""Run by RoboDx's own Python: asks a server as a run does, and prints what came of it as JSON."""

from __future__ import annotations

import json
import sys

import numpy as np

from robodx.policy_contract import EpisodeStart, Observation, make_policy

policy = make_policy(sys.argv[1], sys.argv[2])
names = sys.argv[3:]
rng = np.random.default_rng(0)
widths = {"joint_positions": 7, "gripper_opening": 1}
policy.reset([EpisodeStart(name, 0, "", "", 0, 0, name) for name in names])
answers = policy.act(
    [
        Observation(
            name, 0, 0.0, name,
            {part: rng.random(widths[part], dtype=np.float32) for part in policy.spec.state},
            {one.name: rng.integers(1, 256, (one.height, one.width, 3), np.uint8) for one in policy.spec.cameras},
        )
        for name in names
    ]
)  # fmt: skip
policy.finish(names)
print(json.dumps([repr(one) if isinstance(one, Exception) else np.asarray(one).tolist() for one in answers]))
