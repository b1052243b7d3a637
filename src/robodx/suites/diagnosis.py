"""What is wrong with the policy: a screening of all tasks and of the factorial, then pairs that decide on causes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, replace

import polars as pl

from robodx.analysis.findings.conditions import Condition
from robodx.analysis.findings.prepare import with_variants
from robodx.analysis.null_inputs import ON, nulls_of
from robodx.errors import UserError
from robodx.interventions.base import INTERVENTIONS
from robodx.perturbations.base import PERTURBATIONS
from robodx.policy_contract import PolicySpec
from robodx.records.design import Planned
from robodx.records.trial import Trial
from robodx.records.values import as_factors
from robodx.suites.base import SuiteRequest, select, suite
from robodx.suites.deciding import Deciding
from robodx.suites.pairs import GENERATED, SUITE, changed_features
from robodx.suites.stress import CARRIERS, pursuits
from robodx.tasks.base import TASKS, Task

# Situations of the factorial in the screening, for each situation of the other tasks.
FACTORIAL = 110
# Stressors are screened at this level, each in one situation that is screened without it as well.
STRESS_LEVEL = "v2"
# Situations in which an input is taken away, of those that need a choice.
NULLED = 6
CHOICE = "choice"
# What is around the things, and much the same in most situations: each is changed once, beside one that was solved.
SURROUNDINGS = ("room", "camera", "light brightness", "light colour", "light side")


@suite(SUITE, grows=True)
def diagnosis(done: pl.DataFrame, request: SuiteRequest) -> Iterable[Planned]:
    """Screens all tasks and generated situations, then decides on causes by pairs; a part: `diagnosis/language`."""
    if request.repeats > 1:
        raise UserError("a diagnosis has no --repeats, because it tests on fresh situations: give more --seeds")
    tasks = select(request.within, TASKS.entries())
    screening = _screening(done, request, tasks)
    screened = done.filter(pl.col("trial_id").is_in([one.trial.id for one in screening]))
    # Tasks that say nothing of such a policy were asked for and are never run.
    met = set(done["task"])
    if not met or len(screened) < sum(one.trial.task in met for one in screening):
        return screening
    cards = {entry.name: {"kind": entry.kind, "levels": dict(entry.levels)} for entry in PERTURBATIONS.entries()}
    usable = [task.id for task in tasks if task.id in met]
    fresh = request.first_seed + FACTORIAL * request.seeds
    changed = dict(_surrounded(screened, request))
    asked = [*screening, *_without_inputs(screened, request), *changed.values()]
    outcomes = dict(done.select("trial_id", "outcome").iter_rows())
    if any(one.trial.id not in outcomes for one in changed.values()):
        return asked
    costly = [one for one, planned in changed.items() if outcomes[planned.trial.id] in ("failure", "timeout")]
    decided = Deciding(with_variants(screened, cards), request, usable, fresh, costly).plan(done)
    return [*asked, *decided]


def _surrounded(screened: pl.DataFrame, request: SuiteRequest) -> Iterator[tuple[Condition, Planned]]:
    """Of a policy that is shown pictures: something that it solved, with another room, camera or light."""
    if request.spec is None or not request.spec.cameras:
        return
    is_plain = pl.col("perturbations").list.len() == len(request.perturbations)
    solved = screened.filter(pl.col("success") & is_plain & (pl.col("clock") == request.clock))
    trials = [Trial.of_row(row) for row in solved.sort("task", "seed", "trial_id").iter_rows(named=True)]
    # The carriers are easy: what is lost there is not lost by chance.
    sources = sorted(trials, key=lambda trial: (trial.task not in CARRIERS, trial.task == GENERATED))[: len(CARRIERS)]
    for turn, name in enumerate(SURROUNDINGS if sources else ()):
        source = sources[turn % len(sources)]
        for value, levels in reversed([*INTERVENTIONS[name].values.items()]):
            if changed_features(source.task, source.seed, name, value) is not None:
                ((attribute, level),) = levels.items()
                trial = replace(source, interventions=((name, value),))
                factors = (("intervention", name), ("value", value))
                yield Condition(attribute, (level,)), Planned(trial, "follow-up", source, factors, name, suite=SUITE)
                break


def _without_inputs(screened: pl.DataFrame, request: SuiteRequest) -> Iterator[Planned]:
    """A few situations of the factorial that it solves, with one of its inputs taken away."""
    is_choice = pl.col("requirements").list.contains(CHOICE)
    solved = screened.filter((pl.col("task") == GENERATED) & pl.col("success") & is_choice)
    sources = [Trial.of_row(row) for row in solved.sort("seed").head(NULLED).iter_rows(named=True)]
    for name, level in _nulls(request.spec or PolicySpec()):
        null = (name, 1.0 if level == ON else level)
        for source in sources:
            trial = replace(source, perturbations=(*source.perturbations, null))
            yield Planned(trial, "stressed", source, as_factors([null]), level, suite=SUITE)


def _nulls(spec: PolicySpec) -> Iterator[tuple[str, str]]:
    """Words of another task, no picture at all, a state that stays: of each input one."""
    nulls = list(nulls_of(asdict(spec)))
    pictures = [one for one in nulls if one[0] == "camera_blank"]
    return (one for one in nulls if one[0] in ("other_words", "frozen_state") or one in pictures[-1:])


def _screening(done: pl.DataFrame, request: SuiteRequest, tasks: list[Task]) -> list[Planned]:
    """Also in real time where real time matters, once it is known how long the policy thinks."""
    generated = [task for task in tasks if task.id == GENERATED]
    others = [task for task in tasks if task.id != GENERATED]
    realtime = [task.id for task in tasks if task.family == "pursuit"]
    every = [
        *map(Planned, request.trials(others, SUITE)),
        *map(Planned, replace(request, seeds=FACTORIAL * request.seeds).trials(generated, SUITE)),
        *(pursuits(done, request, realtime) if realtime else ()),
        *_stressed(request, others),
    ]
    return list(
        {
            one.trial.id: replace(one, trial=replace(one.trial, suite=SUITE), variant="screening", suite=SUITE)
            for one in every
        }.values()
    )


def _stressed(request: SuiteRequest, tasks: Sequence[Task]) -> Iterator[Planned]:
    """Each stressor once; those of pictures only where a policy is shown some."""
    there = {task.id: task for task in tasks}
    has_cameras = request.spec is None or bool(request.spec.cameras)
    for turn, entry in enumerate(entry for entry in PERTURBATIONS.entries() if entry.is_stressor):
        carrier = there.get(CARRIERS[turn % len(CARRIERS)])
        if carrier is not None and (has_cameras or entry.kind != "sensor"):
            (source,) = replace(request, seeds=1).trials([carrier], SUITE)
            stressor = (entry.name, entry.levels[STRESS_LEVEL])
            trial = replace(source, perturbations=(*source.perturbations, stressor))
            yield Planned(trial, "stressed", source, as_factors([stressor]), STRESS_LEVEL)
