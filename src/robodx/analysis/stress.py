"""When does it break: stressed arms beside the clean arm on the same situations, in excess of merely trying again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from robodx.analysis.estimates import MAX_ERROR_SHARE, TESTABLE, Estimate, wilson
from robodx.analysis.multiple import holm
from robodx.analysis.paired import Retained, mcnemar, paired_difference, retained
from robodx.analysis.power import smallest_visible_drop
from robodx.analysis.trend import trend

SITUATION = ("task", "pair_id", "clock")


@dataclass(frozen=True)
class Degradation:
    """One stressor at one level, on one carrier or (task is None) on all that are testable.

    Rates are of situations, those that went alike in both arms counted once. With too many errors there are none.
    """

    policy: str
    stressor: str
    kind: str
    level: str
    task: str | None
    clean: Estimate
    stressed: Estimate
    # Stressed − clean on the same situations, and the exact p of its being none.
    difference: Estimate
    p: float | None
    # The share of clean successes solved again, under stress and when merely repeated, and what stress lost more.
    retained: Estimate
    repeated: Estimate
    excess_loss: Estimate
    # The smallest fall that so many pairs would have shown, four times in five.
    visible_drop: float | None
    # The share of queries, and of executed commands, that were perturbed.
    exposure: float | None
    commands: float | None
    errors: int


@dataclass(frozen=True)
class StressTrend:
    """Whether success falls with the level: its change from one level to the next, with p before and after Holm."""

    policy: str
    stressor: str
    slope: float | None
    p: float | None
    p_holm: float | None
    situations: int


@dataclass(frozen=True)
class NotTestable:
    """A carrier whose clean arm is too weak to lose anything."""

    policy: str
    task: str
    clean: Estimate


@dataclass(frozen=True)
class StressTable:
    rows: tuple[Degradation, ...]
    trends: tuple[StressTrend, ...]
    not_testable: tuple[NotTestable, ...]


def stress_table(episodes: pl.DataFrame, about: Mapping[str, Any], rng: np.random.Generator) -> StressTable:
    """Of a run of the suite `stress`, given its run.json."""
    cards = about.get("perturbations", {})
    arms = _arms(episodes, base=len(about["request"].get("perturbations", ())))
    rows: list[Degradation] = []
    trends: list[StressTrend] = []
    not_testable: list[NotTestable] = []
    for (policy,), mine in arms.group_by("policy", maintain_order=True):
        clean = mine.filter(pl.col("stressor").is_null() & (pl.col("repeat") == 0))
        again = mine.filter(pl.col("stressor").is_null() & (pl.col("repeat") == 1))
        stressed = mine.filter(pl.col("stressor").is_not_null() & (pl.col("suite") == "stress"))
        # Tasks that only the clean arm has are no carriers.
        weak = _weak(clean.join(again, on="task", how="semi", maintain_order="left"))
        not_testable += [NotTestable(str(policy), task, rate) for task, rate in weak.items()]
        found: list[StressTrend] = []
        for name in sorted(stressed["stressor"].unique(), key=lambda name: (cards.get(name, {}).get("kind", ""), name)):
            card, group = (
                cards.get(name, {}),
                stressed.filter((pl.col("stressor") == name) & ~pl.col("task").is_in(list(weak))),
            )
            for severity in sorted(group["severity"].unique()):
                arm = _side_by_side(clean, again, group.filter(pl.col("severity") == severity))
                degraded = partial(_degradation, str(policy), name, card.get("kind", ""), _level(card, severity))
                rows.append(degraded(None, arm))
                rows += [degraded(str(task), part) for (task,), part in arm.group_by("task", maintain_order=True)]
            if card.get("is_ordered", True):
                slope, p, situations = trend(_by_level(clean, group), rng)
                found.append(StressTrend(str(policy), name, slope, p, None, situations))
        adjusted = holm({one.stressor: one.p for one in found})
        trends += [replace(one, p_holm=adjusted[one.stressor]) for one in found]
    return StressTable(tuple(rows), tuple(trends), tuple(not_testable))


def _arms(episodes: pl.DataFrame, base: int) -> pl.DataFrame:
    """Episodes with their stressor, the one perturbation beyond those that all arms share; of errors no success."""
    further = pl.col("perturbations").list.get(base, null_on_oob=True)
    is_valid = pl.col("outcome") != "error"
    return episodes.with_columns(
        success=pl.when(is_valid).then("success"),
        stressor=further.struct.field("name"),
        severity=further.struct.field("severity"),
        # A record without a hash cannot be told to be like another.
        course=pl.when(pl.col("trajectory_hash").is_null())
        .then("trial_id")
        .otherwise(pl.struct("instructions", "trajectory_hash").struct.json_encode()),
    )


def _weak(clean: pl.DataFrame) -> dict[str, Estimate]:
    counts = clean.group_by("task", maintain_order=True).agg(pl.col("success").sum(), n=pl.col("success").count())
    rates = {task: wilson(int(won), int(n)) for task, won, n in counts.iter_rows()}
    return {task: rate for task, rate in rates.items() if rate.value is None or rate.value < TESTABLE}


def _side_by_side(clean: pl.DataFrame, again: pl.DataFrame, stressed: pl.DataFrame) -> pl.DataFrame:
    """Situations with the outcomes of their three arms, null where one erred; those alike in all of them once."""
    measured = stressed.select(
        *SITUATION, "success", "course", "queries", "perturbed_queries", "steps", "perturbed_steps"
    )
    return (
        clean.select(*SITUATION, "success", "course")
        .join(measured, on=SITUATION, suffix="_stressed", maintain_order="left")
        .join(
            again.select(*SITUATION, "success", "course"),
            on=SITUATION,
            how="left",
            suffix="_again",
            maintain_order="left",
        )
        .unique(["task", "course", "course_stressed", "course_again"], keep="first", maintain_order=True)
    )


def _degradation(policy: str, name: str, kind: str, level: str, task: str | None, arm: pl.DataFrame) -> Degradation:
    pairs = arm.drop_nulls(["success", "success_stressed"])
    # Without the identity arm nothing can be said of its excess.
    triples = pairs.drop_nulls("success_again")
    clean, stressed = _bools(pairs, "success"), _bools(pairs, "success_stressed")
    errors = len(arm) - len(pairs)
    found = Degradation(
        policy=policy,
        stressor=name,
        kind=kind,
        level=level,
        task=task,
        clean=wilson(int(clean.sum()), len(clean)),
        stressed=wilson(int(stressed.sum()), len(stressed)),
        difference=paired_difference(clean, stressed),
        p=mcnemar(clean, stressed),
        visible_drop=_visible_drop(triples if len(triples) else pairs),
        exposure=_share(pairs, "perturbed_queries", "queries"),
        commands=_share(pairs, "perturbed_steps", "steps"),
        errors=errors,
        **_kept(triples),
    )
    return found if errors <= MAX_ERROR_SHARE * len(arm) else _without_rates(found)


def _kept(triples: pl.DataFrame) -> dict[str, Estimate]:
    kept: Retained = retained(
        _bools(triples, "success"), _bools(triples, "success_again"), _bools(triples, "success_stressed")
    )
    return {"retained": kept.stressed, "repeated": kept.identity, "excess_loss": kept.excess_loss}


def _visible_drop(pairs: pl.DataFrame) -> float | None:
    clean, again = _bools(pairs, "success"), pairs["success_again"].fill_null(pairs["success"]).to_numpy()
    rate = float(clean.mean()) if len(clean) else 0.0
    return smallest_visible_drop(len(clean), rate, flip_rate=float((clean != again).mean())) if rate > 0 else None


def _without_rates(row: Degradation) -> Degradation:
    names = ("clean", "stressed", "difference", "retained", "repeated", "excess_loss")
    nothing: dict[str, Any] = {name: Estimate(None, None, None, getattr(row, name).n) for name in names}
    return replace(row, p=None, visible_drop=None, **nothing)


def _by_level(clean: pl.DataFrame, stressed: pl.DataFrame) -> NDArray[np.float64]:
    """Outcomes (situations, levels), clean first, NaN where one is missing or erred; those alike at all levels once."""
    carriers = clean.join(stressed, on="task", how="semi").with_columns(severity=pl.lit(0.0))
    both = pl.concat([carriers, stressed], how="diagonal_relaxed").with_columns(pl.col("success").cast(pl.Float64))
    outcomes, courses = (
        both.pivot(on="severity", index=list(SITUATION), values=value, maintain_order=True).sort(SITUATION)
        for value in ("success", "course")
    )
    levels = sorted((name for name in outcomes.columns if name not in SITUATION), key=float)
    named = courses.rename({level: f"course at {level}" for level in levels})
    distinct = outcomes.join(named, on=SITUATION, maintain_order="left").unique(
        ["task", *(f"course at {level}" for level in levels)], keep="first", maintain_order=True
    )
    return distinct.select(pl.col(levels).fill_null(np.nan)).to_numpy()


def _bools(table: pl.DataFrame, column: str) -> NDArray[np.bool_]:
    return np.asarray(table[column].to_numpy(), dtype=np.bool_)


def _share(part: pl.DataFrame, some: str, of: str) -> float | None:
    total = part[of].sum()
    return None if not total or part[some].null_count() == len(part) else float(part[some].sum()) / float(total)


def _level(card: Mapping[str, Any], severity: float) -> str:
    """A level's name, or the severity itself."""
    return next((name for name, value in card.get("levels", {}).items() if value == severity), f"{severity:g}")
