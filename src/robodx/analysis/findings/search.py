"""The search for what explains the failures best: which condition, in which manner, one after the other.

A candidate says: where this is demanded, that happens, more often than elsewhere. It is scored by the log likelihood
ratio of two rates, inside and outside, to one: so the most specific condition wins that still holds them all, for a
wider one has healthy episodes in it and a narrower one leaves failures outside. What a candidate explains is then set
aside, and the search goes on with the rest, held apart by what was found: what is left inside a found condition are
those that it spared, which says nothing for another's being healthy.
"""

from __future__ import annotations

from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from robodx.analysis.findings.conditions import Condition, Mask
from robodx.analysis.findings.manners import Manner
from robodx.analysis.findings.thresholds import THRESHOLDS, Thresholds

# What a policy without weaknesses does now and then.
BACKGROUND = 0.02
# Rates nearer to each other than this are no finding, however sure.
LEAST_EFFECT = 0.1
# Fewer episodes to hold it against show nothing.
LEAST_OUTSIDE = 3
# The type of failure that comes of what a flag tells.
OF_FLAG = {"instability": "control instability", "collision": "collision"}
# Of what is demanded, and of what is done to it.
MOST_CANDIDATES = 5
# One weakness does not show alike wherever it shows (a guess among two is right more often than one among three), so
# that two conditions always explain it a little better; of two weaknesses they explain much more.
MUCH_BETTER = 1.25


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
    conditions: list[Condition],
    manners: list[Manner],
    among: Mask,
    pairs: NDArray[np.str_],
    thresholds: Thresholds = THRESHOLDS,
) -> list[Candidate]:
    """The best, what is best without its episodes, and so on; conditions and manners the more telling first.

    What is done to it comes after what is demanded, and without the situations that are explained by that: who fails
    there anyway does not fail by stress or haste. `pairs` tells the situation of each episode.
    """
    demanded = _search([one for one in conditions if not one.is_arm], manners, among, thresholds)
    explained = np.zeros(len(among), dtype=np.bool_)
    for one in demanded:
        explained |= np.isin(pairs, pairs[one.shows])
    arms = [one for one in conditions if one.is_arm]
    return demanded + _search(arms, manners, among & ~explained, thresholds)


def _search(conditions: list[Condition], manners: list[Manner], among: Mask, thresholds: Thresholds) -> list[Candidate]:
    found: list[Candidate] = []
    order = {condition.name: place for place, condition in enumerate(conditions)}
    left = among.copy()
    # By the conditions found before that it lies in, a number.
    alike = np.zeros(len(among), dtype=np.int64)
    misread = next((manner.has for manner in manners if manner.sort == "wrong thing"), np.zeros_like(among))
    while len(found) < MOST_CANDIDATES:
        strata = [left & (alike == each) for each in np.unique(alike[left])]
        scored = [one for manner in manners for one in _scored(conditions, manner, left, strata, thresholds)]
        worthy = [one for one in scored if one.score >= thresholds.least_score and one.counts.effect >= LEAST_EFFECT]
        if not worthy:
            break
        best = max(one.score for one in worthy)
        as_good = [one for one in worthy if one.score >= thresholds.nearly * best]
        chosen = min(as_good, key=lambda one: order[one.condition.name])
        chosen = _first_of_two(chosen, conditions, left, strata, thresholds) or chosen
        found.append(chosen)
        if chosen.condition.sort != "all":
            alike = 2 * alike + chosen.condition.inside
        if chosen.manner.sort == "flag" and chosen.manner.is_telling:
            # How it is done explains only the failures of that type: who trembles may also misread the words.
            same = (chosen.manner.name, OF_FLAG.get(chosen.manner.name))
            for manner in manners:
                if manner.sort == "type" and manner.name in same:
                    left &= ~manner.has | misread
            manners = [manner for manner in manners if manner.name not in same]
        else:
            left &= ~chosen.shows
    return found


def _first_of_two(
    one: Candidate, conditions: list[Condition], among: Mask, strata: list[Mask], thresholds: Thresholds
) -> Candidate | None:
    """The first of two demands within it, where both together explain so much more that they are worth their names.

    Else what two weaknesses have in common would be found in their place: who misunderstands negations and orders does
    not misunderstand all words.
    """
    if one.condition.sort != "need":
        return None
    parts = [each for each in conditions if each.sort == "need" and each.is_part_of(one.condition)]
    wholes = [each for each in conditions if each.sort == "all"]
    scored = {
        (a.name, b.name): _scored([*wholes, a.joined(b)], one.manner, among, strata, thresholds)[-1].score
        for a, b in combinations(parts, 2)
    }
    best = max(scored, key=lambda pair: scored[pair], default=None)
    if best is None or scored[best] < max(MUCH_BETTER * one.score, one.score + np.log(len(conditions))):
        return None
    scored_alone = _scored(conditions, one.manner, among, strata, thresholds)
    return next(each for each in scored_alone if each.condition.name in best)


def count(condition: Condition, manner: Manner, among: Mask) -> Counts:
    inside, outside = condition.inside & among, condition.outside & among
    return Counts(
        int((inside & manner.has).sum()), int(inside.sum()), int((outside & manner.has).sum()), int(outside.sum())
    )


def _scored(
    conditions: list[Condition], manner: Manner, among: Mask, strata: list[Mask], thresholds: Thresholds
) -> list[Candidate]:
    counted = [(condition, count(condition, manner, among)) for condition in conditions]
    # How much is explained by its being a weakness at all, wherever.
    anywhere = max((_beyond_background(counts) for one, counts in counted if one.sort == "all"), default=0.0)
    most_outside = thresholds.healthy if manner.is_telling else 1.0
    found = []
    for condition, counts in counted:
        score = sum(_difference(count(condition, manner, stratum)) for stratum in strata)
        if condition.sort == "all":
            score = anywhere if manner.is_telling else 0.0
        elif counts.n_outside < LEAST_OUTSIDE or counts.outside > most_outside * counts.n_outside:
            score = 0.0
        elif manner.is_telling and score >= thresholds.least_score:
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
