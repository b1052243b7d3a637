"""The reference panel: what the changes behind a finding did to three other policies, which ran each in development."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

from robodx.analysis.findings.base import PanelLoss
from robodx.analysis.findings.decisions import Tally

# `make reference-panel` runs them and writes it.
TABLE = Path(__file__).with_name("panel.csv")
# From this loss of success on a policy falls too: what a cause must exceed not to be excluded.
FALLS = 0.2
# So many of them are most.
MOST = 2
# A policy that ran fewer of the changes than this share of the pairs says nothing, nor one with fewer pairs of its own.
LEAST_COVERED = 0.5
LEAST_PAIRS = 6


class Asked(NamedTuple):
    """One policy of the panel, with one intervention at one value, as a row of the table."""

    intervention: str
    value: str
    # In the words of a sentence.
    policy: str
    pairs: int
    # How many succeeded with the value, and with the placebo.
    treated: int
    placebo: int


def read(path: Path = TABLE) -> list[Asked]:
    with path.open(encoding="utf-8", newline="") as file:
        return [
            Asked(row["intervention"], row["value"], row["policy"], *(int(row[name]) for name in Asked._fields[3:]))
            for row in csv.DictReader(file)
        ]


@cache
def _shipped() -> tuple[Asked, ...]:
    return tuple(read())


def losses(tally: Tally, table: Sequence[Asked] | None = None) -> tuple[PanelLoss, ...]:
    """Of each policy of the panel, the success that it loses by what the pairs changed, beyond the placebo.

    The mean over the pairs of what the same intervention at the same value did in the situations of the panel. Nothing
    of a policy that ran too few of them; what is done to a policy is no intervention, so that of it there is nothing.
    """
    rows: dict[str, dict[tuple[str, str], Asked]] = {}
    for one in _shipped() if table is None else table:
        if one.pairs:
            rows.setdefault(one.policy, {})[one.intervention, one.value] = one
    found = []
    for policy, asked in rows.items():
        same = [
            (asked[pair.intervention, pair.value], sign)
            for pairs, sign in ((tally.undo, 1), (tally.put_in, -1))
            for pair in pairs
            if (pair.intervention, pair.value) in asked
        ]
        own = sum(row.pairs for row in {row for row, _ in same})
        if own >= LEAST_PAIRS and len(same) >= LEAST_COVERED * len(tally.pairs):
            lost = sum(sign * (row.treated - row.placebo) / row.pairs for row, sign in same) / len(same)
            found.append(PanelLoss(policy, lost, own))
    return tuple(found)


def harder(panel: Sequence[PanelLoss]) -> str:
    """A sentence where most of the panel fall too, worst first; else none."""
    if sum(one.lost >= FALLS for one in panel) < MOST:
        return ""
    worst, *others = sorted(panel, key=lambda one: -one.lost)
    rest = "".join(f", {one.policy} {_points(one.lost)} (n = {one.pairs})" for one in others)
    told = f"{worst.policy} loses {_points(worst.lost)} points (n = {worst.pairs}){rest}"
    return f"Harder for most policies: of the reference panel {told}."


def _points(lost: float) -> str:
    count = round(100 * lost)
    return f"gains {-count}" if count < 0 else str(count)
