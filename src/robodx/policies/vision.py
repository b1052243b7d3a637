"""Real pictures in, ordinary actions out: classical perception, a grammar, and the plans that the expert uses."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from robodx.errors import UserError
from robodx.policies.expert import to_action
from robodx.policy_contract import ActionChunk, CameraRequest, EpisodeStart, Observation, PolicySpec, policy

if TYPE_CHECKING:
    from robodx.sight.episode import SeenEpisode

PIXELS = 256
CAMERAS = ("front", "left", "right")


@policy("vision")
class VisionPolicy:
    """Classical perception from RGB-D pictures, a small grammar for the instruction, and the expert's plans."""

    spec = PolicySpec(
        action_space="ee_pose",
        cameras=tuple(CameraRequest(name, PIXELS, PIXELS, depth=True) for name in CAMERAS),
        state=("ee_pose", "gripper_opening", "base_pose"),
    )

    def __init__(self) -> None:
        self._starts: dict[str, EpisodeStart] = {}
        self._episodes: dict[str, SeenEpisode] = {}

    def reset(self, starts: Sequence[EpisodeStart]) -> None:
        for start in starts:
            missing = [name for name in CAMERAS if name not in start.cameras]
            if missing:
                raise UserError(f"vision needs calibrated cameras: there is no calibration of {', '.join(missing)}")
            carried = [name for name in CAMERAS if start.cameras[name].frame != "base"]
            if carried:
                raise UserError(f"vision needs fixed cameras, but these are on the arm: {', '.join(carried)}")
            self._starts[start.episode_id] = start
            self._episodes.pop(start.episode_id, None)

    def act(self, observations: Sequence[Observation]) -> Sequence[ActionChunk]:
        return [self._act(observation) for observation in observations]

    def finish(self, ids: Sequence[str]) -> None:
        for episode_id in ids:
            self._starts.pop(episode_id, None)
            self._episodes.pop(episode_id, None)

    def _act(self, observation: Observation) -> ActionChunk:
        # Here, because it loads scipy, which those who run another policy need not wait for.
        from robodx.sight.episode import SeenEpisode

        episode = self._episodes.get(observation.episode_id)
        if episode is None:
            calibrations = self._starts[observation.episode_id].cameras
            episode = SeenEpisode({name: calibrations[name] for name in CAMERAS}, observation, 1.0 / self.spec.hz)
            self._episodes[observation.episode_id] = episode
        return np.array([to_action(episode.base, waypoint) for waypoint in episode.steps(observation)])
