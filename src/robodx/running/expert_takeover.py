"""The expert acts in place of the policy for some stages, for substitutions; see perturbations/substitution.py."""

from __future__ import annotations

from collections.abc import Sequence

from robodx.experts.plan_executor import PlanExecutor
from robodx.language.meaning import Meaning
from robodx.perturbations.base import Perturbation
from robodx.perturbations.substitution import ExpertTakeover
from robodx.policies.expert import told
from robodx.robots.control import Controller
from robodx.scoring.stages import Score
from robodx.sim.robot import Robot
from robodx.sim.simulation import Command
from robodx.sim.world import World


class TakeoverExpert:
    """Listens from the start, for words are meant of things as they are when they are said, and acts when called."""

    def __init__(self, takeovers: Sequence[ExpertTakeover], world: World, robot: Robot, period_s: float) -> None:
        self._takeovers, self._world, self._period_s = takeovers, world, period_s
        self._controller = Controller(robot, "ee_pose")
        self._executor = PlanExecutor.of(world, period_s)

    def is_called(self, score: Score) -> bool:
        # Each is asked at every step: one that remembers must see them all.
        return any([takeover.is_experts_turn(self._world, score) for takeover in self._takeovers])

    def listen(self, meaning: Meaning) -> None:
        """Settle what is meant, now that it is said."""
        self._executor.next(meaning, self._world)

    def take_over(self) -> None:
        """From where the hands are, with what is in them."""
        self._executor.measure(self._world)
        for name, hand in self._executor.hands.items():
            hand.commanded = hand.tool
            hand.grip = 1.0 if self._world.held(name) is None else 0.0
        self._executor.plan_anew()

    def command(self, meaning: Meaning, last: Command) -> Command:
        self._executor.measure(self._world)
        action = told(self._executor, meaning, self._world)
        return self._controller.resolve(action, last, self._period_s).command


def takeover_expert(
    perturbations: Sequence[Perturbation], world: World, robot: Robot, period_s: float
) -> TakeoverExpert | None:
    """None where no perturbation ever calls the expert."""
    takeovers = [one for one in perturbations if isinstance(one, ExpertTakeover)]
    return TakeoverExpert(takeovers, world, robot, period_s) if takeovers else None
