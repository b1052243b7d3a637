"""What each added factor costs: the plain perception task beside the same one entangled with one factor, in pairs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import polars as pl

from robodx.analysis.statistics.estimates import MAX_ERROR_SHARE, NOTHING, TESTABLE, Estimate
from robodx.analysis.statistics.multiple import holm
from robodx.analysis.stress import difference_of, rate_of, side_by_side, situations_of, with_courses
from robodx.analysis.variants import of_suite
from robodx.records.derived_design import designed


@dataclass(frozen=True)
class Contrast:
    """One factor added to one plain task, or (task is None) to all of them, on the same situations.

    Rates are of situations, those that went alike with and without the factor counted once.
    """

    policy: str
    factor: str
    # The plain one.
    task: str | None
    plain: Estimate
    entangled: Estimate
    # Entangled − plain on the same situations; the exact p of its being none; that after Holm over the factors.
    difference: Estimate
    p: float | None
    p_holm: float | None
    errors: int

    @property
    def is_testable(self) -> bool:
        """Whether the plain task is solved often enough to lose anything."""
        return self.plain.value is not None and self.plain.value >= TESTABLE


def contrasts(episodes: pl.DataFrame, about: Mapping[str, Any]) -> list[Contrast]:
    """Of what the suite `isolation` asked for: for each policy and factor a row over all plain tasks, then one each."""
    every = with_courses(designed(episodes, about))
    asked = of_suite(every, "isolation").filter(pl.col("variant") == "follow-up")
    asked = asked.with_columns(factor=pl.col("factors").list.first().struct.field("text"))
    found: list[Contrast] = []
    for (policy,), mine in asked.group_by("policy", maintain_order=True):
        plain = every.filter(pl.col("trial_id").is_in(mine["source_id"].implode()))
        of_policy: list[Contrast] = []
        for (factor,), entangled in mine.group_by("factor", maintain_order=True):
            pairs = side_by_side(plain, mine.clear(), entangled)
            each = [
                _contrast(str(policy), str(factor), str(task), part)
                for (task,), part in pairs.group_by("task", maintain_order=True)
            ]
            # What fails already when plain has nothing to lose, and would water the others down.
            testable = [one.task for one in each if one.is_testable]
            together = pairs.filter(pl.col("task").is_in(testable)) if testable else pairs
            of_policy += [_contrast(str(policy), str(factor), None, together), *each]
        adjusted = holm({one.factor: one.p for one in of_policy if one.task is None})
        found += [replace(one, p_holm=adjusted[one.factor]) if one.task is None else one for one in of_policy]
    return found


def _contrast(policy: str, factor: str, task: str | None, variant: pl.DataFrame) -> Contrast:
    pairs = variant.drop_nulls(["success", "success_stressed"])
    errors = len(variant) - len(pairs)
    if errors > MAX_ERROR_SHARE * len(variant):
        return Contrast(policy, factor, task, NOTHING, NOTHING, NOTHING, None, None, errors)
    each = situations_of(pairs)
    return Contrast(
        policy, factor, task, rate_of(each["success"]), rate_of(each["success_stressed"]), *difference_of(each), None,
        errors,
    )  # fmt: skip
