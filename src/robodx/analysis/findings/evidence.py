"""The numbers of a finding, from the pairs that decided on it and from the screening."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from robodx.analysis.findings.base import Crossed, PairEvidence
from robodx.analysis.findings.conditions import Condition, Mask
from robodx.analysis.findings.decisions import PairSeen, Tally
from robodx.analysis.findings.factors import says_the_same
from robodx.analysis.findings.failure_modes import FailureMode, failure_modes
from robodx.analysis.findings.proposals import LEAST_EFFECT
from robodx.analysis.findings.wording import attribute_in_words, when
from robodx.analysis.statistics.estimates import Estimate, newcombe, wilson
from robodx.analysis.statistics.power import smallest_visible_difference
from robodx.analysis.statistics.sequential_pairs import Decision
from robodx.records.features import features_of_row

# Pairs by which it is told what a condition was tested without.
LAST = 4


def rates(failed: Mask, inside: Mask) -> tuple[Estimate, Estimate, Estimate]:
    """Inside and outside, and by how much the first is higher: nothing where there are none of either."""
    k, n, other, n_other = (int(each.sum()) for each in (failed & inside, inside, failed & ~inside, ~inside))
    return wilson(k, n), wilson(other, n_other), newcombe(other, n_other, k, n)


def of_pairs(pairs: Sequence[PairSeen], decision: Decision | None, sign: int, tests: float) -> PairEvidence | None:
    if decision is None:
        return None
    counted = pairs[: decision.pairs]
    return PairEvidence(
        pairs=len(counted),
        changed=sum(one.treated_success for one in counted),
        placebo=sum(one.placebo_success for one in counted),
        gain=decision.estimate if sign > 0 else _negated(decision.estimate),
        verdict=decision.verdict,
        e_value=decision.e_value,
        interventions=tuple(sorted({one.intervention for one in counted})),
        pairs_more=decision.pairs_more,
        tests=tests,
    )


def _negated(one: Estimate) -> Estimate:
    value, low, high = (None if each is None else -each for each in (one.value, one.high, one.low))
    return Estimate(value, low, high, one.n)


def tested_without(tally: Tally, others: Sequence[Condition], paired: pl.DataFrame) -> tuple[Condition, ...]:
    """Of other causes, those that held in none of its last pairs: once known, they are kept out of its pairs."""
    last = tally.undo[-LAST:] or tally.put_in[-LAST:]
    ids = [trial for pair in last for trial in (pair.treated, pair.placebo)]
    trials = [features_of_row(row) for row in paired.filter(pl.col("trial_id").is_in(ids)).iter_rows(named=True)]
    return tuple(one for one in others if trials and not any(one.holds(each) for each in trials))


def share(tally: Tally, inside: Mask, failed: Mask) -> float:
    """Of all failures, what taking it away recovers beyond the placebo; without pairs, what it concerns.

    `inside` are trials that are like those it was tested in.
    """
    if not failed.any():
        return 0.0
    concerned = float((inside & failed).sum() / failed.sum())
    gain = tally.undone.estimate.value if tally.undone is not None else None
    return concerned * max(0.0, gain) if gain is not None else concerned


def shown_best(tally: Tally, paired: pl.DataFrame, mode: FailureMode) -> tuple[str, str] | None:
    """The pair that shows it best, its failure first: of those that flipped as it says, one in which least differs."""
    undone = [one for one in tally.undo if one.treated_success and not one.placebo_success]
    put_in = [one for one in tally.put_in if one.placebo_success and not one.treated_success]
    flipped = {(one.placebo, one.treated): one for one in undone} | {(one.treated, one.placebo): one for one in put_in}
    flaws = _flaws(paired.filter(pl.col("trial_id").is_in([fails for fails, _ in flipped])), mode)
    # Trials of the screening may serve a pair too, and are in another table.
    order = {pair: (flaws.get(pair[0], (True, True)), len(one.changed)) for pair, one in flipped.items()}
    return min(order, key=order.__getitem__, default=None)


def examples(failed: pl.DataFrame, mode: FailureMode) -> list[str]:
    """Trial ids, one of each task: the one that shows it best first."""
    flaws, shown = _flaws(failed, mode), dict[str, str]()
    for trial, task in sorted(failed.select("trial_id", "task").iter_rows(), key=lambda row: flaws[row[0]]):
        shown.setdefault(task, trial)
    return list(shown.values())


def _flaws(failed: pl.DataFrame, mode: FailureMode) -> dict[str, tuple[bool, bool]]:
    """By trial id, why an episode shows something else: things happen by themselves, or it fails in another way."""
    alike = next((one.has for one in failure_modes(failed) if (one.sort, one.name) == (mode.sort, mode.name)), None)
    others = [False] * len(failed) if alike is None else (~alike).tolist()
    eventful = [any(one["kind"] == "event" for one in logged or ()) for logged in failed["events"].to_list()]
    return dict(zip(failed["trial_id"], zip(eventful, others, strict=True), strict=True))


def crossed(tally: Tally, decided: Sequence[Tally], paired: pl.DataFrame) -> Crossed | None:
    """The pairs that were run where the other holds and where it does not; not those by which it was chosen."""
    if tally.given is None:
        return None
    ids = {
        trial
        for one in decided
        if one.condition == tally.condition and one.given and one.given.attribute == tally.given.attribute
        for pair in one.pairs
        for trial in (pair.treated, pair.placebo)
    }
    cells: dict[tuple[bool, bool], list[bool]] = {}
    for row in paired.filter(pl.col("trial_id").is_in(ids)).iter_rows(named=True):
        features = features_of_row(row)
        place = (tally.condition.holds(features), tally.given.holds(features))
        cells.setdefault(place, []).append(row["success"])
    both, this, other, neither = (
        (sum(cells.get(place, [])), len(cells.get(place, [])))
        for place in ((True, True), (True, False), (False, True), (False, False))
    )
    return Crossed(when(tally.given), both, this, other, neither)


def along(tally: Tally) -> tuple[str, ...]:
    """In words, without what says the same."""
    own = tally.condition
    return tuple(attribute_in_words(name) for name in tally.along if not says_the_same(name, own.attribute))


def is_below_chance(shown: pl.DataFrame, inside: pl.DataFrame) -> bool:
    """Whether it succeeds less often than guessing would, surely."""
    chance = inside["chance"].mean()
    if not isinstance(chance, float) or chance >= 1 or not len(inside):
        return False
    high = wilson(len(inside) - len(shown), len(inside)).high
    return high is not None and high < chance


def resolution(table: pl.DataFrame) -> float | None:
    """Of a family of the usual size, the rest being as good as all of it is."""
    base = table.filter("is_base")
    if base.is_empty():
        return None
    sizes = base.group_by("family").len()["len"].sort()
    typical = int(sizes[len(sizes) // 2])
    rate = float(base["success"].mean())  # type: ignore[arg-type]
    seen = smallest_visible_difference(typical, rate, len(base) - typical or None)
    return None if seen is None else max(seen, LEAST_EFFECT)
