"""Frames of all cameras that never arrive."""

from __future__ import annotations

from robodx.perturbations.base import perturbation
from robodx.perturbations.frames import WholeFrames


@perturbation(
    "frame_drop_all",
    kind="sensor",
    levels={"v1": 0.1, "v2": 0.2, "v3": 0.3},
    unit="of the frames",
    most=1.0,
    anchor="Of messages that carry all views, sent without repeats. 0.1: a congested Wi-Fi network; 0.3: the "
    "edge of its range.",
)
class FrameDropAll(WholeFrames):
    """Blanks the frames of all cameras at once with this probability, including depth and segmentation.

    One message carries them all, as from a host that sends observations whole; `frame_drop` is of each camera alone.
    """

    def is_missing(self, camera: str, step: int) -> bool:
        return bool(self.draws.rng(step).random() < self.severity)
