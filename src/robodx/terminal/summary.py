"""A run's summary as text for a person, no wider than 120 columns unless names are very long."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl

from robodx.analysis.compare import Comparison
from robodx.analysis.failure_summary import error_bounds
from robodx.analysis.metamorphic.levels import chosen as chosen_distance
from robodx.analysis.metamorphic.measuring import measured
from robodx.analysis.metrics.base import METRICS, UP_TO_ONE
from robodx.analysis.statistics.estimates import Estimate
from robodx.analysis.summary import By, Measured, Row, Subtotal, Summary, grouping
from robodx.analysis.wording import above_chance
from robodx.output import print_text, visible
from robodx.records.about import read_about
from robodx.records.logins import without_logins
from robodx.records.table import is_finished, load
from robodx.suites.cliff import Search
from robodx.terminal import bias as of_bias
from robodx.terminal import cliff as of_cliff
from robodx.terminal import comparison as of_comparison
from robodx.terminal import failures as of_failures
from robodx.terminal import isolation as of_isolation
from robodx.terminal import metamorphic as of_metamorphic
from robodx.terminal import null_inputs as of_null_inputs
from robodx.terminal import stress as of_stress
from robodx.terminal.console import counted, print_json, print_table, table_lines, wrapped

# The rest is in the JSON.
MOVING = {"length_ratio": "path / expert", "sparc": "smoothness", "stability": "stability"}
ANSWERING = {
    "calls_per_s": "calls / s",
    "actions_per_s": "actions / s",
    "inference_ms_p50": "latency, ms",
    "inference_ms_p95": "95th pct., ms",
}
# Of tasks in several variants; more are shown when asked for.
MOST_ROWS = 60
# The columns of several runs at a glance.
OVERVIEW = ("run", "policy", "success", "n", "tasks", "solved", "unfinished")


def print_summaries(runs: Sequence[Path], *, as_json: bool, by: str | None, metrics: Sequence[str], **how: Any) -> None:
    """Several runs: what each comes to in one table, then each by itself. JSON is a list of what each alone gives."""
    read = [_Read.of(run, how["distance"]) for run in runs]
    if as_json:
        print_json([one.content(grouping(by), metrics) for one in read])
        return
    if not (by or metrics):
        print_table([row for one in read for row in one.overview()])
        print_text(
            "",
            "success: the mean over tasks, as each run below tells it first; the runs may have different tasks.",
            "In pairs: robodx compare A B. As one diagnosis: robodx report RUN...",
            "",
            sep="\n",
        )
    for one in read:
        print_text(*([] if one is read[0] else [""]), f"── {one.run} ──", "", sep="\n")
        print_summary(one.run, as_json=False, by=by, metrics=metrics, read=one, **how)


@dataclass(frozen=True)
class _Read:
    """A run as it was found."""

    run: Path
    about: Mapping[str, Any]
    summary: Summary

    @classmethod
    def of(cls, run: Path, distance: str) -> _Read:
        about, episodes = read_about(run), load(run)
        return cls(run, about, Summary(episodes, about, measured(run, episodes), distance=chosen_distance(distance)))

    @property
    def beside(self) -> list[str]:
        """Tasks that were not applicable; older runs do not say."""
        return list(self.about.get("not_applicable", []))

    @cached_property
    def cliffs(self) -> list[Search]:
        """The searches of a run, if it still holds what this robodx would ask for."""
        return [search for search in of_cliff.searches(self.about) if search.read(self.summary.episodes).n]

    def content(self, by: By | None, metrics: Sequence[str]) -> dict[str, Any]:
        return {
            "run": str(self.run), "is_finished": is_finished(self.run), "stopped": self.summary.stopped,
            **self.summary.everything(by, metrics),
            "cliffs": [of_cliff.as_dict(search, self.summary.episodes) for search in self.cliffs],
            "not_applicable": self.beside,
        }  # fmt: skip

    def overview(self) -> list[dict[str, Any]]:
        rows = [
            {
                "run": self.run, "policy": without_logins(one.policy), "success": str(one.success),
                "n": one.success.n, "tasks": one.tasks, "solved": f"{one.solved} of {one.judged}",
                "unfinished": None if is_finished(self.run) else "yes",
            }
            for one in self.summary.headlines()
        ]  # fmt: skip
        return rows or [{name: "no episodes" if name == "success" else None for name in OVERVIEW} | {"run": self.run}]


def print_summary(
    run: Path,
    *,
    as_json: bool,
    by: str | None = None,
    motion: bool = False,
    metrics: Sequence[str] = (),
    failures: bool = False,
    distance: str = "frechet",
    comparison: Comparison | None = None,
    read: _Read | None = None,
) -> bool:
    """Whether there are few enough errors for a rate. What is shown is for a person to choose: JSON has everything."""
    chosen = grouping(by)
    read = read or _Read.of(run, distance)
    summary, cliffs, beside = read.summary, read.cliffs, read.beside
    if as_json:
        content = read.content(chosen, metrics)
        print_json(content if comparison is None else {**content, "comparison": of_comparison.as_dict(comparison)})
        return summary.success.value is not None
    if not is_finished(run):
        print_text(f"{run} is not finished: these are its episodes so far. The same robodx run command continues it.\n")
    has_cliff = bool(cliffs) and not (by or metrics)
    for search in cliffs if has_cliff else ():
        print_text(*of_cliff.lines(search, summary.episodes), "", sep="\n")
    for line in lines(
        summary, by=chosen, motion=motion, metrics=metrics, failures=failures, run=run, has_tables=not has_cliff
    ):
        print_text(line)
    if beside:
        print_text(
            *wrapped(f"Not applicable, because the policy reads no instructions: {', '.join(beside)}."), sep="\n"
        )
    if comparison is not None:
        print_text("", *of_comparison.lines(comparison), sep="\n")
        verdict = comparison.overall.verdict
        if summary.stopped == "together" and verdict is not None and verdict.word == "undecided":
            advice = (
                f"All trials of {comparison.run_a} have been used. For a verdict, make that run larger in a new folder"
            )
            print_text(*wrapped(f"{advice}, and compare again in another new folder."), sep="\n")
    return summary.success.value is not None


def lines(
    summary: Summary,
    *,
    by: By | None,
    motion: bool,
    metrics: Sequence[str],
    failures: bool = False,
    run: Path | str = "RUN",
    has_tables: bool = True,
) -> Iterator[str]:
    """The headline, what stress costs, what is not used, tasks, subtotals; with `by` that one table alone.

    Metrics take the place of usual columns.
    """
    has_policies = summary.episodes["policy"].n_unique() > 1
    is_stressed = summary.stress is not None and not metrics
    first = list(_first(summary, has_policies)) if has_tables and by is None and not metrics else []
    yield from first
    groups = ([by] if by else _groups(summary, has_metrics=bool(metrics))) if has_tables else []
    if summary.stress is not None and is_stressed and by in (None, "perturbation"):
        yield from (of_stress.details if by else of_stress.lines)(summary.stress)
        yield ""
        groups = [] if by else groups
    if summary.null_inputs and not metrics and by in (None, "perturbation"):
        yield from of_null_inputs.lines(summary.null_inputs)
        yield ""
    if has_tables and by is None and not metrics:
        yield from of_isolation.lines(summary.contrasts)
        yield from of_metamorphic.lines(summary.metamorphic)
        yield from of_bias.lines(summary.bias)
        yield from of_stress.graded_lines(summary.levels)
    for group in groups:
        if metrics:
            titles = {name: _title(name) for name in metrics}
            yield from _measured(summary.metrics(metrics, group), group, titles, has_policies)
        elif group == "task":
            # Of a stress run, what is stressed has a table of its own.
            is_clean = is_stressed and not by
            if is_clean:
                yield _unstressed(summary)
            rows = [row for row in summary.rows() if not is_clean or row.perturbations in summary.base_variants]
            yield from table_lines([_of_task(row, has_policies, summary.has_one_variant) for row in rows])
        else:
            yield from table_lines([_of_group(one, group, has_policies) for one in summary.subtotals(group)])
        yield ""
    if motion:
        medians = summary.motion(by or "task")
        for what, titles in (("Motion", MOVING), ("Latency", ANSWERING)):
            yield f"{what}, medians:"
            yield from _measured(medians, by or "task", titles, has_policies)
            yield ""
    if not metrics:
        yield from of_failures.lines(summary, in_full=failures)
    for text in _closing(summary, groups, run, has_metrics=bool(metrics), is_told=bool(first)):
        yield from wrapped(text)
    if has_tables and by is None and not metrics:
        for text in of_metamorphic.conclusions(summary.metamorphic):
            yield from wrapped(visible(text))


def _first(summary: Summary, has_policies: bool) -> Iterator[str]:
    """The average that a report and the viewer show first too, and what the progress bar counted."""
    told = [one for one in summary.headlines() if one.success.value is not None]
    for one in told:
        whose = f"{visible(without_logins(one.policy))}: " if has_policies else ""
        where = f"the mean over {counted(one.tasks, 'task')}" if one.tasks > 1 else "of one task"
        without = ", without stress or real time" if one.is_part else ""
        yield from wrapped(
            f"{whose}Success {one.success}, {where}{without} (n = {one.success.n}). "
            f"{visible(one.by_episode)}{one.in_all}"
        )
    yield from [""] if told else []


def _unstressed(summary: Summary) -> str:
    base = [variant for variant in summary.base_variants if "=" in variant]
    return f"Without stress beyond {base[0]}, which applies to all trials:" if base else "Without stress:"


def _groups(summary: Summary, *, has_metrics: bool) -> list[By]:
    if has_metrics:
        return ["task"]
    if summary.stress is not None:
        return ["task"]
    if summary.has_one_variant:
        others: tuple[By, ...] = ("family", "tier")
        return ["task", *(group for group in others if summary.has_several(group))]
    # Families in each of many variants would be a long table that nobody asked for, and so would tasks.
    is_long = summary.episodes.select("policy", "task", "variant").n_unique() > MOST_ROWS
    return ["perturbation"] if is_long else ["task", "perturbation"]


def _of_task(row: Row, has_policies: bool, has_one_variant: bool) -> dict[str, Any]:
    return {
        "policy": without_logins(row.policy) if has_policies else None, "task": row.task,
        "tier": row.tier if has_one_variant else None, "perturbed": row.perturbations or None,
        "success": str(row.success), "above chance": _of_chance(row.above_chance), "n": row.success.n,
        "progress": _share(row.progress),
        "steps": None if row.median_steps is None else f"{row.median_steps:.0f}", "errors": row.errors or None,
    }  # fmt: skip


def _of_group(one: Subtotal, by: By, has_policies: bool) -> dict[str, Any]:
    return {
        "policy": without_logins(one.policy) if has_policies else None, by: one.group, **_perturbed(one, by),
        "tasks": one.tasks, "success": str(one.success), "above chance": _of_chance(one.above_chance, one),
        "n": one.success.n, "progress": _share(one.progress.value), "errors": one.errors or None,
    }  # fmt: skip


def _of_chance(found: Estimate | None, of: Subtotal | None = None) -> str | None:
    part = f" ({of.tasks_with_choice} of {of.tasks} tasks)" if of and of.tasks_with_choice < of.tasks else ""
    return None if found is None else f"{above_chance(found)}{part}"


def _share(value: float | None) -> str | None:
    """Only all is 100%, and only nothing 0%."""
    if value is None or value in (0, 1):
        return None if value is None else f"{value:.0%}"
    return ">99%" if value >= 0.995 else "<1%" if value < 0.005 else f"{value:.0%}"


def _measured(found: Sequence[Measured], by: By, titles: Mapping[str, str], has_policies: bool) -> list[str]:
    return table_lines(
        [
            {
                "policy": without_logins(one.policy) if has_policies else None, by: one.group, **_perturbed(one, by),
                **{title: _number(name, one.values[name]) for name, title in titles.items()},
                "n": max(one.values[name].n for name in titles),
            }
            for one in found
        ]
    )  # fmt: skip


def _perturbed(one: Subtotal | Measured, by: By) -> dict[str, str | None]:
    return {} if by == "perturbation" else {"perturbed": one.perturbations or None}


def _closing(
    summary: Summary, groups: Sequence[By], run: Path | str, *, has_metrics: bool, is_told: bool
) -> Iterator[str]:
    yield from _overall(summary, groups, run, is_told=is_told)
    if groups:
        yield "success: rate with its 95% interval; n: number of situations (identical episodes count once)."
    if groups and not has_metrics and any(row.above_chance is not None for row in summary.rows()):
        yield (
            "above chance: the share of what chance leaves to be gained, so that skill with random choices is 0% and "
            "certain success 100%; below chance: surely less than that."
        )
    if groups and not has_metrics and any(row.progress is not None for row in summary.rows()):
        yield "progress: how much of a task's stages is reached, the mean over episodes."
    if "task" in groups and not has_metrics and any(row.progress is not None for row in summary.rows()):
        yield "steps: control steps of an episode, the median."
    if groups and summary.stopped != "planned":
        yield "The results decided when to stop: intervals are always-valid, and those for a fixed n are left out."
    if wide := [f"{row.task} {row.perturbations}".strip() for row in summary.too_wide()]:
        yield f"More --seeds are needed to reach the interval width {summary.until_width:g} for: {', '.join(wide)}."


def _overall(summary: Summary, groups: Sequence[By], run: Path | str, *, is_told: bool) -> Iterator[str]:
    episodes, overall = summary.episodes, summary.success
    if episodes.is_empty():
        yield "No episodes yet."
    elif overall.value is None:
        low, high = error_bounds(episodes) or (0.0, 1.0)
        yield f"Too many errors for a success rate: it is between {low:.0%} and {high:.0%} of {len(episodes)} episodes."
    elif summary.has_one_variant and not is_told:
        yield f"{counted(len(episodes), 'episode')}; overall success {overall}, n = {overall.n}."
    else:
        beside = f" Tables of tasks and failures are of the {len(episodes):,} that are a sample of their tasks."
        yield f"{counted(len(summary.every), 'episode')}.{beside if len(summary.every) > len(episodes) else ''}"
        if "task" not in groups and not summary.has_one_variant:
            yield f"By task: robodx summary {run} --by task"
        if summary.stress is not None and summary.stress.rows and "task" in groups:
            yield f"Stressors level by level: robodx summary {run} --by perturbation"
        if "perturbation" in groups and _has_unlike_variants(episodes):
            yield "The variants cover different tasks: compare them within a task, not by their means."


def _has_unlike_variants(episodes: pl.DataFrame) -> bool:
    return episodes.group_by("variant").agg(pl.col("task").unique().sort())["task"].n_unique() > 1


def _title(metric: str) -> str:
    unit = METRICS[metric].unit
    return f"{metric} ({unit})" if unit and unit not in (*UP_TO_ONE, "ratio", "count") else metric


def _number(name: str, found: Estimate) -> str:
    if found.value is None:
        return "—"
    if name in METRICS and METRICS[name].unit in UP_TO_ONE:
        return str(found)
    interval = "" if found.low is None or found.high is None else f" [{_short(found.low)}, {_short(found.high)}]"
    return f"{_short(found.value)}{interval}"


def _short(value: float) -> str:
    return (f"{value:.3g}" if abs(value) < 1000 else f"{value:.0f}").replace("-", "−")
