"""One episode's way through what is asked: decided, resolved and planned anew whenever what is meant changes."""

from __future__ import annotations

from robodx.experts.base import PlanContext, View, solve
from robodx.experts.grasps import CannotBeDone
from robodx.experts.skills import Hand, Steps, Waypoint
from robodx.language.meaning import Clause, Meaning, Names, resolve_all
from robodx.language.reference import Seen, Unresolved, looks_now


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
    """Yields a waypoint a step; stands still while what is meant cannot be told or done, and when all is done."""

    def __init__(self, hand: Hand, understanding: Understanding | None = None) -> None:
        self.hand = hand
        self.is_done = False
        # Whether the robot waits: what is said is heard, and nothing is begun.
        self.is_held = False
        self._understanding = understanding or Understanding()
        self._meaning: Meaning | None = None
        self._clauses: tuple[Clause, ...] = ()
        self._meant: Names | None = None
        self._steps: Steps | None = None

    def plan_anew(self) -> None:
        """From the next step on; what was decided and meant stays."""
        self._steps = None

    def next(self, meaning: Meaning, view: View) -> Waypoint:
        meaning, known = self._understanding.meaning(meaning), looks_now(view)
        if meaning != self._meaning:
            self._meaning, self._meant, self._steps = meaning, None, None
            self._clauses = self._understanding.clauses(meaning.decided(known))
        try:
            meant = self._understanding.resolved(self._clauses, known, self._meant)
        except Unresolved:
            # What is meant is not there yet, or not told apart yet.
            return self.hand.stay()
        if self.is_held:
            self._meant = meant
            return self.hand.stay()
        try:
            if self._steps is None or meant != self._meant:
                self._meant, self.is_done = meant, False
                self._steps = self._plan(meant, view)
            waypoint = next(self._steps, None)
        except CannotBeDone:
            # What was seen may have been taken for what it is not.
            self.plan_anew()
            return self.hand.stay()
        self.is_done = waypoint is None
        return waypoint or self.hand.stay()

    def _plan(self, meant: Names, view: View) -> Steps:
        names = self._understanding.names(meant, self._clauses, view)
        return solve(self._clauses, PlanContext(self._understanding.belief(view, names), self.hand, names))
