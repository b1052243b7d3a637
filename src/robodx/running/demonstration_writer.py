"""Keeps what the demonstrator saw and did: of each solved episode its numbers and one video a camera, in a folder."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robodx.datasets.formats.base import Pictured
from robodx.datasets.schema import Demonstration, Pictures, Video
from robodx.datasets.videos import encode, pictures
from robodx.policy_contract import Observation
from robodx.records import files
from robodx.records.trial import Trial
from robodx.running.environment import Environment
from robodx.running.observers import EpisodeObserver, Finished

# The name of the one vector of state, as learned policies expect it.
STATE = "state"
# Numbers of a pose, position and quaternion, and of an action of one hand.
POSE_WIDTH, ACTION_WIDTH = 7, 8


@dataclass
class _Seen:
    """What was there when the policy was asked, by step; and after each step whether the task was solved."""

    steps: list[int] = field(default_factory=list)
    state: list[NDArray[np.float32]] = field(default_factory=list)
    instructions: list[str] = field(default_factory=list)
    images: dict[str, list[NDArray[np.uint8]]] = field(default_factory=dict)
    success: list[bool] = field(default_factory=list)


@dataclass
class DemonstrationWriter(EpisodeObserver):
    """One file of numbers and a video for each camera, written before the episode counts as recorded."""

    folder: Path
    # Every so many control steps one is kept.
    every: int
    hz: float
    pictured: Pictured
    _seen: dict[str, _Seen] = field(default_factory=dict)
    writes_here = True

    def before_episode(self, environment: Environment) -> None:
        self._seen[environment.trial.id] = _Seen()

    def before_query(self, environment: Environment, observation: Observation) -> None:
        step = environment.simulation.step_count
        if step % self.every:
            return
        seen = self._seen[environment.trial.id]
        seen.steps.append(step)
        seen.state.append(np.concatenate([np.atleast_1d(part) for part in observation.state.values()]))
        seen.instructions.append(observation.instruction)
        for name, image in observation.images.items():
            seen.images.setdefault(name, []).append(image)

    def after_step(self, environment: Environment) -> None:
        self._seen[environment.trial.id].success.append(environment.score.is_success)

    def after_episode(self, trial: Trial, finished: Finished) -> Finished:
        seen = self._seen.pop(trial.id, None)
        if finished.trajectory is None or not finished.episode.success:
            return finished
        if seen is None or not seen.steps:
            raise RuntimeError(f"{trial.task} seed {trial.seed} was solved, but nothing was seen of it here")
        # What the expert had told the hand by the end of each period: of absolute poses the last says it all.
        last = np.minimum(np.array(seen.steps) + self.every, len(finished.trajectory.actions)) - 1
        for name, images in seen.images.items():
            with files.beside(self.folder / f"{trial.id}.{name}.mp4") as part:
                encode(part, images, self.hz, is_lossless=self.pictured == "arrays")
        with files.beside(self.folder / f"{trial.id}.npz") as part, part.open("wb") as file:
            np.savez(
                file,
                state=np.stack(seen.state),
                action=_turned_as(np.stack(seen.state), finished.trajectory.actions[last]),
                success=np.array(seen.success)[last],
                instructions=np.array(json.dumps(seen.instructions)),
            )
        return finished


def _turned_as(state: NDArray[np.float32], action: NDArray[np.float32]) -> NDArray[np.float32]:
    """Of the two quaternions of a rotation the one nearer to the tool's: a mean of both would be no rotation."""
    turned = action.copy()
    hands = action.shape[1] // ACTION_WIDTH
    for hand in range(hands):
        there = state[:, hand * POSE_WIDTH + 3 : hand * POSE_WIDTH + 7]
        asked = turned[:, hand * ACTION_WIDTH + 3 : hand * ACTION_WIDTH + 7]
        asked[(there * asked).sum(axis=1) < 0] *= -1
    return turned


def read_demonstration(writer: DemonstrationWriter, trial: Trial, cameras: list[str], metadata: Any) -> Demonstration:
    with np.load(writer.folder / f"{trial.id}.npz") as kept:
        state, action, success = kept["state"], kept["action"], kept["success"]
        instructions = tuple(json.loads(str(kept["instructions"])))
    images: dict[str, Pictures] = {}
    for name in cameras:
        found = pictures(Video(writer.folder / f"{trial.id}.{name}.mp4"), len(action), writer.hz)
        # Lossless ones are no videos that others play.
        images[name] = found if writer.pictured == "video" else Pictures(found.count, found.read)
    return Demonstration(instructions, images, {STATE: state}, action, success, metadata)
