"""When does it break: stressed trials beside clean ones of the same situations, in excess of merely trying again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from robodx.analysis.metrics.observations import alike_once
from robodx.analysis.statistics.estimates import MAX_ERROR_SHARE, TESTABLE, Estimate, wilson
from robodx.analysis.statistics.multiple import holm
from robodx.analysis.statistics.paired import paired_test, tango
from robodx.analysis.statistics.power import smallest_visible_drop
from robodx.analysis.statistics.trend import trend
from robodx.analysis.variants import Cards, of_suite
from robodx.analysis.wording import listed
from robodx.records.derived_design import designed
from robodx.records.values import read_applied, spelled

SITUATION = ("task", "pair_id", "clock")
# A command that comes late costs little where things wait and much where they move: two questions, and two answers.
APART = ("actuator_latency",)
MOVING = ("dynamic", "pursuit")


@dataclass(frozen=True)
class Degradation:
    """One stressor at one level, on one carrier or (task is None) on all that are testable.

    One whose static and moving carriers are told apart is named so: "actuator_latency (static)".
    Rates are of situations, those that went alike in both variants counted once. With too many errors there are none.
    """

    policy: str
    stressor: str
    # The name that the stressor is registered under.
    perturbation: str
    kind: str
    level: str
    task: str | None
    # The carriers that this is about.
    tasks: tuple[str, ...]
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
    """A carrier whose clean variant is too weak to lose anything."""

    policy: str
    task: str
    clean: Estimate


@dataclass(frozen=True)
class NotApplicable:
    """A stressor of pictures, and a policy that reads none: nothing was changed for it in any of its queries."""

    policy: str
    stressor: str


@dataclass(frozen=True)
class StressTable:
    rows: tuple[Degradation, ...]
    trends: tuple[StressTrend, ...]
    not_testable: tuple[NotTestable, ...]
    # Their rows are there too, and say nothing of the stressor.
    not_applicable: tuple[NotApplicable, ...] = ()

    def levels(self, policy: str) -> dict[str, list[Degradation]]:
        """Each stressor's levels over all its carriers, of those that can do something to this policy."""
        beside = {one.stressor for one in self.not_applicable if one.policy == policy}
        found: dict[str, list[Degradation]] = {}
        for row in self.rows:
            if row.policy == policy and row.task is None and row.stressor not in beside:
                found.setdefault(row.stressor, []).append(row)
        return found

    def not_applicable_says(self, policy: str) -> str:
        """A sentence on those that do not apply to it; empty where all do."""
        names = [one.stressor for one in self.not_applicable if one.policy == policy]
        do = "does" if len(names) == 1 else "do"
        return f"{policy} reads no pictures, so {listed(names)} {do} not apply to it." if names else ""


def stress_table(episodes: pl.DataFrame, about: Mapping[str, Any], rng: np.random.Generator) -> StressTable:
    """Of what the suite `stress` asked for, given the run's run.json."""
    cards = about.get("perturbations", {})
    every = with_courses(designed(episodes, about))
    asked = of_suite(every, "stress")
    rows: list[Degradation] = []
    trends: list[StressTrend] = []
    not_testable: list[NotTestable] = []
    for (policy,), mine in asked.group_by("policy", maintain_order=True):
        again = mine.filter(pl.col("variant") == "repeated")
        stressed = _stressed(mine, cards)
        # Any suite may have asked for these too.
        clean = every.filter(pl.col("trial_id").is_in([*again["source_id"], *stressed["source_id"]]))
        weak = _weak(clean.join(again, on="task", how="semi", maintain_order="left"))
        not_testable += [NotTestable(str(policy), task, rate) for task, rate in weak.items()]
        found: list[StressTrend] = []
        names = set(stressed.select("stressor", "perturbation").iter_rows())
        for label, name in sorted(names, key=lambda pair: (cards.get(pair[1], {}).get("kind", ""), pair)):
            card, group = (
                cards.get(name, {}),
                stressed.filter((pl.col("stressor") == label) & ~pl.col("task").is_in(list(weak))),
            )
            for severity, level in sorted(set(group.select("severity", "level").iter_rows())):
                variant = side_by_side(clean, again, group.filter(pl.col("severity") == severity))
                degraded = partial(_degradation, str(policy), label, name, card.get("kind", ""), level)
                rows.append(degraded(None, variant))
                rows += [degraded(str(task), part) for (task,), part in variant.group_by("task", maintain_order=True)]
            if card.get("is_ordered", True):
                slope, p, situations = trend(_by_level(clean, group), rng)
                found.append(StressTrend(str(policy), label, slope, p, None, situations))
        trends += found
    beside = tuple(_not_applicable(rows, about))
    return StressTable(tuple(rows), tuple(_corrected(trends, beside)), tuple(not_testable), beside)


