"""From the episodes of a policy to its diagnosis: what goes with its failures, and what pairs showed to cause them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from robodx.analysis.cause_sentences import pointed_to
from robodx.analysis.causes import FOLDER, causes_of, kinds_of
from robodx.analysis.findings.base import Certainty, Diagnosis, Excluded, Finding, PairEvidence, Symptom
from robodx.analysis.findings.conditions import Condition, Mask
from robodx.analysis.findings.decisions import PairSeen, Tally, tallies, told_apart
from robodx.analysis.findings.failure_modes import FailureMode, failure_modes
from robodx.analysis.findings.kinds.base import FINDING_KINDS, NextTest, Own
from robodx.analysis.findings.naming import mostly, named, statement, symptom
from robodx.analysis.findings.panel import losses
from robodx.analysis.findings.prepare import situations, with_variants
from robodx.analysis.findings.proposals import Screened, Suspect, chance_of, suspects
from robodx.analysis.findings.variants import CLOCK, STRESS, variants
from robodx.analysis.findings.wording import when
from robodx.analysis.metrics.base import estimate
from robodx.analysis.metrics.success import success_rate
from robodx.analysis.policy_label import options
from robodx.analysis.statistics.estimates import NOTHING, Estimate, newcombe, wilson
from robodx.analysis.statistics.power import smallest_visible_difference
from robodx.analysis.statistics.sequential import Stopped, stopped_how
from robodx.analysis.statistics.sequential_pairs import Decision
from robodx.analysis.variants import as_laid_out
from robodx.records.about import read_about
from robodx.records.derived_design import designed
from robodx.records.features import features_of_row
from robodx.records.table import is_finished, load

EXAMPLES = 5
# A symptom that shows in fewer episodes than a policy without weaknesses has by accident is not told.
LEAST_SYMPTOM = 0.1
# And of failures that no cause explains, a way in which fewer than this share fail.
OFTEN = 0.3
# Rates nearer to each other than this are no finding.
LEAST_EFFECT = 0.1
LEAST_FAILURES = 2
# How surely something goes with failures.
SURE = 0.05
# Of a condition that pairs have shown, the share of another's failures from which that one says nothing more.
EXPLAINED = 0.7

# What recovers most of the failed trials with these ids, in words.
Because = Callable[[Sequence[str]], str | None]


def diagnose(
    episodes: pl.DataFrame,
    about: Mapping[str, Any],
    because: Because = lambda trial_ids: None,
    *,
    is_whole: bool = True,
) -> list[Diagnosis]:
    """One for each policy, in the order of their names; `about` is what run.json says of perturbations and requests.

    In a run that outcomes ended nothing is sure that its stopping was not made for.
    """
    stopped = stopped_how(about.get("request", {}))
    parts = sorted(episodes.group_by("policy"), key=lambda pair: str(pair[0][0]))
    return [_of_policy(part, about, because, stopped, is_whole) for _, part in parts]


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


class _Policy(NamedTuple):
    """What findings about a policy are made from."""

    # As the tasks laid them out, without stress, each situation once.
    table: pl.DataFrame
    screened: Screened
    modes: list[FailureMode]
    own: list[Own]
    because: Because
    who: str
    # Whether pairs were run: then the same command would decide no more.
    has_pairs: bool
    # The chance of a score, if nothing mattered; None in a run that outcomes ended, for they ended it as they liked.
    chance: Callable[[float], float] | None


def _of_policy(
    episodes: pl.DataFrame, about: Mapping[str, Any], because: Because, stopped: Stopped, is_whole: bool
) -> Diagnosis:
    policy = str(episodes["policy"][0])
    prepared = with_variants(episodes, about.get("perturbations", {}))
    # What was run to decide on something is no sample of what a policy meets.
    sampled = prepared.filter(as_laid_out())
    table = situations(sampled)
    base = table.filter("is_base")
    success = estimate(success_rate, sampled.filter("is_base"), np.random.default_rng(0), stopped=stopped)
    findings: list[Finding] = []
    symptoms: list[Symptom] = []
    decided = tallies(prepared)
    # Where too many erred to tell a rate, there is no telling what the rest is a sample of.
    if success.value is not None:
        kinds = FINDING_KINDS.entries()
        own = [one for kind in kinds for one in kind.conditions(base)]
        modes = failure_modes(base, [one for kind in kinds for one in kind.failure_modes(base)])
        trials = [_features(row) for row in base.iter_rows(named=True)]
        screened = Screened.of(trials, ~base["success"].to_numpy(), {one.condition: one.inside for one in own})
        types = [mode.has for mode in modes if mode.sort == "type"]
        chance = chance_of(screened, base["task"].to_list(), types) if stopped == "planned" else None
        who = options(policy, about.get("runs", [about]))
        subject = _Policy(base, screened, modes, own, because, who, bool(decided), chance)
        findings = list(_findings(subject, decided, variants(table)))
        symptoms = list(_symptoms(subject, findings))
    judged = designed(episodes, about).filter(as_laid_out() & (pl.col("outcome") != "error"))
    return Diagnosis(
        policy=policy,
        episodes=len(episodes),
        errors=int((prepared["outcome"] == "error").sum()),
        success=success,
        findings=tuple(findings),
        symptoms=tuple(symptoms),
        excluded=tuple(
            Excluded(when(one.condition), one.condition.attribute, one.condition.levels, one.undone.pairs)
            for one in decided
            if one.certainty == "excluded" and one.undone is not None
        ),
        resolution=_resolution(table),
        screened=len(table),
        paired=len(prepared) - len(sampled),
        is_whole=is_whole,
        solved=int(judged["success"].sum()),
        judged=len(judged),
    )


def _features(row: Mapping[str, Any]) -> dict[str, str]:
    """With where it is in the tree of tasks: what no intervention can change, and only goes with failures."""
    found = {**features_of_row(row), "family": row["family"], "task": row["task"]}
    return found | ({"tier": f"{row['family']}/{row['tier']}"} if row["tier"] else {})


def _findings(subject: _Policy, decided: Sequence[Tally], done: Sequence[Tally]) -> Iterator[Finding]:
    """What pairs decided, by what it explains; then what goes with failures that nothing explains yet."""
    failed = subject.screened.failed
    shown = [one for one in decided if one.certainty in ("cause", "needed", "sufficient")]
    shown = told_apart(sorted(shown, key=lambda one: -_share(one, _inside(subject, one.condition), failed)))
    causes = [_finding(subject, one, _certainty(one)) for one in shown]
    known = {one.condition for one in shown}
    causes += [
        _finding(subject, one, "cause") for one in done if one.certainty == "sufficient" and one.condition not in known
    ]
    yield from sorted(causes, key=lambda one: (-one.share, one.name))
    explained = np.zeros_like(failed)
    for one in shown:
        explained |= _inside(subject, one.condition)
    names: set[str] = {one.name for one in causes}
    tested = {one.condition: one for one in decided}
    found = suspects(subject.screened, [mode.has for mode in subject.modes if mode.sort == "type"])
    for suspect in found:
        inside = _inside(subject, suspect.condition)
        lost = inside & failed
        if (lost & explained).sum() >= EXPLAINED * lost.sum():
            continue
        tally = tested.get(suspect.condition)
        # One failure goes with everything that its trial has.
        if lost.sum() < LEAST_FAILURES or (tally is not None and tally.certainty == "excluded"):
            continue
        certainty: Certainty = "undecided" if tally is not None else "suspected"
        if tally is None and subject.chance is not None and subject.chance(suspect.alone) <= SURE:
            certainty = "associated"
        finding = _finding(subject, tally or Tally(suspect.condition, 1), certainty, suspect, tested)
        if finding.name not in names:
            names.add(finding.name)
            yield finding


def _certainty(tally: Tally) -> Certainty:
    """What is done to a policy can only be put in: there, to suffice is to be the cause."""
    if tally.certainty == "sufficient" and tally.condition.attribute in (STRESS, CLOCK):
        return "cause"
    return tally.certainty  # type: ignore[return-value]


def _inside(subject: _Policy, condition: Condition) -> Mask:
    own = next((one.inside for one in subject.own if one.condition == condition), None)
    return condition.among(subject.screened.trials) if own is None else own


def _finding(
    subject: _Policy,
    tally: Tally,
    certainty: Certainty,
    suspect: Suspect | None = None,
    tested: Mapping[Condition, Tally] | None = None,
) -> Finding:
    condition, failed = tally.condition, subject.screened.failed
    inside = _inside(subject, condition)
    mode = mostly(failed & inside, subject.modes)
    name = named(condition, mode)
    own = next((one.says for one in subject.own if one.condition == condition), None)
    says = own or when(condition)
    rates = _rates(failed, inside)
    undo = _evidence(tally.undo, tally.undone, 1)
    put_in = _evidence(tally.put_in, tally.put, -1)
    shown = subject.table.filter(pl.Series(inside & failed))
    tasks = shown["task"].value_counts().sort("count", "task", descending=[True, False])["task"].to_list()
    examples = shown.unique("task", keep="first", maintain_order=True)["trial_id"].to_list()
    rivals = [one for one in (suspect.rivals if suspect else ()) if _is_open(one, tested or {})]
    return Finding(
        kind=name.kind.name,
        subject=name.subject,
        statement=statement(name, says, mode.says, certainty, undo, put_in, *rates[:2]),
        attribute=condition.attribute,
        levels=condition.levels,
        when=says,
        happens=mode.says,
        certainty=certainty,
        inside=rates[0],
        outside=rates[1],
        effect=rates[2],
        undo=undo,
        put_in=put_in,
        contexts=0 if tally.skill is None else tally.skill.contexts,
        is_general=certainty == "cause" and tally.skill is not None and tally.skill.holds,
        rivals=tuple(when(one) for one in rivals),
        along=tuple(name for name in tally.along if name != condition.attribute),
        share=_share(tally, inside, failed),
        p=None if suspect is None or subject.chance is None else subject.chance(suspect.alone),
        examples=tuple((examples or [one.treated for one in tally.put_in if not one.treated_success])[:EXAMPLES]),
        pair=_pair(tally),
        is_below_chance=_is_below_chance(shown, subject.table.filter(pl.Series(inside))),
        next_test=_next_test(subject, name.kind.next_test, name.subject, tasks, certainty),
        advice=name.kind.advice if certainty in ("cause", "needed") else "",
        because=subject.because(shown["trial_id"].to_list()),
        panel=losses(tally),
    )


def _next_test(
    subject: _Policy, of_kind: Callable[[NextTest], str], about: str, tasks: Sequence[str], certainty: Certainty
) -> str:
    """What would tell more; of what only goes with failures, what would decide."""
    ask = NextTest(about, tasks or subject.table["task"].unique().sort().to_list(), subject.who)
    if certainty in ("associated", "suspected") and not subject.has_pairs:
        return f"robodx diagnose {subject.who.removeprefix('--policy ')}"
    return of_kind(ask)


def _is_open(condition: Condition, tested: Mapping[Condition, Tally]) -> bool:
    return condition not in tested or tested[condition].certainty != "excluded"


def _rates(failed: Mask, inside: Mask) -> tuple[Estimate, Estimate, Estimate]:
    k, n, other, n_other = (int(each.sum()) for each in (failed & inside, inside, failed & ~inside, ~inside))
    if not n:
        return NOTHING, wilson(other, n_other) if n_other else NOTHING, NOTHING
    if not n_other:
        return wilson(k, n), NOTHING, wilson(k, n)
    return wilson(k, n), wilson(other, n_other), newcombe(other, n_other, k, n)


def _evidence(pairs: Sequence[PairSeen], decision: Decision | None, sign: int) -> PairEvidence | None:
    if decision is None:
        return None
    counted = pairs[: decision.pairs]
    return PairEvidence(
        pairs=len(counted),
        changed=sum(one.treated_success for one in counted),
        placebo=sum(one.placebo_success for one in counted),
        gain=decision.estimate if sign > 0 else _negated(decision.estimate),
        verdict=decision.verdict,
        e_value=decision.e_value,
        interventions=tuple(sorted({one.intervention for one in counted})),
        pairs_more=decision.pairs_more,
    )


def _negated(one: Estimate) -> Estimate:
    value, low, high = (None if each is None else -each for each in (one.value, one.high, one.low))
    return Estimate(value, low, high, one.n)


def _share(tally: Tally, inside: Mask, failed: Mask) -> float:
    """Of all failures, what taking it away recovers beyond the placebo; without pairs, what it concerns."""
    if not failed.any():
        return 0.0
    concerned = float((inside & failed).sum() / failed.sum())
    gain = tally.undone.estimate.value if tally.undone is not None else None
    return concerned * max(0.0, gain) if gain is not None else concerned


def _pair(tally: Tally) -> tuple[str, str] | None:
    """The one that shows it best, its failure first: of those that flipped as it says, one in which least differs."""
    undone = [one for one in tally.undo if one.treated_success and not one.placebo_success]
    put_in = [one for one in tally.put_in if one.placebo_success and not one.treated_success]
    best = min((*undone, *put_in), key=lambda one: len(one.changed), default=None)
    if best is None:
        return None
    return (best.placebo, best.treated) if best.treated_success else (best.treated, best.placebo)


def _is_below_chance(shown: pl.DataFrame, inside: pl.DataFrame) -> bool:
    """Whether it succeeds less often than guessing would, surely."""
    chance = inside["chance"].mean()
    if not isinstance(chance, float) or chance >= 1 or not len(inside):
        return False
    high = wilson(len(inside) - len(shown), len(inside)).high
    return high is not None and high < chance


def _symptoms(subject: _Policy, findings: Sequence[Finding]) -> Iterator[Symptom]:
    """How it is done, wherever; and how most fail that no cause explains, where most fail."""
    failed = subject.screened.failed
    for mode in subject.modes:
        count = int(mode.has.sum())
        if mode.sort == "flag" and mode.is_telling and count > LEAST_SYMPTOM * len(failed):
            yield _symptom(subject, mode, mode.has, len(failed), "episodes")
    explained = np.zeros_like(failed)
    for one in findings:
        if one.is_decided:
            explained |= Condition(one.attribute, one.levels).among(subject.screened.trials)
    rest = failed & ~explained
    if rest.sum() < max(2, LEAST_SYMPTOM * len(failed)):
        return
    told = [(int((mode.has & rest).sum()), mode) for mode in subject.modes if mode.sort == "type"]
    for count, mode in sorted(told, key=lambda each: -each[0]):
        if count >= OFTEN * rest.sum():
            yield _symptom(subject, mode, mode.has & rest, int(rest.sum()), "failures that no cause explains")


def _symptom(subject: _Policy, mode: FailureMode, has: Mask, of: int, what: str) -> Symptom:
    name, count = symptom(mode), int(has.sum())
    title = f"{name.kind.name}: {name.subject}" if name.subject else name.kind.name
    examples = subject.table.filter(pl.Series(has)).unique("task", keep="first", maintain_order=True)["trial_id"]
    says = mode.says[0].upper() + mode.says[1:]
    return Symptom(title, f"{says} in {count} of {of} {what}.", wilson(count, of), tuple(examples[:EXAMPLES]))


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
