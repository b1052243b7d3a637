"""Real pictures in, ordinary actions out: classical perception, a grammar, and the plans that the expert uses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from robodx.errors import UserError
from robodx.experts.course import Course
from robodx.experts.skills import Hand
from robodx.language.meaning import Meaning
from robodx.language.reading import NotUnderstood, read
from robodx.policies.base import ActionChunk, Calibration, CameraRequest, EpisodeStart, Observation, PolicySpec, policy
from robodx.policies.expert import to_action
from robodx.sight.cloud import Eye, look, without_hand
from robodx.sight.segment import patches
from robodx.sight.things import sightings
from robodx.sight.tracking import Sight
from robodx.sim.geometry import Pose, Vector

PIXELS = 256
CAMERAS = ("front", "left", "right")
# Steps between looks: as a rule, and while something moves or the fingers do.
CHUNK = 4
CHUNK_MOVING = 2
# Slower than this a step, fingers have stopped.
FINGERS_STOPPED = 0.002
# How long it stands still at a time where it does not understand.
IDLE = 10


@policy("vision")
class VisionPolicy:
    """Pictures and depth in, no weights: colours, shapes and a small grammar, then the expert's own plans."""

    spec = PolicySpec(
        action_space="ee_pose",
        cameras=tuple(CameraRequest(name, PIXELS, PIXELS, depth=True) for name in CAMERAS),
        state=("ee_pose", "gripper_opening", "base_pose"),
    )

    def __init__(self) -> None:
        self._starts: dict[str, EpisodeStart] = {}
        self._episodes: dict[str, _Episode] = {}

    def reset(self, starts: Sequence[EpisodeStart]) -> None:
        for start in starts:
            missing = [name for name in CAMERAS if name not in start.cameras]
            if missing:
                raise UserError(
                    f"vision must be told where its cameras stand, but the calibration of {', '.join(missing)} is missing"
                )
            self._starts[start.episode_id] = start
            self._episodes.pop(start.episode_id, None)

    def act(self, observations: Sequence[Observation]) -> Sequence[ActionChunk]:
        return [self._act(observation) for observation in observations]

    def finish(self, ids: Sequence[str]) -> None:
        for episode_id in ids:
            self._starts.pop(episode_id, None)
            self._episodes.pop(episode_id, None)

    def _act(self, observation: Observation) -> ActionChunk:
        known = self._episodes.get(observation.episode_id)
        if known is None:
            start = self._starts[observation.episode_id]
            known = self._episodes[observation.episode_id] = _begin(start.cameras, observation, self.spec.hz)
        return known.act(observation)


@dataclass
class _Episode:
    """One under way: what is seen, what is meant and how far it has got."""

    base: Pose
    eyes: Mapping[str, Eye]
    hand: Hand
    sight: Sight
    course: Course
    instruction: str | None = None
    meaning: Meaning | None = None

    def act(self, observation: Observation) -> ActionChunk:
        self._measure(observation)
        if observation.instruction != self.instruction:
            self.instruction, self.meaning = observation.instruction, _understood(observation.instruction)
        if self.meaning is None:
            return np.tile(to_action(self.base, self.hand.stay()), (IDLE, 1))
        actions = []
        for _ in range(self._steps()):
            grip = self.hand.grip
            waypoint = self.course.next(self.meaning, self.sight)
            actions.append(to_action(self.base, waypoint))
            # Until it is measured again the hand is where it was told to be.
            self.hand.tool = waypoint.tool
            self.sight.now_s += self.hand.period_s
            self.sight.feel(is_settled=False)
            if self.hand.grip != grip:
                break
        return np.array(actions)

    def _measure(self, observation: Observation) -> None:
        opening = float(observation.state["gripper_opening"][0])
        is_settled = abs(opening - self.hand.opening) < FINGERS_STOPPED
        self.hand.tool, self.hand.opening = _tool(self.base, observation), opening
        points = without_hand(look(self.eyes, observation.images, observation.depth), self.hand.tool, opening)
        self._depth = observation.depth
        self.sight.look(sightings(patches(points)), observation.time_s, self._is_empty)
        self.sight.feel(is_settled=is_settled)
        self._is_settled = is_settled

    def _steps(self) -> int:
        if not self._is_settled:
            return 1
        return CHUNK_MOVING if self.sight.is_moving else CHUNK

    def _is_empty(self, place: Vector) -> bool:
        return any(eye.sees_past(place, self._depth[name]) for name, eye in self.eyes.items())


def _begin(cameras: Mapping[str, Calibration], observation: Observation, hz: float) -> _Episode:
    base = _pose(observation.state["base_pose"])
    tool, opening = _tool(base, observation), float(observation.state["gripper_opening"][0])
    hand = Hand(tool, opening, 1.0 / hz, tool)
    eyes = {name: Eye.of(cameras[name], base, PIXELS, PIXELS) for name in CAMERAS}
    return _Episode(base, eyes, hand, Sight(hand), Course(hand))


def _tool(base: Pose, observation: Observation) -> Pose:
    return base @ _pose(observation.state["ee_pose"])


def _pose(numbers: NDArray[np.float32]) -> Pose:
    return Pose.of(numbers[:3], numbers[3:7])


def _understood(text: str) -> Meaning | None:
    try:
        return read(text)
    except NotUnderstood:
        return None
