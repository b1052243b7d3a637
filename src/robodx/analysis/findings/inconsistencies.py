"""Metamorphic inconsistencies: relations that a policy's path breaks more often than its own noise explains."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import polars as pl

from robodx.analysis.findings.base import Symptom
from robodx.analysis.findings.failure_modes import FailureMode
from robodx.analysis.findings.naming import symptom
from robodx.analysis.metamorphic.levels import CALIBRATED, LEVELS, Level, with_verdicts
from robodx.analysis.metamorphic.rates import TOLERATED, Violations, metamorphic_table
from robodx.analysis.metamorphic.words import claim
from robodx.analysis.statistics.estimates import Estimate
from robodx.records.pairs import REPEAT

ALPHA = 0.05
# A path that is to change has done so by more than noise at a few centimetres: what is claimed is that it stays within
# the ten centimetres of the low level.
LEVEL_OF: dict[str, Level] = {"variation": "low"}
NO_ONE = np.zeros(0, dtype=np.bool_)


def inconsistencies(pairs: pl.DataFrame) -> Iterator[Symptom]:
    """Of one policy's pairs, the relation that is violated most first."""
    table = metamorphic_table(pairs)
    if table is None:
        return
    told = [one for policy in table.policies for level in LEVELS for one in table.of(policy, level) if is_shown(one)]
    judged = with_verdicts(pairs)
    for one in sorted(told, key=lambda each: -(each.rate.value or 0.0)):
        name = symptom(FailureMode("relation", one.relation, NO_ONE, claim(one.relation, one.pattern)))
        title = f"{name.kind.name}: {name.subject}" if name.subject else name.kind.name
        yield Symptom(title, _statement(one), one.rate, _example(judged, one))


def is_judged(one: Violations) -> bool:
    """Whether it is the relation's rate at the level by which the relation is judged."""
    return one.relation != REPEAT and one.level == LEVEL_OF.get(one.pattern, CALIBRATED)


def is_shown(one: Violations) -> bool:
    """Whether violations exceed what noise explains, by more than 5 points: by their whole interval, and surely.

    A path that should not change is held against repeats of the same sources. One that should change is held against a
    rate of 5%, for a repeat says nothing of that.
    """
    if not is_judged(one) or one.p_holm is None:
        return False
    found = one.difference if one.pattern == "consistency" else one.rate
    return found.low is not None and found.low > TOLERATED and one.p_holm < ALPHA


def _statement(one: Violations) -> str:
    counts = f"{one.violating} of {one.pairs} pairs violate {one.relation} at the {one.level} level"
    again = f"MR0, the same trials run again, exceeds the tolerance in {one.repeated}"
    if one.pattern == "consistency":
        more = f"{one.relation} violates it in {_points(one.difference)} points more, {_p(one)}"
        return f"{claim(one.relation, one.pattern)}: {counts}, in {one.rate} of situations. {again}; {more}."
    beside = "" if one.repeated.value is None or one.pattern == "variation" else f" {again}."
    return (
        f"{claim(one.relation, one.pattern)}: {counts}, in {one.rate} of situations ({_p(one)} of 5% or less).{beside}"
    )


def _points(found: Estimate) -> str:
    values = (found.value or 0.0, found.low or 0.0, found.high or 0.0)
    value, low, high = (f"{100 * each:.0f}".replace("-", "−") for each in values)
    return f"{value} [{low}, {high}]"


def _p(one: Violations) -> str:
    assert one.p_holm is not None
    return "p < 0.001" if one.p_holm < 0.001 else f"p = {one.p_holm:.2g}"


def _example(judged: pl.DataFrame, one: Violations) -> tuple[str, ...]:
    """The source and the follow-up of the pair that shows it most: the farthest apart, or what varies least."""
    violating = judged.filter((pl.col("relation") == one.relation) & pl.col(f"violates_{one.level}"))
    is_near = one.pattern == "variation"
    first = violating.sort("distance_m", "trial_id", descending=[not is_near, False]).head(1)
    return tuple(first.select("source_id", "trial_id").row(0)) if len(first) else ()
