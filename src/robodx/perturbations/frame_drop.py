"""Camera frames that never arrive."""

from __future__ import annotations

from robodx.perturbations.base import perturbation
from robodx.perturbations.frames import WholeFrames


@perturbation(
    "frame_drop",
    kind="sensor",
    levels={"v1": 0.1, "v2": 0.2, "v3": 0.3},
    unit="of the frames",
    most=1.0,
    anchor="Of each camera's frames. 0.1: a USB hub or a Wi-Fi stream that is short of bandwidth; 0.3: one that "
    "hardly works.",
)
class FrameDrop(WholeFrames):
    """Blanks each camera's frame on its own with this probability, including depth and segmentation."""

    def is_missing(self, camera: str, step: int) -> bool:
        # Of all parts of a frame alike: they draw from the same place of the stream.
        return bool(self.draws.rng(camera, step).random() < self.severity)
