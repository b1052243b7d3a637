"""Runs the expert on all that interventions make of all tasks; `make validate-interventions` runs it.

Every intervention at every value, and its placebo, wherever it applies: the expert solves what it solves untouched, the
attribute is set, and no attribute changes that is not declared. Results are kept in runs/validate-interventions, by the
source they were made with, and resumed. A table is printed, and the exit status says the verdict.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path

from pages import of_this_source
from units import at_work, keep, kept

from robodx.interventions.base import INTERVENTIONS, PLACEBO, Intervention, NotApplicable, intervened
from robodx.policy_contract import CameraRequest, Policy, make_policy
from robodx.records.trial import Trial
from robodx.records.values import Applied
from robodx.running.rollout import rollout
from robodx.situations.features import features_of
from robodx.tasks.base import TASKS, Situation
from robodx.terminal.console import print_table

# A policy with a camera: only that has something to record of cameras.
SHOWN = (CameraRequest("front"),)
ROOT = Path(__file__).parent.parent
SEEDS = 3


@dataclass(frozen=True)
class Unit:
    """What one worker does at once: an intervention at all its values in one situation; or the situation untouched."""

    task: str
    seed: int
    intervention: str | None


@dataclass(frozen=True)
class Result:
    """Of one value in one situation; one that does not apply has a reason and no verdict."""

    task: str
    seed: int
    intervention: str | None
    value: str | None
    is_solved: bool | None = None
    reason: str | None = None
    complaints: tuple[str, ...] = ()
    applying_ms: float = 0.0

    @property
    def unit(self) -> Unit:
        return Unit(self.task, self.seed, self.intervention)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--tasks", default="*", help="a pattern of task ids, as carrier/*")
    parser.add_argument("--interventions", default="*", help='a pattern of names, as "target *"')
    parser.add_argument("--without-expert", action="store_true", help="only apply them and compare attributes")
    parser.add_argument("--out", type=Path, default=ROOT / "runs" / "validate-interventions")
    options = parser.parse_args()
    names = [name for name in INTERVENTIONS if fnmatchcase(name, options.interventions)]
    tasks = [task for task in TASKS if fnmatchcase(task, options.tasks)]
    units = [Unit(task, seed, name) for seed in range(options.seeds) for task in tasks for name in (None, *names)]
    path = of_this_source(options.out) / ("applied.jsonl" if options.without_expert else "solved.jsonl")
    work = applied if options.without_expert else solved
    started_s = time.monotonic()
    known = {result.unit for result in read(path)}
    missing = [unit for unit in units if unit not in known]
    found = at_work(missing, work, options.workers)
    keep(path, ([asdict(result) for result in results] for results in found))
    wanted = set(units)
    results = [result for result in read(path) if result.unit in wanted]
    print(f"{len(missing)} of {len(units)} units in {time.monotonic() - started_s:.0f} s; results in {path}")
    return tell(results)


def read(path: Path) -> list[Result]:
    return [Result(**{**row, "complaints": tuple(row["complaints"])}) for row in kept(path)]


def solved(unit: Unit) -> list[Result]:
    """Applied, compared, and run by the expert."""
    return [
        result if result.reason is not None else Result(**{**asdict(result), "is_solved": _is_solved(result)})
        for result in applied(unit)
    ]


def applied(unit: Unit) -> list[Result]:
    """Whether each value applies, what is then not as declared, and how long it took."""
    if unit.intervention is None:
        return [Result(unit.task, unit.seed, None, None)]
    task, entry = TASKS[unit.task], INTERVENTIONS[unit.intervention]
    situation = task.placed(unit.seed)
    before = features_of(situation, task.varies, SHOWN)
    found = []
    for value in (*entry.values, PLACEBO):
        started_s = time.process_time()
        reason: str | None = None
        complaints: tuple[str, ...] = ()
        try:
            after = intervened(situation, ((entry.name, value),), unit.seed, task.id)
        except NotApplicable as no:
            reason = _whatever_things(str(no), situation)
        took_ms = 1000 * (time.process_time() - started_s)
        if reason is None:
            complaints = tuple(undeclared(entry, value, before, features_of(after, task.varies, SHOWN)))
        found.append(
            Result(task.id, unit.seed, entry.name, value, None, reason, complaints, round(took_ms, 2)),
        )
    return found


def _whatever_things(reason: str, situation: Situation) -> str:
    """The same for things of any names, so that reasons can be counted."""
    for name in sorted((thing.name for thing in situation.scene), key=len, reverse=True):
        reason = reason.replace(f"the {name}", "a thing")
    return reason


def undeclared(entry: Intervention, value: str, before: dict[str, str], after: dict[str, str]) -> Iterator[str]:
    """What is not as the intervention says, in words; a placebo may change what it will, but for what is set."""
    kept = {name: before.get(name, "no") for name in entry.attributes}
    for name, level in (kept if value == PLACEBO else entry.values[value]).items():
        # What the expert needs is known when it has run.
        if after.get(name, "no") != level and not name.startswith("expert_"):
            yield f"{name} is {after.get(name, 'no')} and not {level}"
    for name in sorted({**before, **after}) if value != PLACEBO else ():
        if before.get(name) != after.get(name) and not entry.declares(name):
            yield f"{name} was {before.get(name)} and is {after.get(name)}, which is not declared"


def _is_solved(result: Result) -> bool:
    interventions: tuple[Applied, ...] = ()
    if result.intervention is not None and result.value is not None:
        interventions = ((result.intervention, result.value),)
    trial = Trial(result.task, TASKS[result.task].version, "expert", result.seed, interventions=interventions)
    ((episode, _),) = rollout([trial], expert())
    return episode.success


@cache
def expert() -> Policy:
    return make_policy("expert")


def tell(results: Sequence[Result]) -> int:
    """A row for each value: where it applies, what is solved, and what most often keeps it from applying."""
    untouched = {(one.task, one.seed): one.is_solved for one in results if one.intervention is None}
    rows: list[dict[str, str | None]] = []
    wrong: list[str] = []
    by_value: dict[tuple[str, str], list[Result]] = {}
    for one in results:
        if one.intervention is not None and one.value is not None:
            by_value.setdefault((one.intervention, one.value), []).append(one)
    for (name, value), group in sorted(by_value.items()):
        there = [one for one in group if one.reason is None]
        run = [one for one in there if one.is_solved is not None and untouched.get((one.task, one.seed))]
        for one in sorted(there, key=lambda one: (one.task, one.seed)):
            problems = [*one.complaints, *(["the expert fails"] if one in run and not one.is_solved else [])]
            wrong += [f"{name}={value} in {one.task} at seed {one.seed}: {problem}" for problem in problems]
        reasons = Counter(one.reason for one in group if one.reason is not None)
        rows.append(
            {
                "intervention": f"{name}={value}",
                "applies": f"{len(there)}/{len(group)}",
                "tasks": str(len({one.task for one in there})),
                "solved": f"{sum(bool(one.is_solved) for one in run)}/{len(run)}" if run else None,
                "undeclared": str(sum(len(one.complaints) for one in there)),
                "ms": f"{sum(one.applying_ms for one in group) / len(group):.1f}",
                "mostly not because": next((reason for reason, _ in reasons.most_common(1)), None),
            }
        )
    print_table(rows)
    failing = sorted(f"{task} at seed {seed}" for (task, seed), is_solved in untouched.items() if is_solved is False)
    if failing:
        print(f"Not solved untouched, and left out: {', '.join(failing)}")
    print("\n".join(wrong))
    print(f"{len(rows)} interventions and values, {len(wrong)} complaints.")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
