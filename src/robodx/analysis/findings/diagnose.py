"""From the episodes of a policy to its diagnosis: what goes with its failures, and what pairs showed to cause them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from robodx.analysis.cause_sentences import pointed_to
from robodx.analysis.causes import FOLDER, causes_of, kinds_of
from robodx.analysis.findings import evidence
from robodx.analysis.findings.base import (
    DECIDED,
    REFUTED,
    Certainty,
    Diagnosis,
    Excluded,
    Finding,
    Symptom,
    is_worth_mending,
    supports,
)
from robodx.analysis.findings.conditions import Condition, Mask
from robodx.analysis.findings.decisions import Tally, context_of, needing_both, tallies, told_apart
from robodx.analysis.findings.factors import factors_of
from robodx.analysis.findings.failure_modes import FailureMode, failure_modes
from robodx.analysis.findings.inconsistencies import inconsistencies
from robodx.analysis.findings.inputs import SUITE, inputs_seen, with_missing_input
from robodx.analysis.findings.kinds.base import FINDING_KINDS, FindingKind, NextTest
from robodx.analysis.findings.naming import FAILS, mostly, named, statement
from robodx.analysis.findings.panel import losses
from robodx.analysis.findings.prepare import situations, with_variants
from robodx.analysis.findings.proposals import Screened, Suspect, chance_of, suspects
from robodx.analysis.findings.remedies import advice
from robodx.analysis.findings.subject import Because, Subject
from robodx.analysis.findings.symptoms import EXAMPLES, symptoms_of
from robodx.analysis.findings.variants import CLOCK, STRESS, stress_seen, variants
from robodx.analysis.findings.visual_biases import visual_biases
from robodx.analysis.findings.wording import when
from robodx.analysis.headline import headline_of
from robodx.analysis.metamorphic.measuring import measured
from robodx.analysis.policy_label import options
from robodx.analysis.statistics.sequential import Stopped, stopped_how
from robodx.analysis.variants import as_laid_out
from robodx.records.about import read_about
from robodx.records.derived_design import designed
from robodx.records.design import rows_of
from robodx.records.features import features_of_row
from robodx.records.pairs import ROW
from robodx.records.table import is_finished, load

LEAST_FAILURES = 2
# Failures that no other cause explains, from which on these say how it fails for this one.
LEAST_OWN = 3
# Of a diagnosis whose pairs did not decide: as many times the pairs.
MORE_SEEDS = 5
# Two diagnoses whose first seeds are so far apart share no situation, for each seed a task that they screen.
SEEDS_APART = 1500
# What a suite holds against something else.
COMPARED = ("stressed", "follow-up", "cell")
# How surely something goes with failures.
SURE = 0.05
# Of a condition that pairs have shown, the share of another's failures from which that one says nothing more.
EXPLAINED = 0.7


def diagnose(
    episodes: pl.DataFrame,
    about: Mapping[str, Any],
    because: Because = lambda trial_ids: None,
    *,
    is_whole: bool = True,
    pairs: pl.DataFrame | None = None,
) -> list[Diagnosis]:
    """One for each policy, in the order of their names; `about` is what run.json says of perturbations and requests.

    In a run that outcomes ended nothing is sure that its stopping was not made for. `pairs` are those of the suite
    `metamorphic`, measured.
    """
    stopped = stopped_how(about.get("request", {}))
    parts = sorted(episodes.group_by("policy"), key=lambda pair: str(pair[0][0]))
    found = [_of_policy(part, about, because, stopped, is_whole) for _, part in parts]
    if stopped != "planned":
        return found
    seen = [tuple(_by_suites(part, about, pairs)) for _, part in parts]
    return [replace(one, symptoms=(*one.symptoms, *more)) for one, more in zip(found, seen, strict=True)]


def _by_suites(episodes: pl.DataFrame, about: Mapping[str, Any], pairs: pl.DataFrame | None) -> Iterator[Symptom]:
    """What the pairs of suites show of one policy, wherever they were run."""
    if pairs is not None:
        yield from inconsistencies(pairs.filter(pl.col("policy") == episodes["policy"][0]))
    yield from visual_biases(designed(episodes, about))


def diagnose_runs(runs: Sequence[Path]) -> list[Diagnosis]:
    """Of each policy in these runs; what one policy did in several is put together, whatever their order."""
    abouts = [read_about(run) for run in runs]
    cards = {name: card for about in abouts for name, card in about.get("perturbations", {}).items()}
    requests = [about.get("request", {}) for about in abouts]
    # One that outcomes ended makes the whole one that outcomes ended.
    request: Mapping[str, Any] = next((each for each in requests if stopped_how(each) != "planned"), {})
    each = [load(run) for run in runs]
    pairs = pl.concat([measured(run, episodes) for run, episodes in zip(runs, each, strict=True)])
    pairs = pairs.unique(ROW, keep="last", maintain_order=True)
    is_whole = all(is_finished(run) for run in runs)
    about = {"perturbations": cards, "request": request, "runs": abouts}
    return diagnose(pl.concat(each), about, because_of(runs), is_whole=is_whole, pairs=pairs)


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
                return f"of its failures that were run again: {pointed_to(found)}"
        return None

    return because


def _of_policy(
    episodes: pl.DataFrame, about: Mapping[str, Any], because: Because, stopped: Stopped, is_whole: bool
) -> Diagnosis:
    policy = str(episodes["policy"][0])
    prepared = with_variants(episodes, about.get("perturbations", {}))
    # What was run to decide on something is no sample of what a policy meets.
    sampled = prepared.filter(as_laid_out())
    table = situations(sampled)
    base = table.filter("is_base")
    headline = headline_of(sampled, stopped)
    success = headline.success
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
        types = [mode for mode in modes if mode.sort == "type"]
        tasks = base["task"].to_list()
        chance = chance_of(screened, tasks, [mode.has for mode in types]) if stopped == "planned" else None
        who = options(policy, about.get("runs", [about]))
        requests = [one.get("request", {}) for one in about.get("runs", [about])]
        diagnosed = [one for one in requests if SUITE in one.get("selectors", ())]
        seeds = max((int(one.get("seeds") or 1) for one in diagnosed), default=1)
        fresh_seed = max((int(one.get("first_seed") or 0) for one in diagnosed), default=0) + SEEDS_APART * seeds
        met = frozenset(context_of(row) for row in base.iter_rows(named=True))
        paired = prepared.filter(~as_laid_out())
        subject = Subject(
            base, screened, modes, types, own, because, who, seeds, fresh_seed, decided, paired, met, chance
        )
        findings = list(_findings(subject, decided, variants(table)))
        symptoms = list(symptoms_of(subject, findings))
    of_policy = with_missing_input(designed(episodes, about)).filter(as_laid_out() & pl.col("missing_input").is_null())
    judged = of_policy.filter(pl.col("outcome") != "error")
    return Diagnosis(
        policy=policy,
        episodes=len(episodes),
        errors=int((prepared["outcome"] == "error").sum()),
        success=success,
        findings=tuple(findings),
        symptoms=tuple(symptoms),
        excluded=tuple(
            Excluded(
                when(one.condition),
                one.condition.attribute,
                one.condition.levels,
                one.undone.pairs,
                one.put.pairs if one.put is not None and one.certainty == "excluded" else 0,
            )
            for one in decided
            if one.certainty in REFUTED and one.undone is not None and one.given is None
        ),
        resolution=evidence.resolution(table),
        screened=len(table),
        paired=len(prepared) - len(sampled),
        is_whole=is_whole,
        solved=int(judged["success"].sum()),
        judged=len(judged),
        by_episode=headline.by_episode,
        inputs=inputs_seen(episodes),
        compared_by=_compared_by(designed(episodes, about)),
        stress=stress_seen(variants(situations(sampled.filter(pl.col("suite") == SUITE))), decided),
    )


def _compared_by(episodes: pl.DataFrame) -> tuple[str, ...]:
    """Suites that held trials against others, in the order of their names."""
    rows = rows_of(episodes).filter(pl.col("variant").is_in(COMPARED) & (pl.col("suite") != SUITE))
    return tuple(rows["suite"].unique().sort())


def _features(row: Mapping[str, Any]) -> dict[str, str]:
    """With where it is in the tree of tasks: what no intervention can change, and only goes with failures."""
    found = {**features_of_row(row), "family": row["family"], "task": row["task"]}
    return found | ({"tier": f"{row['family']}/{row['tier']}"} if row["tier"] else {})


def _findings(subject: Subject, decided: Sequence[Tally], done: Sequence[Tally]) -> Iterator[Finding]:
    """What pairs decided, by what it explains; then what goes with failures that nothing explains yet."""
    failed = subject.screened.failed
    together = needing_both(decided)
    # What was shown to need another beside it is told with that.
    told = {one.condition for one in together}
    alone = [one for one in decided if one.given is None and one.certainty in DECIDED and one.condition not in told]
    shown = [*together, *alone]
    shown = told_apart(sorted(shown, key=lambda one: -evidence.share(one, subject.concerned(one), failed)))
    concerned = [subject.concerned(one) for one in shown]
    known = {one.condition for one in shown}
    suffices = [one for one in done if one.certainty == "sufficient" and one.condition not in known]
    every = [_finding(subject, one, _certainty(one), beside=shown) for one in shown]
    every += [_finding(subject, one, "cause") for one in suffices]
    causes = [one for one in every if one is not None]
    yield from sorted(causes, key=lambda one: (-one.share, one.name))
    explained = np.any([np.zeros_like(failed), *concerned], axis=0)
    names: set[str] = {one.name for one in causes}
    tested = {one.condition: one for one in decided if one.given is None}
    for suspect in suspects(subject.screened, [mode.has for mode in subject.types]):
        inside = subject.inside(suspect.condition)
        lost = inside & failed
        if (lost & explained).sum() >= EXPLAINED * lost.sum():
            continue
        tally = tested.get(suspect.condition)
        # One failure goes with everything that its trial has.
        if lost.sum() < LEAST_FAILURES or (tally is not None and tally.certainty in REFUTED):
            continue
        for certainty in _claims(subject, suspect, tally):
            finding = _finding(subject, tally or Tally(suspect.condition, 1), certainty, suspect, tested)
            if finding is not None:
                yield from () if finding.name in names else (finding,)
                names.add(finding.name)
                break


def _claims(subject: Subject, suspect: Suspect, tally: Tally | None) -> tuple[Certainty, ...]:
    """What may be said of it, the strongest first: it is said as far as its numbers support it."""
    if tally is not None:
        return ("undecided",)
    is_sure = subject.chance is not None and subject.chance(suspect.alone) <= SURE
    return ("associated", "suspected") if is_sure else ("suspected",)


def _counted(subject: Subject, suspect: Suspect | None, inside: Mask, is_tested: bool) -> FailureMode | None:
    """The way of failing that goes with a suspect, where that is not failing itself; pairs are about failing itself."""
    if suspect is None or not suspect.outcome:
        return None
    more = evidence.rates(subject.screened.failed, inside)[2].value or 0.0
    return None if is_tested and more > 0 else subject.types[suspect.outcome - 1]


def _certainty(tally: Tally) -> Certainty:
    """What is done to a policy can only be put in: there, to suffice is to be the cause."""
    is_done_to_it = tally.condition.attribute in (STRESS, CLOCK)
    return "cause" if tally.certainty == "sufficient" and is_done_to_it else tally.certainty


def _finding(
    subject: Subject,
    tally: Tally,
    certainty: Certainty,
    suspect: Suspect | None = None,
    tested: Mapping[Condition, Tally] | None = None,
    beside: Sequence[Tally] = (),
) -> Finding | None:
    """None where its numbers do not support a claim of this certainty."""
    condition, failed = tally.condition, subject.screened.failed
    inside = subject.concerned(tally)
    others = [one for one in beside if one is not tally]
    # Of what does not hold together with it anyway there is nothing to say.
    overlapping = [one.condition for one in others if (subject.concerned(one) & inside).any()]
    absent = evidence.tested_without(tally, overlapping, subject.paired)
    tested_inside = inside & ~np.any([np.zeros_like(failed), *(subject.inside(one) for one in absent)], axis=0)
    without = tuple(when(one) for one in absent)
    # How it fails for this reason: where others hold too, it may fail in their way.
    of_others = [subject.concerned(one) for one in others]
    own_failures = failed & inside & ~np.any([np.zeros_like(failed), *of_others], axis=0)
    counted = _counted(subject, suspect, inside, bool(tally.pairs))
    usual = mostly(own_failures if own_failures.sum() >= LEAST_OWN else failed & inside, subject.modes)
    mode = counted or usual
    # Beside the rate of all failures stands how most of all of them fail.
    typical = counted or mostly(failed & inside, subject.modes)
    name = named(condition, mode)
    own = next((one.says for one in subject.own if one.condition == condition), None)
    says = own or when(condition)
    happened, does = (failed, FAILS.says) if counted is None else (counted.has, counted.says)
    rates = evidence.rates(happened, inside)
    undo = evidence.of_pairs(tally.undo, tally.undone, 1, tally.tests)
    put_in = evidence.of_pairs(tally.put_in, tally.put, -1, tally.tests)
    if not supports(certainty, rates[2], undo, put_in):
        return None
    along, crossed = evidence.along(tally), evidence.crossed(tally, subject.decided, subject.paired)
    shown, lost = (subject.table.filter(pl.Series(inside & those)) for those in (happened, failed))
    tasks = shown["task"].value_counts().sort("count", "task", descending=[True, False])["task"].to_list()
    examples = evidence.examples(shown, mode)
    rivals = [one for one in (suspect.rivals if suspect else ()) if _is_open(one, tested or {})]
    return Finding(
        kind=name.kind.name,
        subject=name.subject,
        statement=statement(
            name, says, typical.says, certainty, undo, put_in, *rates[:2], along=along, crossed=crossed, counted=does
        )
        + (f" (Tested where it is not so that {' or '.join(without)}.)" if without else ""),
        attribute=condition.attribute,
        levels=condition.levels,
        given=None if tally.given is None else tally.given.name,
        when=says if crossed is None else f"{says} and {crossed.beside}",
        happens=mode.says,
        certainty=certainty,
        inside=rates[0],
        outside=rates[1],
        effect=rates[2],
        undo=undo,
        put_in=put_in,
        contexts=len(tally.contexts),
        new_contexts=len(tally.contexts.keys() - subject.contexts),
        is_general=certainty == "cause" and tally.is_general(subject.contexts),
        crossed=crossed,
        # What is recorded of the same thing in other words is no rival.
        rivals=tuple(when(one) for one in rivals if not _is_same(one, condition)),
        along=along,
        without=without,
        share=evidence.share(tally, tested_inside, failed),
        p=None if suspect is None or subject.chance is None else subject.chance(suspect.alone),
        examples=tuple((examples or [one.treated for one in tally.put_in if not one.treated_success])[:EXAMPLES]),
        pair=evidence.shown_best(tally, subject.paired, mode),
        is_below_chance=mode.is_choice and evidence.is_below_chance(lost, subject.table.filter(pl.Series(inside))),
        next_test=_next_test(subject, name.kind, name.subject, tasks, certainty),
        advice=(advice(condition, certainty, name.kind.advice) if is_worth_mending(certainty, undo, put_in) else ""),
        because=subject.because(shown["trial_id"].to_list()),
        panel=losses(tally),
        counted=does,
    )


def _next_test(subject: Subject, kind: FindingKind, about: str, tasks: Sequence[str], certainty: Certainty) -> str:
    """What would tell more; of what only goes with failures, what would decide; of a cause, further pairs.

    To run the tasks that a cause shows in again would change whatever else they have in common.
    """
    diagnose = f"robodx diagnose {subject.who.removeprefix('--policy ')}"
    if certainty in ("associated", "suspected") and not subject.decided:
        return diagnose
    if certainty == "undecided":
        # Only pairs decide, and these were too few.
        return f"{diagnose} --seeds {MORE_SEEDS * subject.seeds}"
    ask = NextTest(about, tasks or subject.table["task"].unique().sort().to_list(), subject.who)
    if kind.next_test is not None:
        return kind.next_test(ask)
    return f"{diagnose} --first-seed {subject.fresh_seed}" if certainty in DECIDED else ask.run()


def _is_same(one: Condition, other: Condition) -> bool:
    return bool(factors_of(one.attribute, one.levels) & factors_of(other.attribute, other.levels))


def _is_open(condition: Condition, tested: Mapping[Condition, Tally]) -> bool:
    return condition not in tested or tested[condition].certainty not in REFUTED
