"""From the episodes of a policy to its diagnosis: screened on some seeds, confirmed on others, ranked."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from robodx.analysis.causes import leading, read_causes
from robodx.analysis.episodes import load, read_about
from robodx.analysis.estimates import newcombe, wilson
from robodx.analysis.findings.base import Diagnosis, Finding
from robodx.analysis.findings.conditions import Condition, Mask, conditions
from robodx.analysis.findings.manners import Manner, manners
from robodx.analysis.findings.naming import named, next_test, statement
from robodx.analysis.findings.prepare import is_fresh, prepared
from robodx.analysis.findings.search import BACKGROUND, LEAST_EFFECT, Candidate, Counts, candidates, count, explained
from robodx.analysis.metrics.base import estimate
from robodx.analysis.metrics.success import success_rate
from robodx.analysis.multiple import holm
from robodx.analysis.power import smallest_visible_difference

ALPHA = 0.05
# Fewer episodes inside confirm nothing, however rare it should be.
LEAST_FRESH = 5
EXAMPLES = 5

# What recovers most of the failed trials with these ids, in words.
Because = Callable[[Sequence[str]], str | None]


def diagnose(episodes: pl.DataFrame, about: Mapping[str, Any]) -> list[Diagnosis]:
    """One for each policy of a run, in the order of their names."""
    return _of_each(prepared(episodes, about))


def diagnose_runs(runs: Sequence[Path]) -> list[Diagnosis]:
    """Of each policy in these runs; what one policy did in several is put together."""
    tables = [prepared(load(run), read_about(run)) for run in runs]
    together = pl.concat(tables).unique("trial_id", keep="first", maintain_order=True)
    return _of_each(together, partial(_because, runs))


def _of_each(table: pl.DataFrame, because: Because = lambda trial_ids: None) -> list[Diagnosis]:
    parts = sorted(table.group_by("policy"), key=lambda pair: str(pair[0][0]))
    return [_of_policy(part, because) for _, part in parts]


def _because(runs: Sequence[Path], trial_ids: Sequence[str]) -> str | None:
    """What of these failures is recovered by what, of the first of the runs that was asked why and says something."""
    for run in runs:
        shown = pl.col("trial_id").is_in(trial_ids)
        found = leading(read_causes(run, among=shown) or ())
        if found is not None:
            return f"{found.substitution} recovers {found.recovered} of them: it is a matter of {found.component}"
    return None


def screen(episodes: pl.DataFrame) -> list[Candidate]:
    """What one policy's prepared episodes make look weak, to be put to the test on other seeds."""
    return candidates(conditions(episodes), manners(episodes), np.ones(len(episodes), dtype=np.bool_))


def _of_policy(table: pl.DataFrame, because: Because) -> Diagnosis:
    # In one order, whatever order they were run or written in.
    table = table.sort("task", "seed", "repeat", "trial_id")
    where, how, fresh = conditions(table), manners(table), is_fresh(table)
    suspected = candidates(where, how, ~fresh)
    tested = _tested(suspected, fresh, table["task"].rank("dense").to_numpy())
    p_values = holm({str(index): p for index, (_, p) in enumerate(tested)})
    findings = [
        _finding(table, one, counts, p_values[str(index)], how, fresh, because)
        for index, (one, (counts, _)) in enumerate(zip(suspected, tested, strict=True))
    ]
    ranked = sorted(findings, key=lambda found: (found.certainty != "confirmed", -found.rank))
    return Diagnosis(
        policy=str(table["policy"][0]),
        episodes=len(table),
        success=estimate(success_rate, table.filter("is_base"), np.random.default_rng(0)),
        findings=tuple(_distinct(ranked)),
        resolution=_resolution(table.filter(pl.Series(fresh))),
        screened=int((~fresh).sum()),
        confirmed_on=int(fresh.sum()),
    )


