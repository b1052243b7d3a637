"""A plugin: recorded commands played back by a policy that asks for two 128×128 cameras and looks at neither."""

from __future__ import annotations

from dataclasses import replace

from robodx.policies.replay import ReplayPolicy
from robodx.policy_contract import CameraRequest, policy

CAMERAS = ("front", "wrist")


@policy("camera_replay", takes="RUN")
class CameraReplay(ReplayPolicy):
    """`replay:RUN` with the cost of pictures."""

    def __init__(self, run: str) -> None:
        super().__init__(run)
        self.spec = replace(self.spec, cameras=tuple(CameraRequest(name) for name in CAMERAS))
