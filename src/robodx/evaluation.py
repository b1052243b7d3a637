"""Evaluation from Python, as in a training loop: a policy object in, its episodes and rates out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import polars as pl

from robodx.analysis.findings.base import Diagnosis
from robodx.analysis.findings.diagnose import diagnose
from robodx.analysis.notebook import results_html
from robodx.analysis.statistics.estimates import Estimate
from robodx.analysis.stress import StressTable
from robodx.analysis.summary import Row, Summary, success_rate
from robodx.errors import UserError
from robodx.policy_contract import MinimalPolicy, Policy, checked, opened
from robodx.running.description import perturbation_cards
from robodx.running.loop import collect
from robodx.running.reference import ExpertReference
from robodx.running.request import Request
from robodx.running.rounds import Rounds
from robodx.running.run import check


@dataclass(frozen=True)
class Results:
    """What an evaluation found; `episodes` is the table that a run folder would hold."""

    episodes: pl.DataFrame
    # Tasks that were left out, because they say nothing of a policy without language.
    not_applicable: tuple[str, ...] = ()

    @property
    def success(self) -> Estimate:
        return success_rate(self.episodes)

    @property
    def tasks(self) -> list[Row]:
        return self.summary.rows()

    @property
    def stress(self) -> StressTable | None:
        """What stress costs, where the suite is `stress`."""
        return self.summary.stress

    @property
    def diagnosis(self) -> Diagnosis:
        """What is wrong with it; most surely where the suite is `diagnosis`."""
        (found,) = diagnose(self.episodes, self._about)
        return found

    @property
    def summary(self) -> Summary:
        return Summary(self.episodes, self._about)

    @property
    def _about(self) -> dict[str, Any]:
        return {"request": {"perturbations": []}, "perturbations": perturbation_cards(), "tasks": {}}

    def __str__(self) -> str:
        rows = [(f"{row.task} {row.perturbations}".strip(), row.success) for row in self.tasks]
        width = max((len(name) for name, _ in rows), default=0)
        return "\n".join(f"{name:{width}}  {success}  n = {success.n}" for name, success in rows)

    def _repr_html_(self) -> str:
        summary = self.summary
        return results_html(summary.headlines(), summary.rows(), self.not_applicable)


def evaluate(
    policy: MinimalPolicy | str,
    suite: str = "capability",
    *,
    seeds: int = 5,
    batch: int = 1,
    clock: str = "lockstep",
    preset: str | None = None,
) -> Results:
    """Run a policy, an object or a name, on a suite, a family or a task, in this process and in memory.

    The episodes are those of `robodx run SUITE --policy NAME`, bit for bit; nothing is written. From a batch of 2 on
    the policy is called in another thread: contexts that belong to a thread, as torch's, are entered in its methods.
    """
    if isinstance(policy, str):
        with opened(policy, preset) as made:
            return _evaluate(made, Request((suite,), policy, seeds, clock=clock, batch=batch, preset=preset))
    if preset is not None:
        raise UserError(
            f'a preset ("{preset}") is for a policy that is named; an object speaks RoboDx\'s own conventions'
        )
    named = Request((suite,), type(policy).__name__, seeds, clock=clock, batch=batch)
    return _evaluate(checked(policy, "the policy"), named)


def _evaluate(policy: Policy, request: Request) -> Results:
    rounds = Rounds(request, policy.spec)
    check(request, policy.spec, rounds.first, workers=1)
    return Results(collect(policy, rounds, [ExpertReference()]), tuple(rounds.not_applicable))
