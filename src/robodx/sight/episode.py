"""One episode by eye: looks and words in, steps of the plan out, and another look before long."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from robodx.experts.grasps import yaw_of
from robodx.experts.plan_executor import PlanExecutor
from robodx.experts.skills import Hand, Waypoint
from robodx.language.meaning import Meaning
from robodx.language.reading import NotUnderstood, read
from robodx.policy_contract import Calibration, Observation
from robodx.registry import UnknownName
from robodx.sight.cloud import TOWARDS_LAMP, Eye, look, showing
from robodx.sight.hand import without_hand
from robodx.sight.lamp import towards_lamp
from robodx.sight.segment import patches
from robodx.sight.things import sightings
from robodx.sight.tracking import NEW_LOOKS, Sight
from robodx.sim.geometry import Array, Pose, Vector

# Steps between looks: as a rule, while something moves, and while the fingers do.
STEPS = 4
STEPS_MOVING = 2
STEPS_GRIPPING = 1
# Slower than this a step, fingers have stopped.
FINGERS_STOPPED = 0.002
# How long it stands still at a time where it does not understand.
IDLE_STEPS = 10


class SeenEpisode:
    """What is seen, what is meant, and how far it has got."""

    def __init__(self, cameras: Mapping[str, Calibration], first: Observation, period_s: float) -> None:
        self.base = pose_of(first.state["base_pose"])
        tool = self.base @ pose_of(first.state["ee_pose"])
        self._eyes = {
            name: Eye.of(camera, self.base, *picture_of(first, name).shape[:2]) for name, camera in cameras.items()
        }
        self._hand = Hand(tool, opening_of(first), period_s, tool)
        self._sight = Sight(self._hand)
        self._sight.heading_rad = yaw_of(self.base)
        self._executor = PlanExecutor(self._hand)
        self._is_settled = True
        self._looks = 0
        self._lamp: Array | None = None
        self._has_seen = False
        self._text: str | None = None
        self._meaning: Meaning | None = None

    def steps(self, observation: Observation) -> list[Waypoint]:
        """What to do until the next look."""
        self._look(observation)
        if observation.instruction != self._text:
            self._text, self._meaning = observation.instruction, _understood(observation.instruction)
        if self._meaning is None:
            return [self._hand.stay()] * IDLE_STEPS
        if not self._has_seen:
            return [self._hand.stay()]
        waypoints = []
        for _ in range(self._until_next_look()):
            grip = self._hand.grip
            waypoints.append(self._next(self._meaning))
            # Until it is measured again the hand is where it was told to be.
            self._hand.tool = waypoints[-1].tool
            self._sight.now_s += self._hand.period_s
            self._sight.feel(is_settled=False)
            if self._hand.grip != grip:
                break
        return waypoints

    def _look(self, observation: Observation) -> None:
        hand, opening = self._hand, opening_of(observation)
        self._is_settled = abs(opening - hand.opening) < FINGERS_STOPPED
        hand.tool, hand.opening = self.base @ pose_of(observation.state["ee_pose"]), opening
        eyes = showing(self._eyes, {name: picture_of(observation, name) for name in self._eyes})
        if eyes:
            shown = (eyes, observation.images, observation.depth)
            # Once: a lamp stays where it is.
            self._lamp = towards_lamp(*shown, self.base) if self._lamp is None else self._lamp
            seen = look(*shown, TOWARDS_LAMP if self._lamp is None else self._lamp)
            points = without_hand(seen, hand.tool, opening)

            def is_empty(place: Vector) -> bool:
                return any(eye.sees_past(place, observation.depth[name]) for name, eye in eyes.items())

            self._sight.look(sightings(patches(points)), observation.time_s, is_empty)
            self._looks += 1
            # What one camera alone would have seen is found later: nothing is decided before that could be.
            self._has_seen |= bool(self._sight.things) and (len(eyes) == len(self._eyes) or self._looks > NEW_LOOKS)
        self._sight.now_s = observation.time_s
        self._sight.feel(is_settled=self._is_settled)

    def _until_next_look(self) -> int:
        if not self._is_settled:
            return STEPS_GRIPPING
        return STEPS_MOVING if self._sight.is_moving else STEPS

    def _next(self, meaning: Meaning) -> Waypoint:
        try:
            return self._executor.next(meaning, self._sight)[self._hand.name]
        except UnknownName:
            # A thing that is now taken for another lacks what the plan needs of it.
            self._executor.plan_anew()
            return self._hand.stay()


def picture_of(observation: Observation, camera: str) -> NDArray[np.uint8]:
    shown = {"picture": observation.images, "depth": observation.depth}
    missing = [what for what, pictures in shown.items() if camera not in pictures]
    if missing:
        raise ValueError(f"no {' and no '.join(missing)} of the camera {camera} is shown")
    return observation.images[camera]


def opening_of(observation: Observation) -> float:
    return float(observation.state["gripper_opening"][0])


def pose_of(numbers: NDArray[np.float32]) -> Pose:
    return Pose.of(numbers[:3].tolist(), numbers[3:7].tolist())


def _understood(text: str) -> Meaning | None:
    try:
        return read(text)
    except NotUnderstood:
        return None
