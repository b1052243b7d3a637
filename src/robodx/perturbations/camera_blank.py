"""One camera without a picture: does the policy use it?"""

from __future__ import annotations

from robodx.errors import UserError
from robodx.perturbations.base import perturbation
from robodx.perturbations.frames import WholeFrames
from robodx.policy_contract import Observation, PolicySpec
from robodx.records.values import Value

ALL = "all"
CAMERAS = ("front", "left", "right", "wrist", ALL)


@perturbation("camera_blank", kind="sensor", levels={name: name for name in CAMERAS}, takes_any_word=True)
class CameraBlank(WholeFrames):
    """Blanks every frame of the named camera, or of all, including depth and segmentation."""

    @classmethod
    def check(cls, value: Value, spec: PolicySpec) -> None:
        _check(value, [camera.name for camera in spec.cameras])

    def observation(self, observation: Observation) -> Observation:
        _check(self.value, list(observation.images))
        return super().observation(observation)

    def is_missing(self, camera: str, step: int) -> bool:
        return self.value in (ALL, camera)


def _check(value: Value, shown: list[str]) -> None:
    if value != ALL and value not in shown:
        raise UserError(
            f"camera_blank={value}: the policy is not shown this camera; it is shown: {', '.join(shown) or 'none'}"
        )
