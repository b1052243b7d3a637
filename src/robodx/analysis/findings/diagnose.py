"""From the episodes of a policy to its diagnosis: screened on some seeds, confirmed on others, ranked."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from robodx.analysis.cause_sentences import pointed_to
from robodx.analysis.causes import FOLDER, causes_of, kinds_of
from robodx.analysis.findings.base import Diagnosis, Finding
from robodx.analysis.findings.confirm import Tested, rates, tested
from robodx.analysis.findings.failure_modes import FailureMode, failure_modes
from robodx.analysis.findings.kinds.base import FINDING_KINDS, NextTest
from robodx.analysis.findings.naming import Name, named, statement
from robodx.analysis.findings.prepare import situations, with_variants
from robodx.analysis.findings.search import LEAST_EFFECT, Candidate, candidates
from robodx.analysis.findings.strata import Mask, Stratum, strata
from robodx.analysis.findings.thresholds import THRESHOLDS, Thresholds
from robodx.analysis.metrics.base import estimate
from robodx.analysis.metrics.success import success_rate
from robodx.analysis.policy_label import options
from robodx.analysis.statistics.power import smallest_visible_difference
from robodx.analysis.statistics.sequential import Stopped, stopped_how
from robodx.records.about import read_about
from robodx.records.table import is_finished, load

EXAMPLES = 5

# What recovers most of the failed trials with these ids, in words.
Because = Callable[[Sequence[str]], str | None]


def diagnose(
    episodes: pl.DataFrame,
    about: Mapping[str, Any],
    because: Because = lambda trial_ids: None,
    *,
    is_whole: bool = True,
    thresholds: Thresholds = THRESHOLDS,
) -> list[Diagnosis]:
    """One for each policy, in the order of their names; `about` is what run.json says of perturbations and requests.

    Nothing is confirmed by a run that outcomes ended, or (not `is_whole`) one that is still going on.
    """
    stopped = stopped_how(about.get("request", {}))
    parts = sorted(episodes.group_by("policy"), key=lambda pair: str(pair[0][0]))
    return [_of_policy(part, about, because, stopped, is_whole, thresholds) for _, part in parts]


def diagnose_runs(runs: Sequence[Path]) -> list[Diagnosis]:
    """Of each policy in these runs; what one policy did in several is put together, whatever their order."""
    abouts = [read_about(run) for run in runs]
    cards = {name: card for about in abouts for name, card in about.get("perturbations", {}).items()}
    requests = [about.get("request", {}) for about in abouts]
    # One that outcomes ended makes the whole one that outcomes ended.
    request: Mapping[str, Any] = next((each for each in requests if stopped_how(each) != "planned"), {})
    episodes = pl.concat([load(run) for run in runs])
    is_whole = all(is_finished(run) for run in runs)
    about = {"perturbations": cards, "request": request, "runs": abouts}
    return diagnose(episodes, about, because_of(runs), is_whole=is_whole)


def because_of(runs: Sequence[Path]) -> Because:
    """What `robodx why` says of failures in these runs, as far as they were asked."""
    asked = [
        (load(run), load(run / FOLDER), kinds_of(read_about(run / FOLDER)))
        for run in runs
        if (run / FOLDER / "run.json").exists()
    ]

    def because(trial_ids: Sequence[str]) -> str | None:
        for failed, substituted, kinds in asked:
            found = causes_of(failed.filter(pl.col("trial_id").is_in(trial_ids)), substituted, kinds)
            if found.is_shown:
                return pointed_to(found)
        return None

    return because


def screen(episodes: pl.DataFrame) -> list[Candidate]:
    """What one policy's episodes, with their variants, make look weak: to be put to the test on other seeds."""
    everything = np.ones(len(episodes), dtype=np.bool_)
    return candidates(*_looked_for(episodes), everything, episodes["pair_id"].to_numpy())


def _looked_for(episodes: pl.DataFrame) -> tuple[list[Stratum], list[FailureMode]]:
    """With what kinds of findings look for on their own."""
    kinds = FINDING_KINDS.entries()
    where = [one for kind in kinds for one in kind.strata(episodes)]
    what = [one for kind in kinds for one in kind.failure_modes(episodes)]
    return strata(episodes, where), failure_modes(episodes, what)


