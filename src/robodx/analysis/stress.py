"""When does it break: stressed arms beside the clean arm on the same situations, in excess of merely trying again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import polars as pl

from robodx.analysis.estimates import NOTHING, Estimate
from robodx.analysis.macro import macro_rate
from robodx.analysis.multiple import holm
from robodx.analysis.paired import mcnemar, paired_difference, retention
from robodx.analysis.power import smallest_visible_drop
from robodx.analysis.trend import trend

# Below this success rate without stress there is nothing to lose.
TESTABLE = 0.2
# What was told the same and moved alike in every arm is one situation.
ALIKE = ("task", "course", "course_stressed")
SITUATION = ("task", "pair_id", "repeat", "clock")


@dataclass(frozen=True)
class Degradation:
    """One stressor at one level, on one carrier or (task is None) on all that are testable."""

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
class StressTable:
    rows: tuple[Degradation, ...]
    trends: tuple[StressTrend, ...]
    # Policy and task of carriers whose clean arm is too weak to lose anything.
    not_testable: tuple[tuple[str, str], ...]


def stress_table(episodes: pl.DataFrame, about: Mapping[str, Any], rng: np.random.Generator) -> StressTable:
    """Of a run of the suite `stress`, given its run.json."""
    cards, repeats = about.get("perturbations", {}), about["request"]["repeats"]
    arms = _arms(episodes, base=len(about["request"]["perturbations"]))
    rows: list[Degradation] = []
    trends: list[StressTrend] = []
    not_testable: list[tuple[str, str]] = []
    for (policy,), mine in arms.group_by("policy", maintain_order=True):
        unstressed, stressed = mine.filter(pl.col("stressor").is_null()), mine.filter(pl.col("stressor").is_not_null())
        clean = unstressed.filter(pl.col("repeat") < repeats)
        again = unstressed.filter(pl.col("repeat") >= repeats).with_columns(pl.col("repeat") - repeats)
        # Tasks that only the clean arm has are no carriers.
        weak = _weak(clean.join(again.select("task").unique(), on="task"))
        not_testable += [(str(policy), task) for task in weak]
        found: list[StressTrend] = []
        for name in sorted(stressed["stressor"].unique(), key=lambda name: (cards.get(name, {}).get("kind", ""), name)):
            card, group = cards.get(name, {}), stressed.filter(pl.col("stressor") == name)
            for severity in sorted(group["severity"].unique()):
                triples = _triples(clean, again, group.filter(pl.col("severity") == severity), weak)
                degraded = partial(_degradation, str(policy), name, card.get("kind", ""), _level(card, severity))
                rows.append(degraded(None, triples))
                rows += [degraded(str(task), part) for (task,), part in triples.group_by("task", maintain_order=True)]
            if card.get("is_ordered", True):
                slope, p, situations = trend(_by_level(clean, group, weak), rng)
                found.append(StressTrend(str(policy), name, slope, p, None, situations))
        adjusted = holm({one.stressor: one.p for one in found})
        trends += [replace(one, p_holm=adjusted[one.stressor]) for one in found]
    return StressTable(tuple(rows), tuple(trends), tuple(not_testable))


def _arms(episodes: pl.DataFrame, base: int) -> pl.DataFrame:
    """Valid episodes with their stressor, the one perturbation beyond those that all arms share."""
    further = pl.col("perturbations").list.get(base, null_on_oob=True)
    return episodes.filter(pl.col("outcome") != "error").with_columns(
        stressor=further.struct.field("name"),
        severity=further.struct.field("severity"),
        course=pl.struct("instructions", "trajectory_hash").struct.json_encode(),
    )


def _weak(clean: pl.DataFrame) -> list[str]:
    rates = clean.group_by("task", maintain_order=True).agg(pl.col("success").mean())
    return [task for task, rate in rates.iter_rows() if rate < TESTABLE]


def _triples(clean: pl.DataFrame, again: pl.DataFrame, stressed: pl.DataFrame, weak: Sequence[str]) -> pl.DataFrame:
    """Situations with their three outcomes; those alike in every arm once."""
    columns = [*SITUATION, "success", "course"]
    measured = stressed.select(*columns, "queries", "perturbed_queries", "steps", "perturbed_steps")
    triples = (
        clean.select(columns)
        .join(again.select(columns), on=SITUATION, suffix="_again")
        .join(measured, on=SITUATION, suffix="_stressed")
        .filter(~pl.col("task").is_in(weak))
    )
    return triples.unique(ALIKE, keep="first", maintain_order=True)


def _degradation(policy: str, name: str, kind: str, level: str, task: str | None, part: pl.DataFrame) -> Degradation:
    clean, again, stressed = (part[f"success{arm}"].to_numpy() for arm in ("", "_again", "_stressed"))
    kept = retention(clean, again, stressed)
    rate = float(clean.mean()) if len(clean) else 0.0
    flips = float((clean != again).mean()) if len(clean) else 0.0
    return Degradation(
        policy=policy,
        stressor=name,
        kind=kind,
        level=level,
        task=task,
        clean=_macro(part, "success"),
        stressed=_macro(part, "success_stressed"),
        difference=paired_difference(clean, stressed),
        p=mcnemar(clean, stressed),
        retained=kept.stressed,
        repeated=kept.identity,
        excess_loss=kept.excess_loss,
        visible_drop=smallest_visible_drop(len(clean), rate, flip_rate=flips) if rate > 0 else None,
        exposure=_share(part, "perturbed_queries", "queries"),
        commands=_share(part, "perturbed_steps", "steps"),
    )


def _by_level(clean: pl.DataFrame, stressed: pl.DataFrame, weak: Sequence[str]) -> np.ndarray[Any, np.dtype[Any]]:
    """Outcomes (situations, levels), clean first; NaN where a level is missing."""
    both = pl.concat([clean.with_columns(severity=pl.lit(0.0)), stressed], how="diagonal_relaxed")
    table = (
        both.filter(~pl.col("task").is_in(weak) & pl.col("task").is_in(stressed["task"].unique().implode()))
        .with_columns(pl.col("success").cast(pl.Float64))
        .pivot(on="severity", index=list(SITUATION), values="success")
    )
    levels = sorted((name for name in table.columns if name not in SITUATION), key=float)
    return table.select(pl.col(levels).fill_null(np.nan)).to_numpy()


def _macro(part: pl.DataFrame, column: str) -> Estimate:
    if part.is_empty():
        return NOTHING
    counts = part.group_by("task", maintain_order=True).agg(pl.col(column).sum(), pl.len())
    return macro_rate(counts[column].to_list(), counts["len"].to_list())


def _share(part: pl.DataFrame, some: str, of: str) -> float | None:
    total = part[of].sum()
    return None if not total or part[some].null_count() == len(part) else float(part[some].sum()) / float(total)


def _level(card: Mapping[str, Any], severity: float) -> str:
    """A level's name, or the severity itself."""
    return next((name for name, value in card.get("levels", {}).items() if value == severity), f"{severity:g}")
