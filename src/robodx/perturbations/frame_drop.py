"""Camera frames that never arrive."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from robodx.perturbations.base import Perturbation, perturbation
from robodx.policies.base import Observation


@perturbation("frame_drop", kind="sensor", levels={"v1": 0.1, "v2": 0.2, "v3": 0.3}, most=1.0)
class FrameDrop(Perturbation):
    """Each camera frame is all zero with this probability."""

    def observation(self, observation: Observation) -> Observation:
        images = {
            name: np.zeros_like(image) if self.draws.rng(name, observation.step).random() < self.severity else image
            for name, image in observation.images.items()
        }
        return replace(observation, images=images)