def _of_policy(
    episodes: pl.DataFrame,
    about: Mapping[str, Any],
    because: Because,
    stopped: Stopped,
    is_whole: bool,
    thresholds: Thresholds,
) -> Diagnosis:
    policy = str(episodes["policy"][0])
    who = options(policy, about.get("runs", [about]))
    variants = with_variants(episodes, about.get("perturbations", {}))
    table = situations(variants)
    fresh = table["is_fresh"].to_numpy()
    success = estimate(success_rate, variants.filter("is_base"), np.random.default_rng(0), stopped=stopped)
    findings: list[Finding] = []
    # Where too many erred to tell a rate, there is no telling what the rest is a sample of.
    if success.value is not None:
        where, how = _looked_for(table)
        suspected = candidates(where, how, ~fresh, table["pair_id"].to_numpy(), thresholds)
        results = tested(suspected, table, fresh)
        can_confirm = is_whole and stopped == "planned"
        findings = [
            _finding(table, one, result, named(one, how, thresholds), because, who, can_confirm)
            for one, result in zip(suspected, results, strict=True)
        ]
    ranked = sorted(findings, key=lambda found: (found.certainty != "confirmed", -found.rank))
    return Diagnosis(
        policy=policy,
        episodes=len(table),
        errors=int((variants["outcome"] == "error").sum()),
        success=success,
        findings=tuple(_distinct(ranked)),
        resolution=_resolution(table.filter(pl.col("is_fresh")) if fresh.any() else table),
        screened=int((~fresh).sum()),
        confirmed_on=int(fresh.sum()),
        is_whole=is_whole,
        solved=int(episodes.filter(pl.col("outcome") != "error")["success"].sum()),
        judged=int((episodes["outcome"] != "error").sum()),
    )


def _finding(
    table: pl.DataFrame,
    candidate: Candidate,
    result: Tested,
    name: Name,
    because: Because,
    who: str,
    can_confirm: bool,
) -> Finding:
    is_confirmed = can_confirm and result.is_confirmed
    inside, outside, effect = result[:3] if is_confirmed else rates([candidate.counts])
    counts, left_out = (result.counts, result.left_out) if is_confirmed else (candidate.counts, 0)
    shown = table.filter(pl.Series(candidate.shows)).sort("is_fresh", descending=True, maintain_order=True)
    # Those of the most failing tasks first, and by name where they fail alike.
    tasks = shown["task"].value_counts().sort("count", "task", descending=[True, False])["task"].to_list()
    concerned: Mask = candidate.stratum.inside & ~table["is_fresh"].to_numpy()
    return Finding(
        kind=name.kind.name,
        subject=name.subject,
        statement=statement(name, candidate, inside, outside, counts, left_out),
        stratum=candidate.stratum.name,
        failure_mode=candidate.failure_mode.name,
        where=candidate.stratum.says,
        happens=candidate.failure_mode.says,
        certainty="confirmed" if is_confirmed else "suspected",
        inside=inside,
        outside=outside,
        effect=effect,
        p=result.p if can_confirm else None,
        share=float(concerned.sum() / max(1, (~table["is_fresh"]).sum())),
        examples=tuple(shown.unique("task", keep="first", maintain_order=True)["trial_id"][:EXAMPLES]),
        next_test=name.kind.next_test(NextTest(name.subject, tasks, who)),
        because=because(shown["trial_id"].to_list()),
        left_out=left_out,
    )


def _distinct(findings: list[Finding]) -> list[Finding]:
    """Of those that say the same, the first."""
    first: dict[str, Finding] = {}
    for finding in findings:
        first.setdefault(finding.name, finding)
    return list(first.values())


def _resolution(table: pl.DataFrame) -> float | None:
    """Of a family of the usual size, the rest being as good as all of it is."""
    base = table.filter("is_base")
    if base.is_empty():
        return None
    sizes = base.group_by("family").len()["len"].sort()
    typical = int(sizes[len(sizes) // 2])
    rate = float(base["success"].mean())  # type: ignore[arg-type]
    seen = smallest_visible_difference(typical, rate, len(base) - typical or None)
    return None if seen is None else max(seen, LEAST_EFFECT)
