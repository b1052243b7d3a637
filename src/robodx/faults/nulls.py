"""Policies that fail by luck alone: the diagnosis must not name a cause of their failures.

The luck of each is drawn anew for every trial, so the two trials of a pair can differ. Luck that came from the policy
seed, which a pair shares, could never contradict the diagnosis.
"""

from __future__ import annotations

import numpy as np

from robodx.experts.base import View
from robodx.experts.skills import Hand, Waypoint
from robodx.faults.base import Fault, fault
from robodx.faults.motion import OPEN
from robodx.policy_contract import EpisodeStart
from robodx.streams import Streams

WHICH = "which of such policies"
# Beta distribution of success rates: most are near 0 or near 1.
RATES = (0.6, 0.4)
# An episode takes 3 to 10 s and 1 to 3 grasps, so that these rates fail between a tenth and two thirds of them.
HAZARDS_PER_S = (0.02, 0.15)
HAZARDS_PER_GRASP = (0.05, 0.4)
# Steps until one that stops does so: at once would show in the first picture.
FIRST_STEPS = (1, 20)


class Null(Fault):
    """Stops for good where its luck says so."""

    is_redrawn = True
    last: Waypoint | None = None

    def __init__(self, severity: float, rng: np.random.Generator, start: EpisodeStart, hand: Hand) -> None:
        super().__init__(severity, rng, start, hand)
        # What the policy of this number is like, in all of its episodes.
        self.character = Streams(round(severity))

    def stops(self, waypoint: Waypoint) -> bool:
        """Whether it stops at this step."""
        return False

    def waypoint(self, waypoint: Waypoint, view: View) -> Waypoint:
        if self.last is None and self.stops(waypoint):
            self.last = waypoint
        return self.last or waypoint


class Lucky(Null):
    """Succeeds at a rate that depends on one thing alone."""

    def __init__(self, severity: float, rng: np.random.Generator, start: EpisodeStart, hand: Hand) -> None:
        super().__init__(severity, rng, start, hand)
        rate = self.character.rng("rate", *self.rate_by()).beta(*RATES)
        self.left = int(rng.integers(*FIRST_STEPS)) if self.luck() >= rate else -1

    def rate_by(self) -> tuple[str, ...]:
        return ()

    def luck(self) -> float:
        return self.rng.random()

    def stops(self, waypoint: Waypoint) -> bool:
        self.left -= 1
        return self.left == 0


@fault("luck_by_task", expected=None, most=1e6, unit=WHICH)
class LuckByTask(Lucky):
    """Succeeds at a random rate in each task; its luck is drawn anew with any change of the trial."""

    def rate_by(self) -> tuple[str, ...]:
        return (self.start.task,)


@fault("luck_by_sentence", expected=None, most=1e6, unit=WHICH)
class LuckBySentence(Lucky):
    """Succeeds at a random rate for each instruction; its luck is drawn anew with any change of the trial."""

    def rate_by(self) -> tuple[str, ...]:
        return (self.start.instruction,)


@fault("luck_by_family", expected=None, most=1e6, unit=WHICH)
class LuckByFamily(Lucky):
    """Succeeds at a random rate in each family of tasks; its luck is drawn anew with any change of the trial."""

    def rate_by(self) -> tuple[str, ...]:
        return (self.start.task.partition("/")[0],)


@fault("luck_by_picture", expected=None, most=1e6, unit=WHICH)
class LuckByPicture(LuckByTask):
    """Succeeds at a random rate in each task; moving or recolouring anything redraws its luck, a repeat does not."""

    def luck(self) -> float:
        world = self.at_first.world
        seen = [
            f"{name} {world.colour(name)} {tuple(world.position(name))}"
            for name in world.things
            if world.is_present(name)
        ]
        return self.character.rng("picture", self.start.task, *seen).random()


@fault("stops_per_second", expected=None, most=1e6, unit=WHICH)
class StopsPerSecond(Null):
    """Stops with the same probability in every second, whatever it does."""

    def __init__(self, severity: float, rng: np.random.Generator, start: EpisodeStart, hand: Hand) -> None:
        super().__init__(severity, rng, start, hand)
        self.stops_at_s = rng.exponential(1 / self.character.rng("hazard").uniform(*HAZARDS_PER_S))
        self.steps = 0

    def stops(self, waypoint: Waypoint) -> bool:
        self.steps += 1
        return self.steps * self.hand.period_s >= self.stops_at_s


@fault("stops_per_grasp", expected=None, most=1e6, unit=WHICH)
class StopsPerGrasp(Null):
    """Stops with the same probability whenever it closes its hand."""

    is_open = True

    def __init__(self, severity: float, rng: np.random.Generator, start: EpisodeStart, hand: Hand) -> None:
        super().__init__(severity, rng, start, hand)
        self.hazard = self.character.rng("hazard").uniform(*HAZARDS_PER_GRASP)

    def stops(self, waypoint: Waypoint) -> bool:
        closes, self.is_open = self.is_open and waypoint.opening < OPEN, waypoint.opening >= OPEN
        return closes and bool(self.rng.random() < self.hazard)


@fault("flaky", expected=None, severity=0.4)
class Flaky(Null):
    """Stops within the first second of a share of the episodes, drawn anew with any change of the trial."""

    left: int | None = None

    def stops(self, waypoint: Waypoint) -> bool:
        self.left = int(self.rng.integers(*FIRST_STEPS)) if self.left is None else self.left - 1
        return self.left == 0
