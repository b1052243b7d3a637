"""What a policy does not use: success with one input taken away, beside the same situations merely tried again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

import polars as pl

from robodx.analysis.statistics.estimates import MAX_ERROR_SHARE, NOTHING, Estimate
from robodx.analysis.statistics.multiple import holm
from robodx.analysis.stress import difference_of, rate_of, side_by_side, situations_of, with_courses
from robodx.analysis.variants import of_suite

SUITE = "null_inputs"
# An input is not needed if taking it away changes success by no more than this, as the whole interval says.
MARGIN = 0.1
# Less than this above what is had without the input, there is nothing to lose; three margins, so that what is "not
# needed" accounts for a third of it at most.
ROOM = 0.3
ALPHA = 0.05
# The level of what has only one.
ON = "on"
WORDS = ("blank_words", "scrambled_words", "other_words")
NULL_INPUTS = (*WORDS, "camera_blank", "frozen_state")

Verdict = Literal["not needed", "used", "not decided", "nothing to lose"]


def lacks_input() -> pl.Expr:
    """Whether an episode was run without one of the policy's inputs."""
    names = pl.col("perturbations").list.eval(pl.element().struct.field("name"))
    return names.list.set_intersection(pl.lit(list(NULL_INPUTS))).list.len().fill_null(0) > 0


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
        p = "" if self.p_holm is None else ", p < 0.001" if self.p_holm < 0.001 else f", p = {self.p_holm:.2g}"
        if self.verdict == "not decided" and not (loss.difference.low or 0.0) <= 0 <= (loss.difference.high or 0.0):
            p += " after correction over the inputs"
        evidence = f"{rates} (difference {_points(loss.difference)}{p}, n = {loss.difference.n})"
        if self.verdict != "not decided":
            return f"{self.input}: {self.verdict}: {evidence}"
        return f"{self.input}: not decided with {loss.difference.n} situations: {evidence}"


def room(success: float, chance: float | None, perturbation: str) -> float:
    """What could be lost: all of the success, or, by one who no longer knows what is asked for, that above chance."""
    return success - ((1.0 if chance is None else chance) if perturbation in WORDS else 0.0)


def nulls_of(spec: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """By perturbation and level, what can be taken away from a policy that is given what this spec says."""
    if spec.get("uses_language", True):
        yield from ((name, ON) for name in WORDS)
    cameras = [str(camera["name"]) for camera in spec.get("cameras", ())]
    yield from (("camera_blank", camera) for camera in [*cameras, *["all"][: len(cameras) > 1]])
    if spec.get("state"):
        yield "frozen_state", ON


def input_uses(episodes: pl.DataFrame, about: Mapping[str, Any]) -> tuple[InputUse, ...]:
    """Of what the suite `null_inputs` asked for; `episodes` are those of a summary, with their chance and design."""
    every = with_courses(episodes)
    asked = of_suite(every, SUITE).with_columns(null=pl.col("factors").list.last().struct.field("name"))
    given = set(nulls_of(about["policy_spec"])) if "policy_spec" in about else set()
    groups = asked.group_by("policy", maintain_order=True)
    return tuple(use for _, mine in groups for use in _of_policy(mine, every, given))


def _of_policy(asked: pl.DataFrame, every: pl.DataFrame, given: set[tuple[str, str]]) -> list[InputUse]:
    again, nulled = (asked.filter(pl.col("variant") == variant) for variant in ("repeated", "stressed"))
    # Any suite may have asked for these too.
    clean = every.filter(pl.col("trial_id").is_in(again["source_id"].implode()))
    rates = clean.group_by("task", maintain_order=True).agg(pl.col("success").mean(), pl.col("chance").first())
    uses = []
    # Where there is nothing to lose by an input, no trial without it was planned.
    for null, level in sorted(given | set(nulled.select("null", "level").iter_rows()), key=_place):
        rich = [task for task, rate, chance in rates.iter_rows() if room(rate or 0.0, chance, null) >= ROOM]
        without = nulled.filter((pl.col("null") == null) & (pl.col("level") == level) & pl.col("task").is_in(rich))
        # The clean trials decided where there is something to lose: what they won by luck is not held against a repeat.
        trials = side_by_side(clean, again, without).drop("success").rename({"success_again": "success"})
        each = trials.group_by("task", maintain_order=True)
        uses.append(
            InputUse(
                str(asked["policy"][0]), input_name(null, level), null, level, "not decided", _loss(trials), None,
                tuple(_loss(part) for _, part in each),
            )
        )  # fmt: skip
    adjusted = holm({use.input: use.loss.p for use in uses})
    return [_judged(replace(use, p_holm=adjusted[use.input])) for use in uses]


def _loss(trials: pl.DataFrame) -> Loss:
    tasks = tuple(trials["task"].unique(maintain_order=True))
    pairs = trials.drop_nulls(["success", "success_stressed"])
    errors = len(trials) - len(pairs)
    if pairs.is_empty() or errors > MAX_ERROR_SHARE * len(trials):
        return Loss(tasks, NOTHING, NOTHING, NOTHING, None, errors)
    each = situations_of(pairs)
    return Loss(
        tasks, rate_of(each["success"]), rate_of(each["success_stressed"]), *difference_of(each), errors,
    )  # fmt: skip


def _judged(use: InputUse) -> InputUse:
    found, verdict = use.loss.difference, use.verdict
    if not use.loss.tasks:
        verdict = "nothing to lose"
    elif use.p_holm is not None and use.p_holm < ALPHA:
        verdict = "used"
    elif found.low is not None and found.high is not None and found.low >= -MARGIN and found.high <= MARGIN:
        verdict = "not needed"
    return replace(use, verdict=verdict)


def input_name(null: str, level: str) -> str:
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
    order = NULL_INPUTS.index(null) if null in NULL_INPUTS else len(NULL_INPUTS)
    return (order, level == "all", level)


def _percent(found: Estimate) -> str:
    return "—" if found.value is None else f"{100 * found.value:.0f}%"


def _points(found: Estimate) -> str:
    value, low, high = (round(100 * (number or 0.0)) for number in (found.value, found.low, found.high))
    return f"{value:+d} [{low:+d}, {high:+d}] points".replace("+0", "0").replace("-", "−")
