"""A camera whose plug is loose."""

from __future__ import annotations

from robodx.perturbations.base import perturbation
from robodx.perturbations.frames import WholeFrames
from robodx.perturbations.intermittent import Intermittent
from robodx.policy_contract import Observation


@perturbation(
    "camera_disconnect",
    kind="sensor",
    levels={"v1": 0.25, "v2": 1.0, "v3": 4.0},
    unit="s",
    most=20.0,
    anchor="Seconds. 0.25: a loose plug; 1: a driver that opens its device anew; 4: a camera that starts again.",
)
class CameraDisconnect(WholeFrames):
    """Blanks one camera for this many seconds, repeatedly; the camera is drawn per trial.

    A policy with a single camera loses that one.
    """

    def begin(self) -> None:
        self._intermittent = Intermittent(self.severity, self.draws)
        self._loose: str | None = None

    def observation(self, observation: Observation) -> Observation:
        cameras = sorted(observation.images)
        self._loose = cameras[int(self.draws.rng("camera").integers(len(cameras)))] if cameras else None
        return super().observation(observation)

    def is_missing(self, camera: str, step: int) -> bool:
        return camera == self._loose and self._intermittent.is_on(step * self.period_s)
