"""The tables of the study, from the episodes of several policies; a policy's name stands for its runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import polars as pl
from tables import TIERS, UNSEEN, cell, markdown

from robodx.analysis.cause_sentences import adds, conclusion, not_told_apart, unrecovered, verdict
from robodx.analysis.causes import Cause, Causes
from robodx.analysis.compare import Row, compare_tables
from robodx.analysis.findings.base import Diagnosis, PairEvidence
from robodx.analysis.findings.validation import TOP, Group, judge, retest
from robodx.analysis.statistics.estimates import Estimate
from robodx.analysis.summary import Summary
from robodx.analysis.variants import with_names
from robodx.report.words import escaped
from robodx.suites.capability import capability_tasks
from robodx.terminal.comparison import p_value, points

CONTROL = "control_normalised_success"
# None of these policies has a planted fault: only causes that pairs have shown are answers.
NOT_PLANTED: Group = "no fault"
# By what was done to the room, as the record calls it.
ROOMS = {"as it is": "", "in another familiar room": "room=placebo", "in an unseen room": "room=unseen"}


def by_family(tables: Mapping[str, pl.DataFrame]) -> str:
    """Success by family, for each policy a column a tier; primitives have no tiers."""
    asked = capability_tasks()
    rows = []
    for family in dict.fromkeys(task.family for task in asked if task.tier):
        cells = []
        for table in tables.values():
            for tier in TIERS:
                found = table.filter((pl.col("family") == family) & (pl.col("tier") == tier))
                tasks = sum((task.family, task.tier) == (family, tier) for task in asked)
                some = f" ({found['task'].n_unique()} of {tasks} tasks)" if found["task"].n_unique() < tasks else ""
                cells.append(f"{cell(found)}{some}" if len(found) else "")
        rows.append([family, *cells])
    head = [f"`{name}` {tier}" if tier == TIERS[0] else tier for name in tables for tier in TIERS]
    trained = (pl.col("family") != UNSEEN) & pl.col("tier").is_not_null()
    means = [[f"`{name}`", *_of_all(table, trained)] for name, table in tables.items()]
    return "\n\n".join(
        [
            markdown(["family", *head], rows),
            "An empty cell: the policy reads no words, and there the words decide what to do.",
            markdown(["policy", "tasks", f"all tiers but {UNSEEN}", "primitives"], means),
        ]
    )


def _of_all(table: pl.DataFrame, trained: pl.Expr) -> list[str]:
    found = table.filter(trained)
    return [str(found["task"].n_unique()), cell(found), cell(table.filter(pl.col("tier").is_null()))]


def control_normalised(summaries: Mapping[str, Summary]) -> str:
    """What remains of each family when it is divided by the success of its motor primitive."""
    found = {
        (one.group, name): one.values[CONTROL]
        for name, summary in summaries.items()
        for one in summary.metrics([CONTROL], "family")
        if one.values[CONTROL].value is not None
    }
    rows = []
    for family in dict.fromkeys(task.family for task in capability_tasks() if task.primitive):
        each = [found.get((family, name)) for name in summaries]
        rows.append([family, *(_ratio(one) for one in each)])
    return markdown(["family", *(f"`{name}`" for name in summaries)], rows)


def _ratio(found: Estimate | None) -> str:
    if found is None or found.value is None or found.low is None:
        return ""
    # Without a highest value where the primitive may have no success at all.
    return f"{found.value:.2f} [{found.low:.2f}, {'∞' if found.high is None else f'{found.high:.2f}'}]"


def by_added_factor(summaries: Mapping[str, Summary]) -> str:
    """What each factor costs that is added to easy perception tasks, on the same situations."""
    rows = [
        [
            f"`{name}`", one.factor, str(one.plain), str(one.entangled), str(one.difference.n), points(one.difference),
            (p_value(one.p_holm) or "") if one.is_testable else "not testable",
        ]
        for name, summary in summaries.items()
        for one in summary.contrasts
        if one.task is None
    ]  # fmt: skip
    return markdown(["policy", "added", "plain", "with it", "n", "difference", "p"], rows)


def by_finding(diagnoses: Mapping[str, Mapping[int, Diagnosis]]) -> str:
    """The first findings of each diagnosis, which is named by its first seed, and whether diagnoses agree."""
    head = ["policy", "first seed", "episodes", "success", "certainty", "finding", "undo", "put in"]
    rows = [row for name, runs in diagnoses.items() for seed, one in runs.items() for row in _findings(name, seed, one)]
    return "\n\n".join([markdown(head, rows), *_agreement(diagnoses)])


def _findings(name: str, seed: int, diagnosis: Diagnosis) -> Iterator[list[str]]:
    run = [f"`{name}`", str(seed), str(diagnosis.episodes), str(diagnosis.success)]
    if not diagnosis.findings:
        yield [*run, "", escaped(diagnosis.headline), "", ""]
    for one in diagnosis.findings[:TOP]:
        says = f"{escaped(one.name)}. {escaped(one.statement)}"
        yield [*run, one.certainty_says, says, _pairs(one.undo), _pairs(one.put_in)]
        # The same for all findings of a run.
        run = [""] * len(run)


def _pairs(evidence: PairEvidence | None) -> str:
    if evidence is None or not evidence.pairs:
        return ""
    solved = f"{evidence.changed} of {evidence.pairs}, placebo {evidence.placebo}"
    return f"{solved}: {points(evidence.gain)}"


def _agreement(diagnoses: Mapping[str, Mapping[int, Diagnosis]]) -> list[str]:
    """Of policies that were diagnosed several times."""
    sentences = []
    for name, runs in diagnoses.items():
        found = retest([judge(NOT_PLANTED, name, seed, (), one) for seed, one in runs.items()], NOT_PLANTED)
        same, against = ((round((one.value or 0.0) * one.n), one.n) for one in (found.again, found.contradicted))
        if same[1]:
            ruled_out = f"; a top cause was ruled out by the other run {against[0]} of {against[1]} times"
            says = f"in {same[0]} of {same[1]} pairs of runs both have the same top cause"
            sentences.append(f"- `{name}`: {says}{ruled_out if against[1] else ''}.")
    return ["\n".join(sentences)] if sentences else []


def by_substitution(causes: Mapping[str, Causes]) -> str:
    """What each component made perfect recovers of the failed trials, as `robodx why` tells it."""
    head = ["policy", "component", "substitution", "alone", "adds", "beyond repeating", "p", "verdict"]
    rows = [
        [f"`{name}`", *_recovered(one, found)]
        for name, found in causes.items()
        for one in (found.again, *found.substitutions)
        if one.n
    ]
    told = [
        f"- `{name}`: {' '.join([conclusion(found), *not_told_apart(found), *unrecovered(found)])}"
        for name, found in causes.items()
    ]
    return f"{markdown(head, rows)}\n\n" + "\n".join(told)


def _recovered(cause: Cause, found: Causes) -> list[str]:
    cells = [cause.component, f"`{cause.substitution}`", f"{cause.count} of {cause.n} ({cause.recovered})"]
    if cause is found.again:
        return [*cells, "", "", "", ""]
    return [*cells, adds(cause), points(cause.excess), p_value(cause.p_holm) or "", verdict(cause, found) or ""]


def before_and_after(before: str, after: str, tables: Sequence[pl.DataFrame]) -> str:
    """The same situations with both policies, and what an unseen room costs each beyond another familiar one."""
    first, second = (with_names(table, {}) for table in tables)
    is_trained = pl.col("family") != UNSEEN
    parts = {f"easy tasks, {says}": is_trained & (pl.col("variant") == name) for says, name in ROOMS.items()}
    parts |= {f"{UNSEEN}, {tier}": ~is_trained & (pl.col("tier") == tier) for tier in TIERS}
    parts[f"{UNSEEN}, all"] = ~is_trained
    rows = [
        _compared(says, first.filter(which), second.filter(which))
        for says, which in parts.items()
        if len(first.filter(which))
    ]
    costs = [
        _compared(f"`{name}`", *(_bare(table.filter(pl.col("variant") == ROOMS[room])) for room in list(ROOMS)[1:]))
        for name, table in ((before, first), (after, second))
    ]
    further = ["n", "difference", "p"]
    return "\n\n".join(
        [
            markdown(["situations", f"before: `{before}`", f"after: `{after}`", *further], rows),
            markdown(["policy", *list(ROOMS)[1:], *further], costs),
        ]
    )


def _compared(says: str, a: pl.DataFrame, b: pl.DataFrame) -> list[str]:
    row: Row = compare_tables(a, b).overall
    return [says, str(row.rate_a), str(row.rate_b), str(row.n), points(row.difference), p_value(row.p) or ""]


def _bare(episodes: pl.DataFrame) -> pl.DataFrame:
    """Without what was done to the situation, so that what was done to it otherwise is its partner."""
    return episodes.with_columns(pl.col("interventions").list.head(0))
