"""A trained network as a policy: observations in its numbers, its numbers as tool poses."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robodx.learned.words import numbered
from robodx.policy_contract import ActionChunk, CameraRequest, EpisodeStart, Observation, PolicySpec
from robodx.sim.geometry import matrix_to_quaternion

# The parts of the state, in the order in which the network takes them.
STATE = ("ee_pose", "gripper_opening", "joint_positions")
# What a position relative to the tool is divided by inside the network, so that all numbers are about as large.
REACH_M = 0.1
# Numbers of an action inside the network: position relative to the tool, two axes of the tool; with the opening.
POSITION, ROTATION_6D, WIDTH = 3, 6, 10

# Inputs by name to a chunk (actions, 10) as the network predicts it.
Network = Callable[[Mapping[str, NDArray[Any]]], NDArray[np.float32]]


@dataclass(frozen=True)
class NetworkCard:
    """What must be known of a network to run it; kept with its weights."""

    # Side of each camera's square pictures.
    cameras: Mapping[str, int]
    hz: float
    chunk: int
    # Actions of a chunk that are executed before the next query.
    replan: int
    # Empty for a network that reads no words.
    vocabulary: tuple[str, ...] = ()
    longest: int = 40
    # Whether it turns noise into actions: then repeats of a situation differ.
    is_stochastic: bool = False
    # What else is told of it: how it was trained.
    about: Mapping[str, Any] | None = None

    @classmethod
    def of(cls, stored: Mapping[str, Any]) -> NetworkCard:
        known = {name: stored[name] for name in cls.__dataclass_fields__ if name in stored}
        return cls(**{**known, "vocabulary": tuple(known.get("vocabulary", ()))})

    @property
    def spec(self) -> PolicySpec:
        return PolicySpec(
            action_space="ee_pose",
            cameras=tuple(CameraRequest(name, size, size) for name, size in self.cameras.items()),
            state=STATE,
            hz=self.hz,
            uses_language=bool(self.vocabulary),
            replan=self.replan,
        )


class LearnedPolicy:
    """Asks the network about one observation at a time, so that a batch changes no bit of an answer."""

    def __init__(self, card: NetworkCard, network: Network, weights_digest: str | None = None) -> None:
        self.card, self.spec, self._network = card, replace(card.spec, weights_digest=weights_digest), network
        self._seeds: dict[str, int] = {}

    def reset(self, starts: Sequence[EpisodeStart]) -> None:
        for start in starts:
            self._seeds[start.episode_id] = start.policy_seed

    def act(self, observations: Sequence[Observation]) -> Sequence[ActionChunk]:
        return [self._act(observation) for observation in observations]

    def finish(self, ids: Sequence[str]) -> None:
        for episode_id in ids:
            self._seeds.pop(episode_id, None)

    def _act(self, observation: Observation) -> ActionChunk:
        card = self.card
        inputs: dict[str, NDArray[Any]] = {name: observation.images[name][None] for name in card.cameras}
        inputs["state"] = np.concatenate([np.atleast_1d(observation.state[part]) for part in STATE])[None]
        if card.vocabulary:
            words = numbered(observation.instruction, card.vocabulary, card.longest)
            inputs["words"] = np.array([words], dtype=np.int64)
        if card.is_stochastic:
            rng = np.random.default_rng((self._seeds[observation.episode_id], observation.step))
            inputs["noise"] = rng.standard_normal((1, card.chunk, WIDTH), dtype=np.float32)
        return denormalised_actions(self._network(inputs), observation.state["ee_pose"][:3])


def denormalised_actions(chunk: NDArray[np.float32], tool: NDArray[np.float32]) -> ActionChunk:
    """A chunk as the network predicts it (actions, 10) as `ee_pose` actions, given where the tool is."""
    first, second = np.split(chunk[:, POSITION : POSITION + ROTATION_6D].astype(np.float64), 2, axis=1)
    # The network's axes are nearly axes: the nearest rotation that keeps the first.
    first /= np.maximum(np.linalg.norm(first, axis=1, keepdims=True), 1e-6)
    second -= (first * second).sum(axis=1, keepdims=True) * first
    second /= np.maximum(np.linalg.norm(second, axis=1, keepdims=True), 1e-6)
    rotations = np.stack([first, second, np.cross(first, second)], axis=2)
    turned = [matrix_to_quaternion(rotation) for rotation in rotations]
    position = tool + REACH_M * chunk[:, :POSITION]
    opening = np.clip(chunk[:, POSITION + ROTATION_6D :], 0.0, 1.0)
    return np.concatenate([position, np.array(turned), opening], axis=1).astype(np.float32)