def _corrected(trends: Sequence[StressTrend], beside: Sequence[NotApplicable]) -> Iterator[StressTrend]:
    """For all stressors of a policy that apply to it; of those that do not there is no trend."""
    not_applicable = {(one.policy, one.stressor) for one in beside}
    kept = [one for one in trends if (one.policy, one.stressor) not in not_applicable]
    for policy in dict.fromkeys(one.policy for one in kept):
        mine = [one for one in kept if one.policy == policy]
        adjusted = holm({one.stressor: one.p for one in mine})
        yield from (replace(one, p_holm=adjusted[one.stressor]) for one in mine)


def _not_applicable(rows: Sequence[Degradation], about: Mapping[str, Any]) -> Iterator[NotApplicable]:
    """An older run does not say whether its policy is shown pictures."""
    if about.get("policy_spec", {}).get("cameras") != []:
        return
    exposed = {(row.policy, row.stressor) for row in rows if row.exposure or row.commands}
    of_pictures = ((row.policy, row.stressor) for row in rows if row.kind == "sensor")
    yield from (NotApplicable(*one) for one in dict.fromkeys(of_pictures) if one not in exposed)


def unconfirmed_drop(name: str, rows: Sequence[Degradation], trend: StressTrend, among: Sequence[StressTrend]) -> str:
    """Of a stressor whose trend does not decide, although at some level its interval does; empty where none does."""
    levels = [row.level for row in rows if row.difference.high is not None and row.difference.high < 0]
    if not levels:
        return ""
    tests = sum(one.p is not None for one in among if one.policy == trend.policy)
    many = f", corrected for {tests} stressors" if tests > 1 else ""
    p = "was not tested" if trend.p_holm is None else f"does not confirm it (p = {trend.p_holm:.2g}{many})"
    if trend.p_holm is not None and trend.p_holm < 0.05:
        p = f"goes up (p = {trend.p_holm:.2g}{many})"
    lie = f"interval at {levels[0]} lies" if len(levels) == 1 else f"intervals at {listed(levels)} lie"
    return f"Not decided for {name}: the {lie} below 0, but the trend over its levels {p}."


def with_courses(episodes: pl.DataFrame) -> pl.DataFrame:
    """With no success of errors, and with what is the same for episodes that went alike."""
    return episodes.with_columns(
        success=pl.when(pl.col("outcome") != "error").then("success"),
        # A record without a hash cannot be told to be like another.
        course=pl.when(pl.col("trajectory_hash").is_null())
        .then("trial_id")
        .otherwise(pl.struct("instructions", "trajectory_hash").struct.json_encode()),
    )


