"""The design of runs without a design table, derived with the rules of the versions that wrote none."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

import polars as pl

from robodx.errors import UserError
from robodx.records.design import COLUMN, Planned, Variant, design_table, with_design
from robodx.records.trial import Trial
from robodx.records.values import Applied, as_factors, settled

# Of every five repeats of the suite `stress` the second tried again what the first did, without stress.
VARIANTS = 5
AGAIN = 1
# The two rounds of a diagnosis were told apart by the name of the suite.
ROUNDS: dict[str, Variant] = {"diagnosis": "screening", "confirmation": "confirmation"}
LOCKSTEP = "lockstep"
NEEDED = ("trial_id", "task", "task_version", "policy", "seed", "robot", "repeat", "perturbations", "suite", "clock")


def designed(episodes: pl.DataFrame, about: Mapping[str, Any]) -> pl.DataFrame:
    """Episodes with their design, derived where they come without one; `about` is their run's run.json."""
    return episodes if COLUMN in episodes.columns else with_design(episodes, derived(episodes, about))


def derived(episodes: pl.DataFrame, about: Mapping[str, Any]) -> pl.DataFrame:
    asked = len(about.get("request", {}).get("perturbations", ()))
    cards = about.get("perturbations", {})
    trials: list[Trial] = []
    stored: dict[str, str] = {}
    for row in episodes.select(*NEEDED).iter_rows(named=True):
        # What no trial can be was damaged, and was for nothing that could be told.
        with suppress(UserError, ValueError, TypeError):
            trials.append(Trial.of_row(row))
            stored[trials[-1].id] = row["trial_id"]
    has_waited = {trial.policy for trial in trials if trial.clock == LOCKSTEP}
    rows = design_table(_planned(trial, asked, cards, trial.policy in has_waited) for trial in trials)
    # By the ids that they are stored under.
    return rows.with_columns(pl.col("trial_id", "source_id").replace(stored))


def _planned(trial: Trial, asked: int, cards: Mapping[str, Mapping[str, Any]], has_waited: bool) -> Planned:
    further = trial.perturbations[asked:]
    factors = as_factors(further)
    if trial.suite in ROUNDS:
        return Planned(trial, ROUNDS[trial.suite], suite="diagnosis", factors=factors)
    clean = replace(trial, repeat=_first(trial), perturbations=trial.perturbations[:asked])
    if any(cards.get(name, {}).get("kind") == "substitution" for name, _ in further):
        return Planned(trial, "substituted", clean, factors)
    if further:
        return Planned(trial, "stressed", clean, factors, level=_level(further, cards))
    if trial.suite == "stress" and trial.repeat % VARIANTS == AGAIN:
        return Planned(trial, "repeated", clean)
    if trial.suite == "stress" and trial.clock != LOCKSTEP and has_waited:
        return Planned(trial, "stressed", replace(trial, clock=LOCKSTEP), (("clock", trial.clock),))
    return Planned(trial)


def _first(trial: Trial) -> int:
    return trial.repeat - trial.repeat % VARIANTS if trial.suite == "stress" else 0


def _level(applied: tuple[Applied, ...], cards: Mapping[str, Mapping[str, Any]]) -> str | None:
    """The name of the level of the one that was applied."""
    if len(applied) != 1:
        return None
    ((name, value),) = applied
    return next(
        (level for level, severity in cards.get(name, {}).get("levels", {}).items() if settled(severity) == value), None
    )
