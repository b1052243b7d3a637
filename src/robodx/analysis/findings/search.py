"""The search for what explains the failures best: which stratum, in which failure mode, one after the other.

A candidate says: where this is required, that happens, more often than elsewhere. It is scored by the log likelihood
ratio of two rates, inside and outside, to one: so the most specific stratum wins that still holds them all, for a
wider one has healthy episodes in it and a narrower one leaves failures outside. What a candidate explains is then set
aside, and the search goes on with the rest, held apart by what was found: what is left inside a found stratum are
those that it spared, which says nothing for another's being healthy.
"""

from __future__ import annotations

from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from robodx.analysis.findings.failure_modes import FailureMode
from robodx.analysis.findings.strata import Mask, Stratum
from robodx.analysis.findings.thresholds import THRESHOLDS, Thresholds

# What a policy without weaknesses does now and then.
BACKGROUND = 0.02
# Rates nearer to each other than this are no finding, however sure.
LEAST_EFFECT = 0.1
# Fewer episodes to hold it against show nothing.
LEAST_OUTSIDE = 3
# The type of failure that comes of what a flag tells.
OF_FLAG = {"instability": "control instability", "collision": "collision"}
# Of what is required, and of what is done to it.
MOST_CANDIDATES = 5
# One weakness does not show alike wherever it shows (a guess among two is right more often than one among three), so
# that two strata always explain it a little better; of two weaknesses they explain much more.
MUCH_BETTER = 1.25


class Counts(NamedTuple):
    """How often a failure mode is seen inside a stratum and outside of it."""

    inside: int
    n_inside: int
    outside: int
    n_outside: int

    @property
    def effect(self) -> float:
        outside = self.outside / self.n_outside if self.n_outside else 0.0
        return self.inside / self.n_inside - outside if self.n_inside else 0.0


class Candidate(NamedTuple):
    stratum: Stratum
    failure_mode: FailureMode
    counts: Counts
    score: float

    @property
    def shows(self) -> Mask:
        """The episodes that it explains."""
        stratum = self.stratum
        return (stratum.inside if stratum.everywhere is None else stratum.everywhere) & self.failure_mode.has


def candidates(
    strata: list[Stratum],
    failure_modes: list[FailureMode],
    among: Mask,
    pairs: NDArray[np.str_],
    thresholds: Thresholds = THRESHOLDS,
) -> list[Candidate]:
    """The best, what is best without its episodes, and so on; strata and failure modes the more telling first.

    What is done to it comes after what is required, and without the situations that are explained by that: who fails
    there anyway does not fail by stress or in real time. `pairs` tells the situation of each episode.
    """
    required = _search([one for one in strata if not one.is_variant], failure_modes, among, thresholds)
    explained = np.zeros(len(among), dtype=np.bool_)
    for one in required:
        explained |= np.isin(pairs, pairs[one.shows])
    variants = [one for one in strata if one.is_variant]
    return required + _search(variants, failure_modes, among & ~explained, thresholds)


def _search(
    strata: list[Stratum], failure_modes: list[FailureMode], among: Mask, thresholds: Thresholds
) -> list[Candidate]:
    found: list[Candidate] = []
    order = {stratum.name: place for place, stratum in enumerate(strata)}
    left = among.copy()
    # By the strata found before that it lies in, a number.
    alike = np.zeros(len(among), dtype=np.int64)
    misread = next(
        (failure_mode.has for failure_mode in failure_modes if failure_mode.sort == "wrong thing"), np.zeros_like(among)
    )
    while len(found) < MOST_CANDIDATES:
        blocks = [left & (alike == each) for each in np.unique(alike[left])]
        scored = [
            one for failure_mode in failure_modes for one in _scored(strata, failure_mode, left, blocks, thresholds)
        ]
        worthy = [one for one in scored if one.score >= thresholds.least_score and one.counts.effect >= LEAST_EFFECT]
        if not worthy:
            break
        best = max(one.score for one in worthy)
        as_good = [one for one in worthy if one.score >= thresholds.nearly * best]
        chosen = min(as_good, key=lambda one: order[one.stratum.name])
        chosen = _first_of_two(chosen, strata, left, blocks, thresholds) or chosen
        found.append(chosen)
        if chosen.stratum.sort != "all":
            alike = 2 * alike + chosen.stratum.inside
        if chosen.failure_mode.sort == "flag" and chosen.failure_mode.is_telling:
            # How it is done explains only the failures of that type: who trembles may also misread the words.
            same = (chosen.failure_mode.name, OF_FLAG.get(chosen.failure_mode.name))
            for failure_mode in failure_modes:
                if failure_mode.sort == "type" and failure_mode.name in same:
                    left &= ~failure_mode.has | misread
            failure_modes = [failure_mode for failure_mode in failure_modes if failure_mode.name not in same]
        else:
            left &= ~chosen.shows
    return found


def _first_of_two(
    one: Candidate, strata: list[Stratum], among: Mask, blocks: list[Mask], thresholds: Thresholds
) -> Candidate | None:
    """The first of two requirements within it, where both together explain so much more that they are worth it.

    Else what two weaknesses have in common would be found in their place: who misunderstands negations and orders does
    not misunderstand all words.
    """
    if one.stratum.sort != "need":
        return None
    parts = [each for each in strata if each.sort == "need" and each.is_part_of(one.stratum)]
    wholes = [each for each in strata if each.sort == "all"]
    scored = {
        (a.name, b.name): _scored([*wholes, a.joined(b)], one.failure_mode, among, blocks, thresholds)[-1].score
        for a, b in combinations(parts, 2)
    }
    best = max(scored, key=lambda pair: scored[pair], default=None)
    if best is None or scored[best] < max(MUCH_BETTER * one.score, one.score + np.log(len(strata))):
        return None
    scored_alone = _scored(strata, one.failure_mode, among, blocks, thresholds)
    return next(each for each in scored_alone if each.stratum.name in best)


def count(stratum: Stratum, failure_mode: FailureMode, among: Mask) -> Counts:
    inside, outside = stratum.inside & among, stratum.outside & among
    return Counts(
        int((inside & failure_mode.has).sum()),
        int(inside.sum()),
        int((outside & failure_mode.has).sum()),
        int(outside.sum()),
    )


def _scored(
    strata: list[Stratum], failure_mode: FailureMode, among: Mask, blocks: list[Mask], thresholds: Thresholds
) -> list[Candidate]:
    counted = [(stratum, count(stratum, failure_mode, among)) for stratum in strata]
    # How much is explained by its being a weakness at all, wherever.
    anywhere = max((_beyond_background(counts) for one, counts in counted if one.sort == "all"), default=0.0)
    most_outside = thresholds.healthy if failure_mode.is_telling else 1.0
    found = []
    for stratum, counts in counted:
        score = sum(_difference(count(stratum, failure_mode, block)) for block in blocks)
        if stratum.sort == "all":
            score = anywhere if failure_mode.is_telling else 0.0
        elif counts.n_outside < LEAST_OUTSIDE or counts.outside > most_outside * counts.n_outside:
            score = 0.0
        elif failure_mode.is_telling and score >= thresholds.least_score:
            score += anywhere
        found.append(Candidate(stratum, failure_mode, counts, score))
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
