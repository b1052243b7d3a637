"""A condition that is to be decided by pairs: what is to be asked of it next, and when that is given up."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field

from robodx.analysis.findings.conditions import Condition, Mask
from robodx.analysis.findings.decisions import PairSeen, Tally
from robodx.analysis.statistics.sequential_pairs import Decision
from robodx.suites.pairs import Effect, Pair

# How many pairs of a condition are run at a time.
BATCH = 4
# A test that has had so many pairs and would need more than as many again is given up.
PATIENCE = 14
# What was not decided and gained as much as this where it was undone may be a cause all the same.
HINT = 0.1
# Of a condition that was found to be so, failures that have it need no other explanation.
EXPLAINING = ("cause", "needed", "sufficient")


@dataclass
class Hypothesis:
    """A condition that is to be decided, and its pairs so far."""

    condition: Condition
    # Which of the screened trials it holds in.
    inside: Mask
    # Among how many it is tested, fixed before its first pair.
    tests: float
    stream: dict[Effect, Iterator[Pair]]
    # Successes that it cost in the screening, where it was done to the policy beside the same situation without it.
    lost: int = 0
    undo: list[PairSeen] = field(default_factory=list)
    put_in: list[PairSeen] = field(default_factory=list)
    # Effects for which there are no further situations.
    exhausted: set[Effect] = field(default_factory=set)
    given: Condition | None = None
    patience: int = PATIENCE
    # After how many screenings it was asked.
    turn: int = 0
    # Whether it is of the surroundings, hardly ever so in the screening, and cost a success where it was brought about.
    is_costly: bool = False
    # Known causes that were kept out of its first pair; more may be known later.
    first_without: tuple[Condition, ...] | None = None

    @property
    def tally(self) -> Tally:
        return Tally(self.condition, self.tests, tuple(self.undo), tuple(self.put_in), self.given)

    @property
    def wants(self) -> Effect | None:
        """What is to be asked of it next: whether undoing it helps; if so, or if nobody can, whether it suffices.

        Of what was seen to cost a success first whether it suffices: little of what was screened may have it.
        """
        if self.is_costly and self._may_be_put_in:
            return "put in"
        undone = self.tally.undone
        if "undo" in self.stream:
            if self._is_open(undone) and "undo" not in self.exhausted:
                return "undo"
            is_left_open = "undo" in self.exhausted and self.is_hinted
            if undone is not None and undone.verdict != "effect" and undone.pairs >= BATCH and not is_left_open:
                return None
        return "put in" if self._may_be_put_in else None

    @property
    def wants_excluding(self) -> Effect | None:
        """Of what does not help when it is undone: whether it suffices all the same."""
        undone = self.tally.undone
        is_without_gain = undone is not None and undone.verdict == "none"
        return "put in" if is_without_gain and self._may_be_put_in else None

    @property
    def is_shown(self) -> bool:
        return self.tally.certainty in EXPLAINING

    @property
    def is_hinted(self) -> bool:
        return self.tally.certainty == "undecided" and self.tally.undo_share >= HINT

    def is_hopeful(self, most: int) -> bool:
        """Whether so many further pairs in which it is undone may decide on it, as it looks."""
        undone = self.tally.undone
        more = None if undone is None else undone.pairs_more
        return self.is_hinted and "undo" not in self.exhausted and more is not None and 0 < more <= most

    def is_about(self, attribute: str) -> bool:
        """Whether it is told by this attribute, or by a part or the whole of it."""
        own = self.condition.attribute
        return own == attribute or own.startswith(f"{attribute}/") or attribute.startswith(f"{own}/")

    @property
    def _may_be_put_in(self) -> bool:
        is_there = "put in" in self.stream and "put in" not in self.exhausted
        return is_there and self._is_open(self.tally.put)

    def _is_open(self, decision: Decision | None) -> bool:
        """Whether more pairs may lead to a verdict soon."""
        if decision is None:
            return True
        more = decision.pairs_more
        is_futile = decision.pairs >= self.patience and (more is None or more > PATIENCE)
        return decision.verdict == "undecided" and not is_futile

    def promise(self, unexplained: Mask) -> float:
        """The most failures that it may still explain; what was found to help comes first, to be put in."""
        undone = self.tally.undone
        is_next = self.is_costly and self._may_be_put_in
        if is_next or (undone is not None and undone.verdict == "effect"):
            return math.inf
        upper = 1.0 if undone is None else undone.upper
        return (self.lost + float((self.inside & unexplained).sum())) * upper
