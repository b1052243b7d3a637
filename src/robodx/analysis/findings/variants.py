"""What is done to a policy beside the same situations without it: stress, and a world that does not wait."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from robodx.analysis.findings.conditions import Condition
from robodx.analysis.findings.decisions import ALPHA, PairSeen, Tally

STRESS, CLOCK = "stress", "clock"
REALTIME = "realtime"


def variants(episodes: pl.DataFrame) -> list[Tally]:
    """Each stressor at each level, and real time, as something that was put into the same situations."""
    found = list(_seen(episodes))
    return [Tally(condition, len(found), put_in=pairs, level=ALPHA) for condition, pairs in found]


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
