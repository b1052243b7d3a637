"""Validation with planted faults: policies with a known fault go through the diagnosis, which does not know it."""

from __future__ import annotations

import csv
import signal
import time
from collections.abc import Callable, Collection, Generator, Iterator, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import combinations
from multiprocessing import active_children, get_context, resource_tracker
from pathlib import Path

import numpy as np
import polars as pl

from robodx.analysis.findings.decisions import tallies
from robodx.analysis.findings.diagnose import diagnose
from robodx.analysis.findings.validation import Expected, Group, Verdict, judge, temptation
from robodx.errors import UserError
from robodx.faults.base import FAULTS, planted
from robodx.policy_contract import opened
from robodx.records import files
from robodx.records.design import COLUMN, design_table, rows_of, with_design
from robodx.records.folder import locked
from robodx.records.schema import SCHEMA
from robodx.records.table import load_readable
from robodx.records.trial import Trial
from robodx.registry import load_plugin
from robodx.running.description import perturbation_cards
from robodx.running.loop import collect
from robodx.running.observers import Finished
from robodx.running.reference import ExpertReference
from robodx.running.request import Request
from robodx.running.rounds import Rounds
from robodx.running.threads import pin
from robodx.running.workers import settle
from robodx.suites.pairs import GENERATED
from robodx.user_files import read_user_file

SUITE = "diagnosis"
SCREENING_SEEDS = 1
# Seeds of one set, so that no two sets share any.
SET = 1500
# Faults and thresholds were looked at on the seeds before, and from a million on; what is reported begins here.
FIRST_SET = 101
# And so of the pairs, in random order.
FIRST_PAIR = 105
MOST_EPISODES = 500
LOOK_EVERY_S = 0.05
NOISE = "noisy_healthy"
WEAK_BASE = f"{NOISE}=0.4"
# Policies that fail by luck alone, which any change of a trial redraws.
NULLS: tuple[Group, ...] = (
    "luck_by_task", "luck_by_sentence", "luck_by_family", "luck_by_picture", "stops_per_second", "stops_per_grasp",
)  # fmt: skip
FLAKY = ("flaky=0.02", "flaky=0.4")


@dataclass(frozen=True)
class Case:
    """A policy with something planted, or nothing, on one set of seeds."""

    group: Group
    planted: str
    seed_set: int
    # Of a held-out fault: its factor and level, as its author noted them.
    factor: tuple[str, str] | None = None

    @property
    def expected(self) -> tuple[Expected, ...]:
        if self.factor is not None:
            return (Expected(attribute=self.factor[0], level=self.factor[1]),)
        names = (each.entry.expected for each in planted(self.planted))
        return tuple(Expected(": ".join(filter(None, name))) for name in names if name)

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
    nulls: int = 20,
    held_out: Mapping[str, tuple[str, str]] | None = None,
    held_out_sets: int = 2,
    earlier: Mapping[str, tuple[str, str]] | None = None,
    only: Sequence[str] = (),
    first_set: int = FIRST_SET,
) -> list[Case]:
    """Each fault alone and on a weak base on so many sets, so many pairs, and policies without a cause.

    `nulls` is how many of each kind fail by luck alone.
    Faults by others are held out, or were so until a diagnosis was mended that had been scored on them: `earlier`.
    `only` narrows it to these faults. A pair of faults that cause the same finding is none.
    """
    names = [name for name in faults() if not only or name in only]
    for name in only:
        if FAULTS[name].expected is None:
            raise UserError(
                f'the fault "{name}" should cause no finding; faults that should are: {", ".join(faults())}'
            )
    alone, weak = range(first_set, first_set + sets), range(first_set, first_set + weak_sets)
    cases = [Case("one fault", name, number) for name in names for number in alone]
    cases += [Case("weaker base", f"{name}+{WEAK_BASE}", number) for name in names for number in weak]
    both = [(a, b) for a, b in combinations(names, 2) if FAULTS[a].expected != FAULTS[b].expected]
    chosen = np.roll(np.random.default_rng(0).permutation(len(both)), -FIRST_PAIR)[:pairs]
    cases += [Case("two faults", "+".join(both[index]), first_set + turn % sets) for turn, index in enumerate(chosen)]
    kinds = ("healthy", *FLAKY)
    cases += [Case("no fault", kinds[turn % len(kinds)], first_set + turn) for turn in range(healthy)]
    cases += [
        Case(kind, f"{kind}={turn + 1}", first_set + turn % max(sets, 1)) for kind in NULLS for turn in range(nulls)
    ]
    by_others: tuple[tuple[Group, Mapping[str, tuple[str, str]] | None], ...] = (
        ("held-out fault", held_out),
        ("earlier held-out fault", earlier),
    )
    cases += [
        Case(group, name, number, factor)
        for group, faults in by_others
        for name, factor in (faults or {}).items()
        for number in range(first_set, first_set + held_out_sets)
    ]
    if not cases:
        raise UserError("nothing to validate: the options select no runs")
    return cases