def _stressed(asked: pl.DataFrame, cards: Cards) -> pl.DataFrame:
    """What a stressor was put on, with its name, level and severity; a clock is none.

    One that is set to words or named numbers has the place of its level for a severity.
    """
    is_clock = pl.col("factors").list.first().struct.field("name") == "clock"
    rows = asked.filter((pl.col("variant") == "stressed") & ~is_clock.fill_null(True))
    applied = [read_applied(records[-1:])[0] for records in rows["perturbations"].to_list()]
    levels = [
        level if level is not None else f"{value:g}" if isinstance(value, float) else spelled(value)
        for level, (_, value) in zip(rows["level"], applied, strict=True)
    ]
    severities = [
        value if isinstance(value, float) else severity_of(cards, name, level)
        for level, (name, value) in zip(levels, applied, strict=True)
    ]
    labels = [_label(name, family) for (name, _), family in zip(applied, rows["family"], strict=True)]
    return rows.with_columns(
        pl.Series("stressor", labels, pl.String),
        pl.Series("perturbation", [name for name, _ in applied], pl.String),
        pl.Series("level", levels, pl.String),
        pl.Series("severity", severities, pl.Float64),
    )


def _label(stressor: str, family: str | None) -> str:
    if stressor not in APART:
        return stressor
    return f"{stressor} ({'moving' if family in MOVING else 'static'})"


def severity_of(cards: Cards, stressor: str, level: str) -> float:
    """Where a level stands: at its number, if it is one, else at its place among the levels."""
    levels = cards.get(stressor, {}).get("levels", {})
    value = levels.get(level, level)
    try:
        return float(value)
    except (TypeError, ValueError):
        return 1.0 + list(levels).index(level) if level in levels else 1.0


def _weak(clean: pl.DataFrame) -> dict[str, Estimate]:
    tasks = clean.group_by("task", maintain_order=True)
    rates = {str(task): rate_of(situations_of(part)["success"]) for (task,), part in tasks}
    return {task: rate for task, rate in rates.items() if rate.value is None or rate.value < TESTABLE}


def side_by_side(clean: pl.DataFrame, again: pl.DataFrame, stressed: pl.DataFrame) -> pl.DataFrame:
    """Clean trials with the outcomes of what is held against them, null where one erred; those alike in all once."""
    measured = stressed.select(
        "source_id", "success", "course", "queries", "perturbed_queries", "steps", "perturbed_steps"
    )
    return (
        clean.select("trial_id", *SITUATION, "success", "course")
        .join(measured, left_on="trial_id", right_on="source_id", suffix="_stressed", maintain_order="left")
        .join(
            again.select("source_id", "success", "course"),
            left_on="trial_id",
            right_on="source_id",
            how="left",
            suffix="_again",
            maintain_order="left",
        )
        .pipe(_once, ["course", "course_stressed", "course_again"])
    )


def _once(trials: pl.DataFrame, courses: list[str]) -> pl.DataFrame:
    """Of the situations of a task that went alike in all these variants and repeats the first, with all its repeats."""
    return alike_once(trials, pl.col("task"), pl.struct(SITUATION).hash(), pl.struct(courses).hash())


def situations_of(trials: pl.DataFrame) -> pl.DataFrame:
    """The mean over repeats of each situation's outcomes, and of whether they differ: repeats are no more evidence."""
    again = [name for name in ("success_stressed", "success_again") if name in trials.columns]
    unlike = {
        f"only_{a}_{b}": pl.col(a) & ~pl.col(b) for a in ("success", *again) for b in ("success", *again) if a != b
    }
    return trials.group_by(SITUATION, maintain_order=True).agg(
        pl.col("success", *again).cast(pl.Float64).mean(),
        *(unlikeness.cast(pl.Float64).mean().alias(name) for name, unlikeness in unlike.items()),
    )


def rate_of(outcomes: pl.Series) -> Estimate:
    known = outcomes.drop_nulls()
    return wilson(float(known.sum()), len(known))


