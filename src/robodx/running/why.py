"""Causes of failures: a sample of failed trials runs again, with one component at a time made perfect."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from robodx.analysis.causes import (
    AGAIN,
    FOLDER,
    SUBSTITUTES,
    SUBSTITUTION,
    Causes,
    Variant,
    causes_of,
    changed,
    kinds_of,
    sample,
)
from robodx.errors import UserError
from robodx.policy_contract import POLICIES, PolicySpec
from robodx.records.about import read_about
from robodx.records.design import Planned
from robodx.records.table import load
from robodx.records.trial import Trial
from robodx.registry import UnknownName, unknown
from robodx.running.description import perturbation_cards
from robodx.running.environment import Environment
from robodx.running.loop import RunObserver
from robodx.running.request import Request
from robodx.running.run import Execution
from robodx.running.run import run as execute_run
from robodx.scoring.events import NewInstruction
from robodx.scoring.parts import grasped_in
from robodx.wires.preset_files import shipped

EPISODES = 40


def why(
    run: Path,
    *,
    out: Path | None = None,
    episodes: int = EPISODES,
    only: Sequence[str] = (),
    policy: str | None = None,
    preset: str | None = None,
    plugins: tuple[str, ...] = (),
    workers: int = 1,
    observers: Sequence[RunObserver] = (),
    tell: Callable[[str], None] = lambda line: None,
) -> Causes:
    """What each substitution recovers of up to so many failed trials; the trials are kept in RUN/why, and resumed.

    Asked for more, it runs only what is not there yet: a smaller sample is the beginning of a larger one.
    """
    about, table = read_about(run, needs=("request.policy", "request.seeds", "policy_spec.hz")), load(run)
    names = [one.name for one in SUBSTITUTES]
    for name in only:
        if name not in names:
            raise UnknownName(unknown("substitution", name, names))
    kinds = kinds_of({"perturbations": perturbation_cards()})
    failed = sample(table, episodes, kinds)
    if failed.is_empty():
        raise UserError(f"{run} has no failed episode to repeat")
    request = _request(run, about["request"], policy, preset, plugins)
    hz = float(about["policy_spec"]["hz"])
    # One that no trial of the run has: the variants share it, and were not chosen for the luck that it brought.
    repeat = 1 + max(table["repeat"])
    planned = [
        one
        for row in failed.iter_rows(named=True)
        for one in _variants(row, changed(row, kinds), repeat, only or names, hz)
    ]
    folder, execution = out or run / FOLDER, Execution(workers=workers)
    done = execute_run(request, folder, execution, observers=observers, planned=planned, tell=tell)
    return causes_of(failed, done, kinds)


def failed_trials(run: Path) -> int:
    """How many there are to ask about: each situation once."""
    table = load(run)
    return len(sample(table, len(table), kinds_of({"perturbations": perturbation_cards()})))


def _variants(
    row: Mapping[str, Any], variants: Mapping[str, Variant], repeat: int, only: Sequence[str], hz: float
) -> list[Planned]:
    failed = Trial.of_row(row)
    trials = {
        name: replace(failed, repeat=repeat, perturbations=variant.perturbations, suite=FOLDER, clock=variant.clock)
        for name, variant in variants.items()
        if name == AGAIN or name in only
    }
    plain = Environment(trials[AGAIN], PolicySpec(hz=hz))
    return [
        Planned(trial, "repeated", failed)
        if name == AGAIN
        else Planned(trial, "substituted", trials[AGAIN], ((SUBSTITUTION, name),))
        for name, trial in trials.items()
        if _is_applicable(name, trial, plain)
    ]


def _is_applicable(name: str, trial: Trial, plain: Environment) -> bool:
    """Whether there is anything to be made better: words may be plain already, and a target alone."""
    if name == "expert_grasps":
        return any(grasped_in(stage) for stage in plain.score.stages)
    if name not in ("plain_words", "lone_target"):
        return True
    other = Environment(trial, plain.spec)
    is_changed = (other.instruction_updates, other.meanings) != (plain.instruction_updates, plain.meanings)
    if name == "lone_target":
        return is_changed or other.simulation.scene != plain.simulation.scene
    return is_changed or any(isinstance(event.effect, NewInstruction) for event in plain.events)


def _request(
    run: Path, asked: Mapping[str, Any], policy: str | None, preset: str | None, plugins: tuple[str, ...]
) -> Request:
    """As the run was asked for; how its policy is made is told by its name, if that is not one of the user's."""
    label = str(asked["policy"])
    needed = [Path(name).name for name in dict(asked.get("plugins", ()))]
    if missing := [name for name in needed if name not in [Path(each).name for each in plugins]]:
        raise UserError(f"{run} used plugins: give --plugin {' --plugin '.join(missing)} here too")
    if policy is None:
        made, _, conventions = label.partition("#")
        if made.partition(":")[0] not in POLICIES:
            raise UserError(
                f'{run} records only the name "{label}" of its policy, not how to load it: give --policy too'
            )
        if conventions and preset is None and conventions not in shipped():
            raise UserError(f'{run} used your own preset "{conventions}": give its file with --preset')
        policy, preset = made, preset or conventions or None
    request = Request(
        # Its trials are brought along, and may become more.
        selectors=(),
        policy=policy,
        preset=preset,
        seeds=asked["seeds"],
        perturbations=tuple((name, severity) for name, severity in asked.get("perturbations", ())),
        plugins=plugins,
        # Older runs say less: what they do not was as it is unless asked for.
        **{name: asked[name] for name in ("robot", "clock", "quality", "batch") if name in asked},
    )
    return request if request.label == label else Request(**{**vars(request), "name": label})