def read_held_out(table: Path) -> dict[str, tuple[str, str]]:
    """Factor and level of each fault in a CSV file; the faults themselves are in a plugin of the same name."""
    try:
        rows = list(csv.DictReader(read_user_file(table).splitlines()))
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"the table of held-out faults {table} cannot be read: {error}") from error
    columns = ("name", "factor", "level")
    if not rows or any(not row.get(column) for row in rows for column in columns):
        raise UserError(f"{table} must have the columns {', '.join(columns)}, and none of them may be empty")
    load_plugin(plugin_of(table))
    return {row["name"]: (row["factor"], row["level"]) for row in rows}


def plugin_of(table: Path) -> str:
    return str(table.with_suffix(".py").resolve())


def validate(
    cases: Sequence[Case],
    out: Path,
    *,
    workers: int = 1,
    stopping: Callable[[int], None] = lambda begun: None,
    plugins: Sequence[str] = (),
) -> Generator[Verdict, None, None]:
    """Each case as it is done. Its episodes are kept in the folder, so that the same call later runs only the rest.

    Interrupted, it tells `stopping` how many have begun, and lets these finish; interrupted again, it ends them.
    """
    out.mkdir(parents=True, exist_ok=True)
    # Those of one set together, for what the expert needs in its situations is computed once.
    missing = sorted(
        (case for case in cases if not (out / f"{case.name}.parquet").exists()), key=lambda case: case.seed_set
    )
    yield from (judged(case, out) for case in cases if case not in set(missing))
    if not missing:
        return
    with locked(out), ProcessPoolExecutor(workers, get_context("spawn"), _begin, (plugins,)) as pool:
        begun: dict[Future[None], Case] = {}
        try:
            while missing or begun:
                # Never more than there are workers: one that waits in the pool's own queue could not be taken back.
                while missing and len(begun) < workers:
                    case = missing.pop(0)
                    with _undisturbed():
                        begun[pool.submit(_run, case, out)] = case
                for future in _done(begun):
                    case = begun.pop(future)
                    future.result()
                    yield judged(case, out)
        except (KeyboardInterrupt, GeneratorExit):
            _finish([future for future in begun if not future.done()], stopping)
            raise


@contextmanager
def _undisturbed() -> Iterator[None]:
    """Processes that are started here hear of no Ctrl-C while they import; one that comes meanwhile is raised after."""
    resource_tracker.ensure_running()  # when it starts, it lets the signal through again
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _begin(plugins: Sequence[str]) -> None:
    pin()
    settle()
    for plugin in plugins:
        load_plugin(plugin, is_known=True)


def _done(begun: Collection[Future[None]]) -> list[Future[None]]:
    """Those that have ended, of which there is one at least.

    Asked for now and then: an interrupt while `concurrent.futures.wait` takes all their locks would leave them locked.
    """
    while not (done := [future for future in begun if future.done()]):
        time.sleep(LOOK_EVERY_S)
    return done


def _finish(begun: Sequence[Future[None]], stopping: Callable[[int], None]) -> None:
    if not begun:
        return
    try:
        stopping(len(begun))
        while not all(future.done() for future in begun):
            time.sleep(LOOK_EVERY_S)
    except KeyboardInterrupt:
        # None is lost that is finished: a table is written whole or not at all.
        for worker in active_children():
            worker.kill()
        raise


def _run(case: Case, out: Path) -> None:
    """The rounds of a diagnosis in memory; only the table of episodes is kept."""
    name = f"fault:{case.planted}"
    request = Request((SUITE,), name, SCREENING_SEEDS, first_seed=SET * case.seed_set)
    with opened(name) as policy:
        rounds = Rounds(request, policy.spec)
        # What the expert needs is one of the attributes that failures may go with.
        episodes = collect(policy, rounds, [OfScreening()])
        table = with_design(episodes, design_table(rounds.design))
    if len(table) > MOST_EPISODES:
        raise UserError(f"the diagnosis of {name} took {len(table)} episodes, more than {MOST_EPISODES}")
    with files.beside(out / f"{case.name}.parquet") as path:
        # Events are most of a table, and no finding reads them.
        table.select(*SCHEMA, COLUMN).with_columns(events=pl.lit([], dtype=table.schema["events"])).write_parquet(path)


class OfScreening(ExpertReference):
    """The expert's needs in situations as they are laid out: of changed ones nothing asks for them."""

    def after_episode(self, trial: Trial, finished: Finished) -> Finished:
        return finished if trial.interventions else super().after_episode(trial, finished)


def judged(case: Case, out: Path) -> Verdict:
    """What its episodes alone say, held against what was planted."""
    path = out / f"{case.name}.parquet"
    table, problems = load_readable([path])
    if problems:
        raise UserError(f"{problems[0]} The same command then runs it again.")
    purposes = pl.read_parquet(path, columns=["trial_id", COLUMN])
    designed = with_design(table, rows_of(purposes))
    (found,) = diagnose(designed, {"perturbations": perturbation_cards()})
    generated = table.filter(
        (pl.col("task") == GENERATED)
        & (pl.col("interventions").list.len() == 0)
        & (pl.col("perturbations").list.len() == 0)
        & (pl.col("outcome") != "error")
    )
    success = generated["success"].mean()
    cost = 1 - success if isinstance(success, float) else None
    verdict = judge(case.group, case.planted, case.seed_set, case.expected, found, cost)
    return replace(verdict, temptation=temptation(tallies(designed)))
