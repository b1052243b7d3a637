"""A plugin for `robodx serve`: answers with what it sees, so that a client can tell what arrived."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from robodx.policy_contract import ActionChunk, CameraRequest, EpisodeStart, Observation, PolicySpec, policy


@policy("echo")
class Echo:
    """Moves by its joints' positions and grips as it does, so many times as its pictures are bright."""

    spec = PolicySpec(
        action_space="joint_velocity",
        cameras=(CameraRequest("left", 126, 224), CameraRequest("wrist", 126, 224)),
        state=("joint_positions", "gripper_opening"),
        hz=15.0,
    )

    def reset(self, starts: Sequence[EpisodeStart]) -> None: ...

    def act(self, observations: Sequence[Observation]) -> Sequence[ActionChunk]:
        return [self._answer(one) for one in observations]

    def finish(self, ids: Sequence[str]) -> None: ...

    def _answer(self, seen: Observation) -> ActionChunk:
        if seen.instruction == "refuse":
            raise RuntimeError("this one is refused")
        row = np.concatenate([seen.state["joint_positions"], seen.state["gripper_opening"]])
        times = int(seen.images["left"].mean()) + int(seen.images["wrist"].mean())
        return np.tile(row, (times, 1)).astype(np.float32)
