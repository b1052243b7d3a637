"""The search for what explains the failures best: which condition, in which manner, one after the other.

A candidate says: where this is demanded, that happens, more often than elsewhere. It is scored by the log likelihood
ratio of two rates, inside and outside, to one: so the most specific condition wins that still holds them all, for a
wider one has healthy episodes in it and a narrower one leaves failures outside. What a candidate explains is then set
aside, and the search goes on with the rest.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

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
# What is a weakness by itself is one of a condition only if it hardly happens elsewhere.
HEALTHY = 0.05
# The type of failure that comes of what a flag tells.
OF_FLAG = {"instability": "control instability", "collision": "collision"}
# Of what is demanded, and of what is done to it.
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

    @property
    def shows(self) -> Mask:
        """The episodes that it explains."""
        condition = self.condition
        return (condition.inside if condition.everywhere is None else condition.everywhere) & self.manner.has


def candidates(
    conditions: list[Condition], manners: list[Manner], among: Mask, pairs: NDArray[np.str_]
) -> list[Candidate]:
    """The best, what is best without its episodes, and so on; conditions and manners the more telling first.

    What is done to it comes after what is demanded, and without the situations that are explained by that: who fails
    there anyway does not fail by stress or haste. `pairs` tells the situation of each episode.
    """
    demanded = _search([one for one in conditions if not one.is_arm], manners, among)
    explained = np.zeros(len(among), dtype=np.bool_)
    for one in demanded:
        explained |= np.isin(pairs, pairs[one.shows])
    return demanded + _search([one for one in conditions if one.is_arm], manners, among & ~explained)


def _search(conditions: list[Condition], manners: list[Manner], among: Mask) -> list[Candidate]:
    found: list[Candidate] = []
    order = {condition.name: place for place, condition in enumerate(conditions)}
    left = among.copy()
    while len(found) < MOST_CANDIDATES:
        scored = [one for manner in manners for one in _scored(conditions, manner, left)]
        worthy = [one for one in scored if one.score >= LEAST_SCORE and one.counts.effect >= LEAST_EFFECT]
        if not worthy:
            break
        best = max(one.score for one in worthy)
        chosen = min((one for one in worthy if one.score >= NEARLY * best), key=lambda one: order[one.condition.name])
        found.append(chosen)
        if chosen.manner.sort == "flag" and chosen.manner.is_telling:
            # How it is done explains only the failures of that type: who trembles may also misread the words.
            same = (chosen.manner.name, OF_FLAG.get(chosen.manner.name))
            for manner in manners:
                if manner.sort == "type" and manner.name in same:
                    left &= ~manner.has
            manners = [manner for manner in manners if manner.name not in same]
        else:
            left &= ~chosen.shows
    return found


def count(condition: Condition, manner: Manner, among: Mask) -> Counts:
    inside, outside = condition.inside & among, condition.outside & among
    return Counts(
        int((inside & manner.has).sum()), int(inside.sum()), int((outside & manner.has).sum()), int(outside.sum())
    )


def _scored(conditions: list[Condition], manner: Manner, among: Mask) -> list[Candidate]:
    counted = [(condition, count(condition, manner, among)) for condition in conditions]
    # How much is explained by its being a weakness at all, wherever.
    anywhere = max((_beyond_background(counts) for one, counts in counted if one.sort == "all"), default=0.0)
    found = []
    for condition, counts in counted:
        score = _difference(counts)
        if condition.sort == "all":
            score = anywhere if manner.is_telling else 0.0
        elif counts.n_outside < LEAST_OUTSIDE or (manner.is_telling and counts.outside > HEALTHY * counts.n_outside):
            score = 0.0
        elif manner.is_telling and score >= LEAST_SCORE:
            score += anywhere
        found.append(Candidate(condition, manner, counts, score))
    return found


def _beyond_background(counts: Counts) -> float:
    if not counts.n_inside:
        return 0.0
    rate = counts.inside / counts.n_inside
    return counts.n_inside * _divergence(rate, BACKGROUND) if rate > BACKGROUND else 0.0


def _difference(counts: Counts) -> float:
    """The log likelihood ratio of two rates to one; none if it is not more often inside."""
    if counts.effect <= 0 or not counts.n_outside:
        return 0.0
    inside, outside = counts.inside / counts.n_inside, counts.outside / counts.n_outside
    together = (counts.inside + counts.outside) / (counts.n_inside + counts.n_outside)
    return counts.n_inside * _divergence(inside, together) + counts.n_outside * _divergence(outside, together)


def _divergence(rate: float, other: float) -> float:
    """Kullback and Leibler's, of one rate from another."""
    parts = ((rate, other), (1 - rate, 1 - other))
    return float(sum(p * np.log(p / q) for p, q in parts if p > 0))
