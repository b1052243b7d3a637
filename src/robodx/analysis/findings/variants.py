"""What is done to a policy beside the same situations without it: stress, and a world that does not wait."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import polars as pl

from robodx.analysis.findings.base import StressSeen
from robodx.analysis.findings.conditions import Condition
from robodx.analysis.findings.decisions import ALPHA, PairSeen, Tally
from robodx.analysis.statistics.estimates import Estimate, wilson
from robodx.analysis.statistics.sequential_pairs import Decision

STRESS, CLOCK = "stress", "clock"
REALTIME = "realtime"


def variants(episodes: pl.DataFrame) -> list[Tally]:
    """Each stressor at each level, and real time, as something that was put into the same situations."""
    found = list(_seen(episodes))
    return [Tally(condition, len(found), put_in=pairs, level=ALPHA) for condition, pairs in found]


def stress_seen(done: Sequence[Tally], decided: Sequence[Tally]) -> tuple[StressSeen, ...]:
    """Of each of them in the screening, and of the pairs that were run because it cost a success there."""
    later = {one.condition: one.put for one in decided if one.given is None}
    return tuple(_stress_seen(one, later.get(one.condition)) for one in done)


def _stress_seen(one: Tally, put: Decision | None) -> StressSeen:
    name, _, level = one.condition.levels[0].partition("/")
    solved = [pair.treated_success for pair in one.put_in if pair.placebo_success]
    is_stress = one.condition.attribute == STRESS
    seen = StressSeen(
        name if is_stress else "real time", level if is_stress else None,
        wilson(sum(solved), len(solved)), len(one.put_in) - len(solved),
    )  # fmt: skip
    if put is None:
        return seen
    # A loss, told as what becomes of success.
    loss = put.estimate
    value, low, high = (None if each is None else 0.0 - each for each in (loss.value, loss.high, loss.low))
    difference = Estimate(value, low, high, loss.n)
    return replace(seen, pairs=put.pairs, difference=difference, verdict=put.verdict, most_lost=put.upper)


def _seen(episodes: pl.DataFrame) -> Iterator[tuple[Condition, tuple[PairSeen, ...]]]:
    rows = episodes.sort("task", "seed", "repeat", "trial_id").select(
        "pair_id", "trial_id", "success", "is_base", "is_realtime", "stress"
    )
    without = {row["pair_id"]: row for row in rows.filter("is_base").iter_rows(named=True)}
    pairs: dict[Condition, list[PairSeen]] = {}
    for row in rows.filter(~pl.col("is_base")).iter_rows(named=True):
        plain = without.get(row["pair_id"])
        if plain is None or (row["stress"] and row["is_realtime"]):
            continue
        condition = Condition(STRESS, (row["stress"],)) if row["stress"] else Condition(CLOCK, (REALTIME,))
        seen = PairSeen(
            condition.attribute, condition.levels[0], row["trial_id"], plain["trial_id"],
            row["success"], plain["success"],
        )  # fmt: skip
        pairs.setdefault(condition, []).append(seen)
    yield from ((condition, tuple(seen)) for condition, seen in sorted(pairs.items()))
