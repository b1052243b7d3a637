"""A camera that hangs and shows what it saw before."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from robodx.perturbations.base import perturbation
from robodx.perturbations.frames import Part, Pixels, WholeFrames
from robodx.perturbations.intermittent import Intermittent


@perturbation(
    "stale_frames",
    kind="sensor",
    levels={"v1": 0.25, "v2": 1.0, "v3": 4.0},
    unit="s",
    most=20.0,
    anchor="Seconds. 0.25: a full buffer; 1: a video stream that waits for its key frame; 4: a stream that is "
    "connected anew.",
)
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
