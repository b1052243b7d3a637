"""The expert that acts in a policy's place for a while, as a substitution asks; see perturbations/substitution.py."""

from __future__ import annotations

from collections.abc import Sequence

from robodx.experts.course import Course
from robodx.experts.skills import Hand
from robodx.language.meaning import Meaning
from robodx.perturbations.base import Perturbation
from robodx.perturbations.substitution import Relief
from robodx.policies.expert import to_action
from robodx.robots.control import Controller
from robodx.scoring.stages import Score
from robodx.sim.robot import Robot
from robodx.sim.simulation import Command
from robodx.sim.world import World


class Standin:
    """Listens from the start, for words are meant of things as they are when they are said, and acts when called."""

    def __init__(self, reliefs: Sequence[Relief], world: World, robot: Robot, period_s: float) -> None:
        self._reliefs, self._world, self._period_s = reliefs, world, period_s
        self._controller = Controller(robot, "ee_pose")
        self._course = Course(Hand(world.tool(), world.openings()[0], period_s, world.tool()))

    def is_called(self, score: Score) -> bool:
        # Each is asked at every step: one that remembers must see them all.
        return any([relief.is_experts_turn(self._world, score) for relief in self._reliefs])

    def listen(self, meaning: Meaning) -> None:
        """Settle what is meant, now that it is said."""
        self._course.next(meaning, self._world)

    def take_over(self) -> None:
        """From where the hand is, with what is in it."""
        hand, world = self._course.hand, self._world
        hand.tool = hand.commanded = world.tool()
        hand.opening = world.openings()[0]
        hand.grip = 1.0 if world.held() is None else 0.0
        self._course.plan_anew()

    def command(self, meaning: Meaning, last: Command) -> Command:
        hand, world = self._course.hand, self._world
        hand.tool, hand.opening = world.tool(), world.openings()[0]
        action = to_action(world.base, self._course.next(meaning, world))
        return self._controller.resolve(action, last, self._period_s).command


def stand_in(perturbations: Sequence[Perturbation], world: World, robot: Robot, period_s: float) -> Standin | None:
    """None where no perturbation ever calls the expert."""
    reliefs = [one for one in perturbations if isinstance(one, Relief)]
    return Standin(reliefs, world, robot, period_s) if reliefs else None
