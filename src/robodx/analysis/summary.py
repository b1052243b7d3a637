"""What a run shows at a glance: success rates by task with intervals, errors counted apart."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from robodx.analysis.estimates import MAX_ERROR_SHARE, Estimate, wilson


@dataclass(frozen=True)
class Row:
    """One policy on one task. `success` counts episodes that are alike once, and has no value if too many erred."""

    policy: str
    task: str
    tier: str | None
    perturbations: str
    success: Estimate
    progress: float | None
    median_steps: float | None
    failures: int
    timeouts: int
    errors: int


def summarise(episodes: pl.DataFrame) -> list[Row]:
    groups = episodes.with_columns(
        arm=pl.col("perturbations").list.eval(
            pl.format("{}={}", pl.element().struct.field("name"), pl.element().struct.field("severity"))
        ).list.join(", ")
    ).group_by("policy", "task", "tier", "arm", maintain_order=True)  # fmt: skip
    return [_row(str(policy), str(task), tier, str(arm), group) for (policy, task, tier, arm), group in groups]


def _row(policy: str, task: str, tier: object, arm: str, group: pl.DataFrame) -> Row:
    outcomes = group["outcome"]
    errors = int((outcomes == "error").sum())
    valid = group.filter(pl.col("outcome") != "error")
    return Row(
        policy,
        task,
        None if tier is None else str(tier),
        arm,
        success_rate(group),
        _number(valid["progress"].mean()),
        _number(valid["steps"].median()),
        int((outcomes == "failure").sum()),
        int((outcomes == "timeout").sum()),
        errors,
    )


def success_rate(episodes: pl.DataFrame) -> Estimate:
    """Success / (success + failure + timeout).

    Trials that were told the same and moved alike, bit for bit, are one observation.
    """
    valid = episodes.filter(pl.col("outcome") != "error")
    distinct = valid.unique(["policy", "task", "perturbations", "instructions", "trajectory_hash"])
    if len(episodes) and (len(episodes) - len(valid)) / len(episodes) > MAX_ERROR_SHARE:
        return Estimate(None, None, None, len(distinct))
    return wilson(int(distinct["success"].sum()), len(distinct))


def error_bounds(episodes: pl.DataFrame) -> tuple[float, float] | None:
    """The success rate if every erred trial had failed, and if every one had succeeded."""
    if episodes.is_empty():
        return None
    won, lost = int(episodes["success"].sum()), int((episodes["outcome"] == "error").sum())
    return won / len(episodes), (won + lost) / len(episodes)


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) else None