def _tested(
    suspected: Sequence[Candidate], fresh: Mask, tasks: NDArray[np.uint32]
) -> list[tuple[Counts, float | None]]:
    """Each candidate on fresh episodes: inside held against outside among those alike in the others' conditions.

    Fresh episodes were chosen for the candidates: what one of them costs must not be held against another. A target's
    value is also held against others within the same task.
    """
    tested: list[tuple[Counts, float | None]] = []
    for one in suspected:
        apart = [other.condition.inside for other in suspected if other.condition.sort != "all"]
        apart = [mask for mask in apart if (mask != one.condition.inside).any()]
        if one.condition.sort == "value":
            apart += [tasks == task for task in np.unique(tasks)]
        strata = [count(one.condition, one.manner, fresh & alike) for alike in _alike(apart, len(fresh))]
        telling = [each for each in strata if one.condition.sort == "all" or (each.n_inside and each.n_outside)]
        together = Counts(*(sum(column) for column in zip(*telling, strict=True))) if telling else Counts(0, 0, 0, 0)
        tested.append((together, _p(telling, one.condition)))
    return tested


def _alike(apart: Sequence[Mask], n: int) -> list[Mask]:
    """The episodes in groups of which none is divided by these masks."""
    groups = [np.ones(n, dtype=np.bool_)]
    for mask in apart:
        groups = [part for group in groups for part in (group & mask, group & ~mask) if part.any()]
    return groups


def _p(strata: Sequence[Counts], condition: Condition) -> float | None:
    """The chance of so many inside if it were as outside: Fisher's exact test in each stratum, all of them together.

    Where there is no outside, the chance of so many if they were as rare as in a policy without weaknesses.
    """
    # Here, for it takes half a second to import.
    from scipy.stats import binom, hypergeom  # type: ignore[import-untyped]

    if sum(each.n_inside for each in strata) < LEAST_FRESH:
        return None
    inside = sum(each.inside for each in strata)
    if condition.sort == "all":
        return float(binom.sf(inside - 1, sum(each.n_inside for each in strata), BACKGROUND))
    chances = np.ones(1)
    for k, n, other, n_other in strata:
        chances = np.convolve(chances, hypergeom.pmf(np.arange(n + 1), n + n_other, k + other, n))
    return float(min(1.0, chances[inside:].sum()))


def _finding(
    table: pl.DataFrame,
    candidate: Candidate,
    counts: Counts,
    p: float | None,
    how: list[Manner],
    fresh: Mask,
    because: Because,
) -> Finding:
    is_confirmed = p is not None and p <= ALPHA
    used = counts if is_confirmed else candidate.counts
    inside, outside = wilson(used.inside, used.n_inside), wilson(used.outside, used.n_outside)
    effect = newcombe(used.outside, used.n_outside, used.inside, used.n_inside) if used.n_outside else inside
    name = named(candidate, how, np.ones(len(table), dtype=np.bool_))
    shown = table.filter(pl.Series(explained(candidate)))
    # Of each task one, and those first that the finding was confirmed on.
    examples = shown.with_columns(pl.Series("fresh", fresh[explained(candidate)])).sort("fresh", descending=True)
    tasks = shown["task"].value_counts(sort=True).sort("count", "task", descending=[True, False])["task"].to_list()
    return Finding(
        kind=name.kind,
        subject=name.subject,
        statement=statement(name, candidate, inside, outside),
        condition=candidate.condition.name,
        manner=candidate.manner.name,
        certainty="confirmed" if is_confirmed else "suspected",
        inside=inside,
        outside=outside,
        effect=effect,
        p=p,
        share=float(candidate.condition.inside.mean()),
        examples=tuple(examples.unique("task", keep="first", maintain_order=True)["trial_id"][:EXAMPLES]),
        next_test=next_test(name, candidate, tasks, str(table["policy"][0])),
        because=because(shown["trial_id"].to_list()),
    )


def _distinct(findings: list[Finding]) -> list[Finding]:
    """Of those that say the same, the first."""
    first: dict[str, Finding] = {}
    for finding in findings:
        first.setdefault(finding.name, finding)
    return list(first.values())


def _resolution(table: pl.DataFrame) -> float | None:
    """Of a family of the usual size, the rest being as good as all of it is; on the episodes that could confirm it."""
    base = table.filter("is_base")
    if base.is_empty():
        return None
    sizes = base.group_by("family").len()["len"].sort()
    typical = int(sizes[len(sizes) // 2])
    rate = float(base["success"].mean())  # type: ignore[arg-type]
    seen = smallest_visible_difference(typical, rate, len(base) - typical or None)
    return None if seen is None else max(seen, LEAST_EFFECT)
