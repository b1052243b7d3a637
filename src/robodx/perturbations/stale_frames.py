"""A camera that hangs and shows what it saw before."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from robodx.perturbations.base import perturbation
from robodx.perturbations.frames import Part, Pixels, WholeFrames
from robodx.perturbations.intermittent import Intermittent


# A full buffer, a capture thread that waits, a video stream that loses its key frame.
@perturbation("stale_frames", kind="sensor", levels={"v1": 0.25, "v2": 0.5, "v3": 1.0}, most=20.0)
class StaleFrames(WholeFrames):
    """Freezes each view for this many seconds, repeatedly: it shows the last frame from before.

    Delivered is what a policy was shown: to one that is asked rarely, the frame may be older than the freeze.
    """

    def begin(self) -> None:
        self._delivered: dict[tuple[Part, str], NDArray[Any]] = {}

    def frame(self, frame: NDArray[Pixels], part: Part, camera: str, step: int) -> NDArray[Pixels]:
        is_frozen = Intermittent(self.severity, self.draws, camera).is_on(step * self.period_s)
        if not is_frozen or (part, camera) not in self._delivered:
            self._delivered[part, camera] = frame
        return self._delivered[part, camera]