def _degradation(
    policy: str, label: str, name: str, kind: str, level: str, task: str | None, variant: pl.DataFrame
) -> Degradation:
    pairs = variant.drop_nulls(["success", "success_stressed"])
    # Without the repeated variant nothing can be said of what stress loses beyond it.
    triples = pairs.drop_nulls("success_again")
    situations = situations_of(pairs)
    errors = len(variant) - len(pairs)
    difference, p = difference_of(situations)
    found = Degradation(
        policy=policy,
        stressor=label,
        perturbation=name,
        kind=kind,
        level=level,
        task=task,
        tasks=tuple(variant["task"].unique(maintain_order=True)),
        clean=rate_of(situations["success"]),
        stressed=rate_of(situations["success_stressed"]),
        difference=difference,
        p=p,
        visible_drop=_visible_drop(situations_of(triples) if len(triples) else situations),
        exposure=_share(pairs, "perturbed_queries", "queries"),
        commands=_share(pairs, "perturbed_steps", "steps"),
        errors=errors,
        **_kept(situations_of(triples.filter("success"))),
    )
    return found if errors <= MAX_ERROR_SHARE * len(variant) else _without_rates(found)


def difference_of(situations: pl.DataFrame) -> tuple[Estimate, float | None]:
    """Stressed − clean of situations, and the p of its being none."""
    before, after = (situations[name].to_numpy() for name in ("success", "success_stressed"))
    lost = float(situations["only_success_success_stressed"].sum())
    won = float(situations["only_success_stressed_success"].sum())
    return paired_test(before, after, lost, won, np.random.default_rng(0))


def _kept(solved: pl.DataFrame) -> dict[str, Estimate]:
    """Of the clean successes: solved again under stress, when merely repeated, and what stress lost more.

    The clean variant was chosen for its luck. The repeated one suffers the same, so if the stressor does nothing the
    two are exchangeable, and the interval of a paired difference holds.
    """
    only_stressed = float(solved["only_success_stressed_success_again"].sum())
    only_again = float(solved["only_success_again_success_stressed"].sum())
    return {
        "retained": rate_of(solved["success_stressed"]),
        "repeated": rate_of(solved["success_again"]),
        "excess_loss": tango(only_stressed, only_again, len(solved)),
    }


def _visible_drop(situations: pl.DataFrame) -> float | None:
    rate = float(situations["success"].mean() or 0.0)  # type: ignore[arg-type]
    flips = situations["only_success_success_again"] + situations["only_success_again_success"]
    flip_rate = float(flips.fill_null(0.0).mean() or 0.0)  # type: ignore[arg-type]
    return smallest_visible_drop(len(situations), rate, flip_rate=flip_rate) if rate > 0 else None


def _without_rates(row: Degradation) -> Degradation:
    names = ("clean", "stressed", "difference", "retained", "repeated", "excess_loss")
    nothing: dict[str, Any] = {name: Estimate(None, None, None, getattr(row, name).n) for name in names}
    return replace(row, p=None, visible_drop=None, **nothing)


def _by_level(clean: pl.DataFrame, stressed: pl.DataFrame) -> NDArray[np.float64]:
    """Outcomes (situations, levels), clean first, NaN where one is missing or erred; those alike at all levels once."""
    carriers = clean.join(stressed, on="task", how="semi").with_columns(severity=pl.lit(0.0), source_id="trial_id")
    both = pl.concat([carriers, stressed], how="diagonal_relaxed").with_columns(pl.col("success").cast(pl.Float64))
    index = [*SITUATION, "source_id"]
    outcomes, courses = (
        both.pivot(on="severity", index=index, values=value, aggregate_function="first", maintain_order=True).sort(
            index
        )
        for value in ("success", "course")
    )
    levels = sorted((name for name in outcomes.columns if name not in index), key=float)
    named = courses.rename({level: f"course at {level}" for level in levels})
    joined = outcomes.join(named, on=index, maintain_order="left")
    distinct = _once(joined, [f"course at {level}" for level in levels])
    means = distinct.group_by(SITUATION, maintain_order=True).agg(pl.col(levels).mean())
    return means.select(pl.col(levels).fill_null(np.nan)).to_numpy()


def _share(part: pl.DataFrame, some: str, of: str) -> float | None:
    total = part[of].sum()
    return None if not total or part[some].null_count() == len(part) else float(part[some].sum()) / float(total)
