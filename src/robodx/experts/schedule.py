"""Who does what when: the clauses under way, each with the hand that it needs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from robodx.experts.base import PLANS, PlanContext
from robodx.experts.grasps import CannotBeDone
from robodx.experts.skills import Hand, Steps, Waypoint
from robodx.language.meaning import Clause, are_apart


@dataclass
class _Job:
    """A clause that is being done. One that names no hand has all of the robot to itself."""

    clause: Clause
    hand: Hand
    steps: Steps


class Schedule:
    """Does clauses in their order; those that name different hands and share no thing are done at once.

    A hand does one clause at a time, and so is a thing handled by one at a time. What names no hand may need both, or
    the base: it waits for all before it, and all after it wait for it.
    """

    def __init__(self, clauses: Sequence[Clause], context: PlanContext) -> None:
        self._waiting, self._context = list(clauses), context
        self._jobs: list[_Job] = []

    def step(self) -> dict[str, Waypoint] | None:
        """What each hand is told for one control step, by name; None when all is done."""
        told: dict[str, Waypoint] = {}
        self._begin()
        while ready := [job for job in self._jobs if job.hand.name not in told]:
            job = ready[0]
            waypoint = self._stepped(job)
            if waypoint is None:
                self._jobs.remove(job)
                self._begin()
            else:
                told[job.hand.name] = waypoint
        if not told:
            return None
        hands = self._context.hands
        if len(hands) > 1 and self._jobs[0].clause.hand is None:
            # It may have led any of them, whichever it spoke of last.
            return {name: hand.waypoint for name, hand in hands.items()}
        return told | {name: hand.stay() for name, hand in hands.items() if name not in told}

    def _stepped(self, job: _Job) -> Waypoint | None:
        """What its hand is told; None when the clause is done. What one hand cannot do keeps no other from its own."""
        try:
            return next(job.steps, None)
        except CannotBeDone:
            if len(self._jobs) == 1:
                raise
            job.steps = self._steps(job.clause, job.hand)
            return job.hand.stay()

    def _steps(self, clause: Clause, hand: Hand) -> Steps:
        context = self._context.with_hand(hand)
        return _solved(clause, context if clause.hand is None else context.alone())

    def _begin(self) -> None:
        """Start every clause whose turn it is."""
        before = [job.clause for job in self._jobs]
        for clause in list(self._waiting):
            if all(self._are_apart(clause, other) for other in before):
                self._waiting.remove(clause)
                hand = self._hand_for(clause)
                self._jobs.append(_Job(clause, hand, self._steps(clause, hand)))
            before.append(clause)

    def _are_apart(self, a: Clause, b: Clause) -> bool:
        """Whether neither has to wait for the other."""
        if not are_apart(a, b):
            return False
        things, others = ({self._context.names[reference] for reference in one.references} for one in (a, b))
        return not things & others

    def _hand_for(self, clause: Clause) -> Hand:
        """The one that is named; else the one that holds what is asked for, or of the empty ones the nearest."""
        hands, view = self._context.hands, self._context.view
        if clause.hand is not None and clause.hand in hands:
            return hands[clause.hand]
        if clause.hand is not None and len(hands) > 1:
            raise CannotBeDone(f"there is no {clause.hand} hand")
        if len(hands) == 1:
            # Whatever it is called: policies with one hand may not know its name.
            return self._context.hand
        name = self._context.target(clause)
        if holders := view.holders(name):
            return hands[holders[0]]
        full = {hand for thing in view.things for hand in view.holders(thing)}
        empty = [hand for hand in hands.values() if hand.name not in full]
        here = view.position(name)
        return min(empty or hands.values(), key=lambda hand: math.dist(hand.tool.position, here))


def _solved(clause: Clause, context: PlanContext) -> Steps:
    """Waypoints that do what one clause asks."""
    if clause.once_lit is not None:
        signal = context.names[clause.once_lit]
        while not context.view.is_lit(f"{signal}/lamp"):
            yield context.hand.stay()
    yield from PLANS[clause.act](context, clause)
