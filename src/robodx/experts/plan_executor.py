"""One episode's way through what is asked: decided, resolved and planned anew whenever what is meant changes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from robodx.experts.base import PlanContext, View
from robodx.experts.grasps import CannotBeDone
from robodx.experts.schedule import Schedule
from robodx.experts.skills import Hand, Waypoint, Wheels
from robodx.language.meaning import Clause, Meaning, Names, resolve_all
from robodx.language.reference import Seen, Unresolved, looks_now

if TYPE_CHECKING:
    from robodx.sim.world import World


class Understanding:
    """How an instruction is taken: here exactly as it is meant. A guess or a planted fault takes it otherwise."""

    def meaning(self, meaning: Meaning) -> Meaning:
        """What is heard at a step: a change of it makes all be decided anew."""
        return meaning

    def clauses(self, clauses: tuple[Clause, ...]) -> tuple[Clause, ...]:
        return clauses

    def resolved(self, clauses: tuple[Clause, ...], known: Seen, before: Names | None) -> Names:
        return resolve_all(clauses, known, before)

    def names(self, meant: Names, clauses: tuple[Clause, ...], view: View) -> Names:
        """What is acted on in place of what is meant; `CannotBeDone` to leave it alone."""
        return meant

    def belief(self, view: View, names: Names) -> View:
        """Where it believes things to be when it acts on them."""
        return view


def group_of(view: View, name: str) -> str:
    """Things of one group are candidates for each other."""
    thing = view.thing(name)
    return thing.kind if thing.is_fixed else "loose"


class PlanExecutor:
    """Yields a waypoint a hand and step; stands still while what is meant cannot be told or done, and at the end."""

    def __init__(self, *hands: Hand, understanding: Understanding | None = None, wheels: Wheels | None = None) -> None:
        self.hands = {hand.name: hand for hand in hands}
        self.wheels = wheels
        self.is_done = False
        # Whether the robot waits: what is said is heard, and nothing is begun.
        self.is_held = False
        self._understanding = understanding or Understanding()
        self._meaning: Meaning | None = None
        self._clauses: tuple[Clause, ...] = ()
        self._meant: Names | None = None
        self._schedule: Schedule | None = None

    @classmethod
    def of(cls, world: World, period_s: float, understanding: Understanding | None = None) -> Self:
        """For all hands of a robot, and its base, as they are now."""
        hands = [
            Hand(world.tool(name), world.opening(name), period_s, world.tool(name), name=name) for name in world.hands
        ]
        wheels = Wheels(world.base, period_s) if world.robot.base is not None else None
        return cls(*hands, understanding=understanding, wheels=wheels)

    def measure(self, world: World) -> None:
        for name, hand in self.hands.items():
            hand.tool, hand.opening = world.tool(name), world.opening(name)
        if self.wheels is not None:
            if any(self.wheels.velocity):
                # What it holds out rides along.
                along = world.base @ self.wheels.pose.inverse()
                for hand in self.hands.values():
                    hand.commanded = along @ hand.commanded
            self.wheels.pose = world.base

    def plan_anew(self) -> None:
        """From the next step on; what was decided and meant stays."""
        self._schedule = None

    def next(self, meaning: Meaning, view: View) -> dict[str, Waypoint]:
        """What each hand is told for one control step, by name."""
        if self.wheels is not None:
            self.wheels.velocity = (0.0, 0.0, 0.0)
        meaning, known = self._understanding.meaning(meaning), looks_now(view)
        if meaning != self._meaning:
            self._meaning, self._meant, self._schedule = meaning, None, None
            self._clauses = self._understanding.clauses(meaning.decided(known))
        try:
            meant = self._understanding.resolved(self._clauses, known, self._meant)
        except Unresolved:
            # What is meant is not there yet, or not told apart yet.
            return self._stay()
        if self.is_held:
            self._meant = meant
            return self._stay()
        try:
            if self._schedule is None or meant != self._meant:
                self._meant, self.is_done = meant, False
                self._schedule = self._plan(meant, view)
            waypoints = self._schedule.step()
        except CannotBeDone:
            # What was seen may have been taken for what it is not.
            self.plan_anew()
            return self._stay()
        self.is_done = waypoints is None
        return waypoints or self._stay()

    def _plan(self, meant: Names, view: View) -> Schedule:
        names = self._understanding.names(meant, self._clauses, view)
        first = next(iter(self.hands.values()))
        belief = self._understanding.belief(view, names)
        context = PlanContext(belief, first, names, hands=self.hands, wheels=self.wheels)
        return Schedule(self._clauses, context)

    def _stay(self) -> dict[str, Waypoint]:
        return {name: hand.stay() for name, hand in self.hands.items()}
