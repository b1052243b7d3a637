"""Simulates metamorphic runs in which no relation has an effect: in how many a policy is accused all the same.

By what `robodx findings` says, and for comparison by a repeat that is judged by a tolerance which it helped to set.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import polars as pl

from robodx.analysis.findings.inconsistencies import ALPHA, inconsistencies
from robodx.analysis.metamorphic.levels import with_verdicts
from robodx.analysis.metamorphic.rates import TOLERATED
from robodx.analysis.statistics.estimates import Estimate, wilson
from robodx.analysis.statistics.multiple import holm
from robodx.analysis.statistics.paired import mcnemar_p, tango
from robodx.records.pairs import REPEAT, SCHEMA

RELATIONS = ("MR1", "MR2", "MR3", "MR7")
# Tasks, and situations of each: as few as can be calibrated, and as many as the docs run.
DESIGNS = ((4, 19), (4, 25), (1, 19))
# The distances are lognormal: this is their median, in metres, well above the finest tolerance.
MEDIAN_M = 0.05


class Accused(NamedTuple):
    """Of simulated runs, the share in which a relation is claimed to be violated."""

    tasks: int
    situations: int
    found: Estimate
    # If a repeat had a say in the tolerance that it is judged by.
    by_own_repeat: Estimate


def accusations(runs: int, rng: np.random.Generator) -> Iterator[Accused]:
    for tasks, situations in DESIGNS:
        simulated = [without_effect(tasks, situations, rng) for _ in range(runs)]
        found = sum(any(True for _ in inconsistencies(pairs)) for pairs in simulated)
        own = sum(is_accused_by_own_repeat(pairs) for pairs in simulated)
        yield Accused(tasks, situations, wilson(found, runs), wilson(own, runs))


def without_effect(tasks: int, situations: int, rng: np.random.Generator) -> pl.DataFrame:
    """Pairs of follow-ups that stray from their sources just as repeats do."""
    names = (REPEAT, *RELATIONS)
    rows = [
        {
            "policy": "somebody", "task": f"task {task}", "seed": seed, "repeat": 0, "relation": relation,
            "pattern": "consistency", "source_id": f"{task}-{seed}", "trial_id": f"{task}-{seed}-{relation}",
            "source_hash": f"{task}-{seed}", "follow_up_hash": f"{task}-{seed}-{relation}", "is_flagged": False,
        }
        for task in range(tasks) for seed in range(situations) for relation in names
    ]  # fmt: skip
    distances = MEDIAN_M * rng.lognormal(size=len(rows))
    return pl.DataFrame(rows, schema=SCHEMA).with_columns(frechet_m=distances)


def is_accused_by_own_repeat(pairs: pl.DataFrame) -> bool:
    """By the same rule as the program's, but for the tolerance: one for all, of which each repeat is a part."""
    judged = with_verdicts(pairs).select("relation", "source_id", "violates_calibrated")
    wide = judged.pivot(on="relation", index="source_id", values="violates_calibrated")
    again = wide[REPEAT].to_numpy()
    lost = {name: int((again & ~wide[name].to_numpy()).sum()) for name in RELATIONS}
    won = {name: int((~again & wide[name].to_numpy()).sum()) for name in RELATIONS}
    adjusted = holm({name: mcnemar_p(lost[name], won[name]) for name in RELATIONS})
    for name, p in adjusted.items():
        low = tango(lost[name], won[name], len(wide)).low
        if p is not None and p < ALPHA and low is not None and low > TOLERATED:
            return True
    return False


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=300, help="simulated runs of each design")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    print(f"Runs without any effect in which one of {len(RELATIONS)} relations is claimed to be violated:\n")
    print("| tasks | situations each | runs | accused, % | by a repeat's own tolerance, % |\n|---|---|---|---|---|")
    for one in accusations(options.runs, np.random.default_rng(options.seed)):
        found, own = (_cell(each) for each in (one.found, one.by_own_repeat))
        print(f"| {one.tasks} | {one.situations} | {options.runs} | {found} | {own} |")


def _cell(share: Estimate) -> str:
    value, low, high = (100 * (each or 0.0) for each in (share.value, share.low, share.high))
    return f"{value:.1f} [{low:.1f}, {high:.1f}]"


if __name__ == "__main__":
    main()
