"""Early stopping: a run continues in waves until intervals are narrow, or until a comparison has a verdict.

A rule looks at whole waves only, and at nothing but their episodes: a run that was killed goes on as it would have.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from robodx.analysis.compare import compare_tables
from robodx.analysis.statistics.sequential import confidence_sequence, stopped_how
from robodx.errors import UserError
from robodx.records.about import read_about
from robodx.records.folder import digest
from robodx.records.schema import APPLIED_COLUMNS, KEY
from robodx.records.table import is_finished, load
from robodx.records.trial import Trial
from robodx.records.values import read_applied
from robodx.running.request import Request

# The trials of a plan that may be run by now, given the episodes of the waves so far.
Rule = Callable[[list[Trial], pl.DataFrame], list[Trial]]
Group = tuple[object, ...]

FIRST_WAVE = 20
# A wave has a start of its own, in which workers wait: each is this much larger than all before it at least.
GROWTH = 0.25


def rule(request: Request) -> Rule | None:
    """What the request asks for, checked; None if all trials are to be run."""
    reference = None if request.against is None else load(request.against)
    if request.until_width is not None:
        _check_reachable(request.until_width, request.seeds)
        return UntilNarrow(request.until_width)
    if reference is None or request.against is None or not request.until_decided:
        return None
    if stopped_how(read_about(request.against).get("request", {})) != "planned":
        raise UserError(
            f"{request.against} itself stopped early on its outcomes, so it is not a fair sample: give a run with "
            "a planned number of episodes, or leave out --until-decided"
        )
    if not is_finished(request.against):
        raise UserError(f"{request.against} is not finished, so it is not a fair sample: finish it first")
    return UntilDecided(Path(request.against), reference, request.margin)


def seeds_of(run: Path) -> int:
    """How many seeds have all that a run has."""
    return 1 + max(load(run)["seed"], default=0)


def reference_digest(request: Request) -> str | None:
    """Changes if the run that this one is compared with does: then a resumed run might decide otherwise."""
    if request.against is None or not request.until_decided:
        return None
    return digest(f"{trial} {outcome}" for trial, outcome in load(request.against)["trial_id", "outcome"].iter_rows())


@dataclass(frozen=True)
class UntilNarrow:
    """Further seeds for each task under its stressors and clock, until its success rate is known to this width."""

    width: float

    def __call__(self, trials: list[Trial], done: pl.DataFrame) -> list[Trial]:
        return [trial for group in _groups(trials).values() for trial in group[: self._enough(group, done)]]

    def _enough(self, group: list[Trial], done: pl.DataFrame) -> int:
        seen = done.filter(pl.col("trial_id").is_in([trial.id for trial in group]))
        if seen.is_empty():
            return FIRST_WAVE
        valid = (
            seen.filter(pl.col("outcome") != "error")
            .sort("seed")
            .unique(["instructions", "trajectory_hash"], keep="first", maintain_order=True)
        )
        estimate = confidence_sequence(int(valid["success"].sum()), len(valid))
        if estimate.low is None or estimate.high is None:
            return 2 * len(seen)
        width = estimate.high - estimate.low
        # A task that has shown all its situations would go on for ever: the last wave brought none that is new.
        is_exhausted = int(valid["seed"].to_numpy().max()) < len(seen) / (1 + GROWTH)
        if width <= self.width or is_exhausted:
            return len(seen)
        # Intervals shrink with the root of n. What was seen of few says little of how many it will take.
        wanted = math.ceil(len(seen) * (width / self.width) ** 2)
        return min(max(wanted, math.ceil((1 + GROWTH) * len(seen))), 2 * len(seen))


@dataclass(frozen=True)
class UntilDecided:
    """The trials that another run has, in an order by chance, until it is decided which policy is better, or neither.

    At the end of each wave every group has had the same share of its trials, so that the tasks count throughout as
    they do in the end.
    """

    run: Path
    reference: pl.DataFrame
    margin: float

    def __call__(self, trials: list[Trial], done: pl.DataFrame) -> list[Trial]:
        shared = self._shared(trials)
        groups = _groups(shared)
        # A trial's id is a digest: its order is one by chance, and that of no outcome.
        shares = {
            trial.id: (rank + 0.5) / len(group)
            for group in groups.values()
            for rank, trial in enumerate(sorted(group, key=lambda trial: trial.id))
        }
        order = sorted(shared, key=lambda trial: (shares[trial.id], trial.id))
        seen = done.filter(pl.col("trial_id").is_in(list(shares)))
        if not seen.is_empty() and self._is_decided(seen):
            return order[: len(seen)]
        return order[: _next(len(seen), len(groups))]

    def _is_decided(self, seen: pl.DataFrame) -> bool:
        verdict = compare_tables(self.reference, seen, margin=self.margin, stopped="together").overall.verdict
        return verdict is not None and verdict.word != "undecided"

    def _shared(self, trials: list[Trial]) -> list[Trial]:
        valid = self.reference.filter(pl.col("outcome") != "error")
        theirs = {
            tuple(read_applied(value) if name in APPLIED_COLUMNS else value for name, value in row.items())
            for row in valid.select(KEY).iter_rows(named=True)
        }
        shared = [trial for trial in trials if tuple(getattr(trial, name) for name in KEY) in theirs]
        seeds = sorted(valid["seed"])
        if not seeds:
            raise UserError(f"{self.run} has no episodes to compare with")
        if trials and not shared:
            raise UserError(
                f"{self.run} has none of these trials, so there is nothing to compare: it has seeds "
                f"{seeds[0]} … {seeds[-1]} of {', '.join(sorted(set(valid['task'])))}"
            )
        return shared


def _next(seen: int, groups: int) -> int:
    """How many trials there are after the next wave, a whole number for each group."""
    return groups * math.ceil((seen + max(FIRST_WAVE, GROWTH * seen)) / groups)


def _groups(trials: list[Trial]) -> dict[Group, list[Trial]]:
    groups: dict[Group, list[Trial]] = {}
    for trial in trials:
        # A suite may repeat situations as a variant of their own.
        key = (
            trial.task,
            trial.task_version,
            trial.robot,
            trial.repeat,
            trial.perturbations,
            trial.clock,
            trial.interventions,
        )
        groups.setdefault(key, []).append(trial)
    return groups


def _check_reachable(width: float, seeds: int) -> None:
    def best(n: int) -> float:
        estimate = confidence_sequence(n, n)
        return 1 - (estimate.low or 0.0)

    if best(seeds) > width:
        fewest = seeds
        while best(fewest) > width:
            fewest = math.ceil(1.1 * fewest)
        raise UserError(
            f"{seeds} situations per task are too few for an interval of width {width:g}: even a success rate of 100% "
            f"takes about {fewest}; raise --seeds"
        )
