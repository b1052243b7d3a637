"""One episode's way through what is asked: decided, resolved and planned anew whenever what is meant changes."""

from __future__ import annotations

from robodx.experts.base import Scenery, View, seen, solve
from robodx.experts.grasps import CannotBeDone
from robodx.experts.skills import Hand, Steps, Waypoint
from robodx.language.meaning import Clause, Meaning, Names, resolve_all
from robodx.language.reference import Unresolved


class Understanding:
    """How an instruction is taken: here exactly as it is meant. A guess takes it otherwise."""

    def clauses(self, clauses: tuple[Clause, ...]) -> tuple[Clause, ...]:
        return clauses

    def names(self, meant: Names, view: View) -> Names:
        return meant


class Course:
    """Yields a waypoint a step; stands still while what is meant cannot be told or done, and when all is done."""

    def __init__(self, hand: Hand, understanding: Understanding | None = None) -> None:
        self.hand = hand
        self.is_done = False
        self._understanding = understanding or Understanding()
        self._meaning: Meaning | None = None
        self._clauses: tuple[Clause, ...] = ()
        self._meant: Names | None = None
        self._steps: Steps | None = None

    def plan_anew(self) -> None:
        """From the next step on; what was decided and meant stays."""
        self._steps = None

    def next(self, meaning: Meaning, view: View) -> Waypoint:
        known = seen(view)
        if meaning != self._meaning:
            self._meaning, self._meant, self._steps = meaning, None, None
            self._clauses = self._understanding.clauses(meaning.decided(known))
        try:
            meant = resolve_all(self._clauses, known, self._meant)
        except Unresolved:
            # What is meant is not there yet, or not told apart yet.
            return self.hand.stay()
        if self._steps is None or meant != self._meant:
            self._meant, self.is_done = meant, False
            self._steps = solve(self._clauses, Scenery(view, self.hand, self._understanding.names(meant, view)))
        try:
            waypoint = next(self._steps, None)
        except CannotBeDone:
            # What was seen may have been taken for what it is not.
            self.plan_anew()
            return self.hand.stay()
        self.is_done = waypoint is None
        return waypoint or self.hand.stay()
