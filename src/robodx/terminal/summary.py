"""A run's summary as text for a person, no wider than 120 columns unless names are very long."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from robodx.analysis.compare import Comparison
from robodx.analysis.episodes import load, read_about
from robodx.analysis.estimates import Estimate
from robodx.analysis.metrics.base import METRICS, UP_TO_ONE
from robodx.analysis.metrics.failures import UNKNOWN, FailureShare
from robodx.analysis.summary import By, Failures, Measured, Row, Subtotal, Summary, error_bounds, grouping
from robodx.terminal import comparison as of_comparison
from robodx.terminal import stress as of_stress
from robodx.terminal.console import print_json, table_lines

# The rest is in the JSON.
MOVING = {"length_ratio": "path / expert's", "sparc": "smoothness", "stability": "stability"}
ANSWERING = {"actions_per_s": "actions / s", "inference_ms_p50": "latency, ms", "inference_ms_p95": "95% within, ms"}
SHOWN_TYPES = 3
# Of tasks in several arms; more are shown when asked for.
MOST_ROWS = 60


def print_summary(
    run: Path,
    *,
    as_json: bool,
    by: str | None = None,
    motion: bool = False,
    metrics: Sequence[str] = (),
    comparison: Comparison | None = None,
) -> bool:
    """Whether there are few enough errors for a rate. `by` and `motion` are for a person: JSON has everything."""
    chosen = grouping(by)
    about = read_about(run)
    # Older runs do not say.
    summary, beside = Summary(load(run), about), about.get("not_applicable", [])
    if as_json:
        content = {"run": str(run), "stopped": summary.stopped, **summary.everything(chosen, metrics)}
        content["not_applicable"] = beside
        print_json(content if comparison is None else {**content, "comparison": of_comparison.as_dict(comparison)})
        return summary.success.value is not None
    for line in lines(summary, by=chosen, motion=motion, metrics=metrics):
        print(line)
    if beside:
        print(f"Not applicable, for the policy reads no instructions: {', '.join(beside)}.")
    if comparison is not None:
        print("", *of_comparison.lines(comparison), sep="\n")
    return summary.success.value is not None


def lines(summary: Summary, *, by: By | None, motion: bool, metrics: Sequence[str]) -> Iterator[str]:
    """Tasks and then subtotals; with `by` that one table alone. Metrics take the place of the usual columns."""
    has_policies = summary.episodes["policy"].n_unique() > 1
    for group in [by] if by else _groups(summary, has_metrics=bool(metrics)):
        if metrics:
            titles = {name: _title(name) for name in metrics}
            yield from _measured(summary.metrics(metrics, group), group, titles, has_policies)
        elif group == "task":
            # Of a stress run, what is stressed has a table of its own.
            rows = [row for row in summary.rows() if by or summary.stress is None or "=" not in row.perturbations]
            yield from table_lines([_of_task(row, has_policies, summary.has_one_arm) for row in rows])
        else:
            yield from table_lines([_of_group(one, group, has_policies) for one in summary.subtotals(group)])
        yield ""
    if summary.stress is not None and not by and not metrics:
        yield from of_stress.lines(summary.stress)
        yield ""
    if motion:
        medians = summary.motion(by or "task")
        for what, titles in (("How it moves", MOVING), ("How fast it answers", ANSWERING)):
            yield f"{what}, medians:"
            yield from _measured(medians, by or "task", titles, has_policies)
            yield ""
    for failures in summary.failures() if not metrics else ():
        yield from _of_failures(failures, f" of {failures.policy}" if has_policies else "")
    yield from _overall(summary)
    yield "success: rate with its 95% interval; n: situations, those that went alike bit for bit counted once."
    if summary.stopped != "planned":
        yield "What was seen decided when to stop: intervals are always-valid ones, and there are none of a fixed n."
    if wide := [f"{row.task} {row.perturbations}".strip() for row in summary.too_wide()]:
        yield f"More --seeds would be needed to know these to {summary.until_width:g}: {', '.join(wide)}."


def _groups(summary: Summary, *, has_metrics: bool) -> list[By]:
    if has_metrics:
        return ["task"]
    if summary.stress is not None:
        return ["task"]
    if summary.has_one_arm:
        others: tuple[By, ...] = ("family", "tier")
        return ["task", *(group for group in others if summary.has_several(group))]
    # Families in each of many arms would be a long table that nobody asked for, and so would tasks.
    is_long = summary.episodes.select("policy", "task", "arm").n_unique() > MOST_ROWS
    return ["perturbation"] if is_long else ["task", "perturbation"]


def _of_task(row: Row, has_policies: bool, has_one_arm: bool) -> dict[str, Any]:
    return {
        "policy": row.policy if has_policies else None, "task": row.task, "tier": row.tier if has_one_arm else None,
        "perturbed": row.perturbations or None, "success": str(row.success), "above chance": _percent(row.above_chance),
        "n": row.success.n, "progress": None if row.progress is None else f"{row.progress:.2f}",
        "steps": None if row.median_steps is None else f"{row.median_steps:.0f}", "errors": row.errors or None,
    }  # fmt: skip


def _of_group(one: Subtotal, by: By, has_policies: bool) -> dict[str, Any]:
    return {
        "policy": one.policy if has_policies else None, by: one.group, **_perturbed(one, by), "tasks": one.tasks,
        "success": str(one.success), "above chance": _percent(one.above_chance), "n": one.success.n,
        "progress": _percent(one.progress), "errors": one.errors or None,
    }  # fmt: skip


def _measured(found: Sequence[Measured], by: By, titles: Mapping[str, str], has_policies: bool) -> list[str]:
    return table_lines(
        [
            {
                "policy": one.policy if has_policies else None, by: one.group, **_perturbed(one, by),
                **{title: _number(name, one.values[name]) for name, title in titles.items()},
                "n": max(one.values[name].n for name in titles),
            }
            for one in found
        ]
    )  # fmt: skip


def _perturbed(one: Subtotal | Measured, by: By) -> dict[str, str | None]:
    return {} if by == "perturbation" else {"perturbed": one.perturbations or None}


def _of_failures(failures: Failures, whose: str) -> Iterator[str]:
    if failures.kinds:
        yield from table_lines(
            [
                {f"failures{whose}": kind.label, "count": kind.count, "share": str(kind.share),
                 "types": _types(failures.types_of[kind.label])}
                for kind in failures.kinds
            ]
        )  # fmt: skip
        yield ""
    if failures.flags_on_successes:
        flags = ", ".join(f"{flag} {share}" for flag, share in failures.flags_on_successes.items())
        yield f"Faults in the {failures.successes} successes{whose}: {flags}."


def _types(types: Sequence[FailureShare]) -> str | None:
    types = [one for one in types if one.label != UNKNOWN]
    words = [f"{one.label} {one.count}" for one in types[:SHOWN_TYPES]]
    return ", ".join([*words, "…"] if len(types) > SHOWN_TYPES else words) or None


def _overall(summary: Summary) -> Iterator[str]:
    episodes, overall = summary.episodes, summary.success
    if episodes.is_empty():
        yield "No episodes yet."
    elif overall.value is None:
        low, high = error_bounds(episodes) or (0.0, 1.0)
        yield f"Too many errors for a rate: between {low:.0%} and {high:.0%} of {len(episodes)}, had they ended."
    elif summary.has_one_arm:
        yield f"{len(episodes)} episodes; success over all of them {overall}, n = {overall.n}."
    else:
        yield f"{len(episodes)} episodes. By task: robodx summary RUN --by task."
        if episodes.group_by("arm").agg(pl.col("task").unique().sort())["task"].n_unique() > 1:
            yield "Not all arms are of the same tasks: their means do not compare, those of a task do."


def _title(metric: str) -> str:
    unit = METRICS[metric].unit
    return f"{metric} ({unit})" if unit and unit not in (*UP_TO_ONE, "ratio", "count") else metric


def _percent(found: Estimate | None) -> str | None:
    return None if found is None else str(found)


def _number(name: str, found: Estimate) -> str | None:
    if found.value is None:
        return None
    if name in METRICS and METRICS[name].unit in UP_TO_ONE:
        return str(found)
    interval = "" if found.low is None or found.high is None else f" [{_short(found.low)}, {_short(found.high)}]"
    return f"{_short(found.value)}{interval}"


def _short(value: float) -> str:
    return f"{value:.3g}" if abs(value) < 1000 else f"{value:.0f}"
