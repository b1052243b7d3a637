"""Proof by planted faults: policies with a known deficit go through the diagnosis, which does not know of it."""

from __future__ import annotations

import signal
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from itertools import combinations
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import polars as pl

from robodx.analysis.findings.diagnose import diagnose
from robodx.analysis.findings.thresholds import THRESHOLDS, Thresholds
from robodx.analysis.findings.validation import Expected, Group, Verdict, judge
from robodx.errors import UserError
from robodx.faults.base import FAULTS, planted
from robodx.policies.base import opened
from robodx.running import files
from robodx.running.records import to_table
from robodx.running.rollout import rollout
from robodx.running.run import Request, perturbation_cards, plan_round
from robodx.running.threads import pin

SUITE = "diagnosis"
SCREENING_SEEDS = 3
# Seeds of one set, so that no two sets share any.
SET = 1000
# Faults and thresholds were looked at on the seeds before, and from a million on; what is reported begins here.
FIRST_SET = 101
MOST_EPISODES = 500
NOISE = "noisy_healthy"
WEAK_BASE = f"{NOISE}=0.4"


@dataclass(frozen=True)
class Case:
    """A policy with something planted, or nothing, on one set of seeds."""

    group: Group
    planted: str
    seed_set: int

    @property
    def expected(self) -> tuple[Expected, ...]:
        return tuple(Expected(*each.entry.expected) for each in planted(self.planted) if each.entry.expected)

    @property
    def name(self) -> str:
        return f"{self.planted.replace('=', '-')}.{self.seed_set}"


def faults() -> list[str]:
    return [entry.name for entry in FAULTS.entries() if entry.expected is not None]


def design(
    *,
    sets: int = 5,
    weak_sets: int = 1,
    healthy: int = 60,
    pairs: int = 30,
    only: Sequence[str] = (),
    first_set: int = FIRST_SET,
) -> list[Case]:
    """Each fault alone and on a weak base on so many sets, so many pairs, and healthy policies, a set each.

    `only` narrows it to these faults. A pair of faults that cause the same finding is none.
    """
    names = [name for name in faults() if not only or name in only]
    for name in only:
        FAULTS[name]
    alone, weak = range(first_set, first_set + sets), range(first_set, first_set + weak_sets)
    cases = [Case("one fault", name, number) for name in names for number in alone]
    cases += [Case("weaker base", f"{name}+{WEAK_BASE}", number) for name in names for number in weak]
    both = [(a, b) for a, b in combinations(names, 2) if FAULTS[a].expected != FAULTS[b].expected]
    # The last of them: the first were looked at while the search was written.
    chosen = np.random.default_rng(0).permutation(len(both))[max(0, len(both) - pairs) :]
    cases += [Case("two faults", "+".join(both[index]), first_set + turn % sets) for turn, index in enumerate(chosen)]
    kinds = ("healthy", NOISE, WEAK_BASE)
    cases += [Case("no fault", kinds[turn % len(kinds)], first_set + turn) for turn in range(healthy)]
    return cases


def validate(cases: Sequence[Case], out: Path, *, workers: int = 1) -> Iterator[Verdict]:
    """Each case as it is done. Its episodes are kept in the folder, so that the same call later runs only the rest."""
    out.mkdir(parents=True, exist_ok=True)
    missing = [case for case in cases if not (out / f"{case.name}.parquet").exists()]
    yield from (judged(case, out) for case in cases if case not in set(missing))
    if not missing:
        return
    with ProcessPoolExecutor(workers, get_context("spawn"), initializer=_begin) as pool:
        waiting = {pool.submit(_run, case, out): case for case in missing}
        try:
            for future in as_completed(waiting):
                future.result()
                yield judged(waiting[future], out)
        finally:
            pool.shutdown(cancel_futures=True)


def _begin() -> None:
    pin()
    # The parent hears of Ctrl-C, and lets those who have begun finish.
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _run(case: Case, out: Path) -> None:
    """The rounds of a diagnosis in memory; only the table of episodes is kept."""
    name = f"fault:{case.planted}"
    request = Request((SUITE,), name, SCREENING_SEEDS, first_seed=SET * case.seed_set)
    table = to_table([])
    with opened(name) as policy:
        while True:
            known = set(table["trial_id"])
            trials = [trial for trial in plan_round(request, table, policy.spec) if trial.id not in known]
            if not trials:
                break
            table = pl.concat([table, to_table([one.episode for one in rollout(trials, policy)])])
    if len(table) > MOST_EPISODES:
        raise UserError(f"the diagnosis of {name} took {len(table)} episodes, more than {MOST_EPISODES}")
    with files.beside(out / f"{case.name}.parquet") as path:
        # Events are most of a table, and no finding reads them.
        table.with_columns(events=pl.lit([], dtype=table.schema["events"])).write_parquet(path)


def judged(case: Case, out: Path, thresholds: Thresholds = THRESHOLDS) -> Verdict:
    """What its episodes alone say, held against what was planted."""
    table = pl.read_parquet(out / f"{case.name}.parquet")
    (found,) = diagnose(table, {"perturbations": perturbation_cards()}, thresholds=thresholds)
    return judge(case.group, case.planted, case.expected, found)
