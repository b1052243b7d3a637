"""What a policy does not use: success with one input taken away, beside the same situations merely tried again."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import polars as pl

from robodx.analysis.metrics.observations import alike_once
from robodx.analysis.statistics.estimates import MAX_ERROR_SHARE, NOTHING, Estimate, wilson
from robodx.analysis.statistics.multiple import holm
from robodx.analysis.statistics.paired import mcnemar_p, tango
from robodx.analysis.statistics.permutation import swap_test
from robodx.analysis.variants import of_suite

SUITE = "null_inputs"
# An input is not used if taking it away changes success by no more than this, as the whole interval says.
MARGIN = 0.1
# Less than this above what is had without the input, there is nothing to lose; three margins, so that what is "not
# used" accounts for a third of it at most.
ROOM = 0.3
ALPHA = 0.05
WORDS = ("blank_words", "scrambled_words", "other_words")
SITUATION = ("task", "pair_id", "clock")

Verdict = Literal["not used", "used", "not decided", "nothing to lose"]


@dataclass(frozen=True)
class Loss:
    """Success as it is and without the input, on the same situations: of one task, or of all of `tasks` together."""

    tasks: tuple[str, ...]
    usual: Estimate
    without: Estimate
    # Without − usual, with the exact p of its being none.
    difference: Estimate
    p: float | None
    errors: int


@dataclass(frozen=True)
class InputUse:
    """What one null input says of one policy, on the tasks in which the policy has something to lose by it."""

    policy: str
    # As "words", "camera front".
    input: str
    perturbation: str
    level: str
    verdict: Verdict
    loss: Loss
    # After Holm's correction over the inputs.
    p_holm: float | None
    by_task: tuple[Loss, ...]

    @property
    def says(self) -> str:
        """The claim and what it rests on, as one sentence without its tasks."""
        loss = self.loss
        if self.verdict == "nothing to lose":
            return f"{self.input}: not tested, for the policy solves none of these tasks well enough to lose anything"
        if loss.difference.value is None:
            return f"{self.input}: not decided, for {loss.errors} episodes ended in errors"
        rates = f"success {_percent(loss.usual)} with and {_percent(loss.without)} without"
        p = "" if self.p_holm is None else f", p = {max(self.p_holm, 0.001):.2g}"
        evidence = f"{rates} (difference {_points(loss.difference)}{p}, n = {loss.difference.n})"
        if self.verdict != "not decided":
            return f"{self.input}: {self.verdict}: {evidence}"
        return f"{self.input}: not decided with {loss.difference.n} situations: {evidence}"


def room(success: float, chance: float | None, perturbation: str) -> float:
    """What could be lost: all of the success, or, by one who no longer knows what is asked for, that above chance."""
    return success - ((1.0 if chance is None else chance) if perturbation in WORDS else 0.0)


def input_uses(episodes: pl.DataFrame) -> tuple[InputUse, ...]:
    """Of what the suite `null_inputs` asked for; `episodes` are those of a summary, with their chance and design."""
    every = episodes.with_columns(
        success=pl.when(pl.col("outcome") != "error").then(pl.col("success").cast(pl.Float64)),
        # A record without a hash cannot be told to be like another.
        course=pl.when(pl.col("trajectory_hash").is_null())
        .then("trial_id")
        .otherwise(pl.struct("instructions", "trajectory_hash").struct.json_encode()),
    )
    asked = of_suite(every, SUITE).with_columns(null=pl.col("factors").list.last().struct.field("name"))
    return tuple(use for _, mine in asked.group_by("policy", maintain_order=True) for use in _of_policy(mine, every))


def _of_policy(asked: pl.DataFrame, every: pl.DataFrame) -> list[InputUse]:
    again, nulled = (asked.filter(pl.col("variant") == variant) for variant in ("repeated", "stressed"))
    # Any suite may have asked for these too.
    clean = every.filter(pl.col("trial_id").is_in(again["source_id"].implode()))
    rates = clean.group_by("task", maintain_order=True).agg(pl.col("success").mean(), pl.col("chance").first())
    trials = (
        clean.select("trial_id", *SITUATION)
        .join(_outcomes(again, "usual"), on="trial_id", maintain_order="left")
        .join(_outcomes(nulled, "without").with_columns(nulled.select("null", "level")), on="trial_id", how="inner")
    )
    uses = []
    for null, level in sorted(set(nulled.select("null", "level").iter_rows()), key=_place):
        part = trials.filter((pl.col("null") == null) & (pl.col("level") == level))
        rich = [task for task, rate, chance in rates.iter_rows() if room(rate or 0.0, chance, null) >= ROOM]
        kept = part.filter(pl.col("task").is_in(rich))
        tasks = kept.group_by("task", maintain_order=True)
        uses.append(
            InputUse(
                str(asked["policy"][0]), _input(null, level), null, level, "not decided",
                _loss(kept), None, tuple(_loss(one) for _, one in tasks),
            )
        )  # fmt: skip
    adjusted = holm({use.input: use.loss.p for use in uses})
    return [_judged(replace(use, p_holm=adjusted[use.input])) for use in uses]


def _outcomes(trials: pl.DataFrame, name: str) -> pl.DataFrame:
    return trials.select(
        pl.col("source_id").alias("trial_id"),
        pl.col("success").alias(name),
        pl.col("course").alias(f"{name}_course"),
    )


def _loss(trials: pl.DataFrame) -> Loss:
    tasks = tuple(trials["task"].unique(maintain_order=True))
    valid = trials.drop_nulls(["usual", "without"])
    errors = len(trials) - len(valid)
    if valid.is_empty() or errors > MAX_ERROR_SHARE * len(trials):
        return Loss(tasks, NOTHING, NOTHING, NOTHING, None, errors)
    courses = pl.struct("usual_course", "without_course").hash()
    distinct = alike_once(valid, pl.col("task"), pl.struct(SITUATION).hash(), courses)
    # Repeats of a situation are no more evidence: their mean is one observation.
    pairs = distinct.group_by(SITUATION, maintain_order=True).agg(
        pl.col("usual", "without").mean(),
        lost=(pl.col("usual") > pl.col("without")).mean(),
        won=(pl.col("usual") < pl.col("without")).mean(),
    )
    lost, won, n = float(pairs["lost"].sum()), float(pairs["won"].sum()), len(pairs)
    usual, without = (pairs[name].to_numpy() for name in ("usual", "without"))
    is_whole = all(np.isin(outcomes, (0.0, 1.0)).all() for outcomes in (usual, without))
    p = mcnemar_p(round(lost), round(won)) if is_whole else swap_test(usual, without, np.random.default_rng(0))
    rates = [wilson(float(outcomes.sum()), n) for outcomes in (usual, without)]
    return Loss(tasks, rates[0], rates[1], tango(lost, won, n), p, errors)


def _judged(use: InputUse) -> InputUse:
    found, verdict = use.loss.difference, use.verdict
    if not use.loss.tasks:
        verdict = "nothing to lose"
    elif use.p_holm is not None and use.p_holm < ALPHA:
        verdict = "used"
    elif found.low is not None and found.high is not None and found.low >= -MARGIN and found.high <= MARGIN:
        verdict = "not used"
    return replace(use, verdict=verdict)


def _input(null: str, level: str) -> str:
    if null == "camera_blank":
        return "all cameras" if level == "all" else f"camera {level}"
    named = {
        "blank_words": "words",
        "scrambled_words": "order of words",
        "other_words": "which words",
        "frozen_state": "robot state",
    }
    return named.get(null, f"{null}={level}")


def _place(of: tuple[str, str]) -> tuple[int, bool, str]:
    """Words, cameras one by one and together, state, and those of others."""
    null, level = of
    order = (*WORDS, "camera_blank", "frozen_state")
    return (order.index(null) if null in order else len(order), level == "all", level)


def _percent(found: Estimate) -> str:
    return "—" if found.value is None else f"{100 * found.value:.0f}%"


def _points(found: Estimate) -> str:
    value, low, high = (round(100 * (number or 0.0)) for number in (found.value, found.low, found.high))
    return f"{value:+d} [{low:+d}, {high:+d}] points".replace("+0", "0").replace("-", "−")
