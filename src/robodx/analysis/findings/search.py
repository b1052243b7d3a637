"""The search for what explains the failures best: which condition, in which manner, one after the other.

A candidate says: where this is demanded, that happens, more often than elsewhere. It is scored by how surprising its
episodes would be if they were like the others: so the most specific condition wins that still holds them all, for a
wider one has healthy episodes in it and a narrower one leaves failures outside. What a candidate explains is then set
aside, and the search goes on with the rest.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from robodx.analysis.findings.conditions import Condition, Mask
from robodx.analysis.findings.manners import Manner

# What a policy without weaknesses does now and then.
BACKGROUND = 0.02
# Weaker than this a candidate is not worth a test: one failure where nothing else fails is already more.
LEAST_SCORE = 3.0
# Rates nearer to each other than this are no finding, however sure.
LEAST_EFFECT = 0.1
# Scores within this share of the best are as good; then the more telling name is taken.
NEARLY = 0.97
# Fewer episodes to hold it against show nothing.
LEAST_OUTSIDE = 3
MOST_CANDIDATES = 5


class Counts(NamedTuple):
    """How often a manner is seen inside a condition and outside of it."""

    inside: int
    n_inside: int
    outside: int
    n_outside: int

    @property
    def effect(self) -> float:
        outside = self.outside / self.n_outside if self.n_outside else 0.0
        return self.inside / self.n_inside - outside if self.n_inside else 0.0


class Candidate(NamedTuple):
    condition: Condition
    manner: Manner
    counts: Counts
    score: float


def candidates(conditions: list[Condition], manners: list[Manner], among: Mask) -> list[Candidate]:
    """The best, what is best without its episodes, and so on; conditions and manners the more telling first."""
    found: list[Candidate] = []
    left = among.copy()
    while len(found) < MOST_CANDIDATES:
        scored = [_scored(condition, manner, left) for condition in conditions for manner in manners]
        worthy = [one for one in scored if one.score >= LEAST_SCORE and one.counts.effect >= LEAST_EFFECT]
        if not worthy:
            break
        best = max(one.score for one in worthy)
        chosen = next(one for one in worthy if one.score >= NEARLY * best)
        found.append(chosen)
        left &= ~explained(chosen)
    return found


def explained(candidate: Candidate) -> Mask:
    """The episodes that need no further explanation."""
    return candidate.condition.inside & candidate.manner.has


def count(condition: Condition, manner: Manner, among: Mask) -> Counts:
    inside, outside = condition.inside & among, condition.outside & among
    return Counts(
        int((inside & manner.has).sum()), int(inside.sum()), int((outside & manner.has).sum()), int(outside.sum())
    )


def _scored(condition: Condition, manner: Manner, among: Mask) -> Candidate:
    counts = count(condition, manner, among)
    is_fit = manner.is_telling if condition.sort == "all" else counts.n_outside >= LEAST_OUTSIDE
    return Candidate(condition, manner, counts, _score(counts) if is_fit else 0.0)


def _score(counts: Counts) -> float:
    """The log likelihood ratio of the rate inside to the one outside, which is never taken for less than usual."""
    if not counts.n_inside:
        return 0.0
    usual = max(BACKGROUND, (counts.outside + 0.5) / (counts.n_outside + 1)) if counts.n_outside else BACKGROUND
    rate = counts.inside / counts.n_inside
    if rate <= usual:
        return 0.0
    lost = 0.0 if rate == 1.0 else (1 - rate) * np.log((1 - rate) / (1 - usual))
    return float(counts.n_inside * (rate * np.log(rate / usual) + lost))
