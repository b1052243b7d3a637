"""Asks three other policies what each intervention does to them, for the diagnosis; `make reference-panel` runs it.

For every value of every intervention that pairs are made of: some fresh situations (of the factorial and of all tasks
in turn, from a seed on that nothing else here uses) in which both value and placebo apply, each run with both. How many
succeed is written to the table that the package ships. Rows of what is no longer registered are dropped, and what the
table has already is not run again, nor are episodes that this source has left in runs/reference-panel.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path

from pages import of_this_source
from units import at_work, keep, kept

from robodx.analysis.findings.panel import TABLE, Asked, read
from robodx.interventions.base import INTERVENTIONS, PLACEBO, Intervention, NotApplicable, intervened
from robodx.policy_contract import Policy, make_policy
from robodx.records.trial import Trial
from robodx.running.rollout import rollout
from robodx.suites.pairs import Fresh, fresh_situations
from robodx.tasks.base import TASKS

ROOT = Path(__file__).parent.parent
# Validations of the diagnosis use seeds below, demonstrations those from a million on.
FIRST_SEED = 800_000
SITUATIONS = 3
VALUES = 8
# Who is on it, in the words of a sentence.
PANEL = {
    "vision": "vision",
    "an imprecise expert": "fault:imprecise",
    "a noisy expert": "fault:noisy_healthy=0.4",
}


@dataclass(frozen=True)
class Unit:
    """One episode. The placebo is the same for all values of an intervention."""

    task: str
    seed: int
    intervention: str
    value: str
    policy: str


# By intervention and value, the situations in which it is run, as tasks and seeds.
Plan = Mapping[tuple[str, str], Sequence[tuple[str, int]]]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--situations", type=int, default=SITUATIONS, help="at most so many for each value")
    parser.add_argument("--values", type=int, default=VALUES, help="at most so many of each intervention, a sample")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--interventions", default="*", help='a pattern of names, as "target *"')
    parser.add_argument("--policies", nargs="+", choices=list(PANEL), default=list(PANEL), metavar="POLICY")
    parser.add_argument("--anew", action="store_true", help="run also what the table has already")
    parser.add_argument("--out", type=Path, default=ROOT / "runs" / "reference-panel")
    options = parser.parse_args()
    started_s = time.monotonic()
    entries = [
        one for one in INTERVENTIONS.entries() if one.is_comparable and fnmatchcase(one.name, options.interventions)
    ]
    plan = planned(entries, options.situations, options.values)
    before = {one[:3]: one for one in (read() if TABLE.exists() else ())}
    wanted = [
        (name, value, policy)
        for (name, value), situations in plan.items()
        for policy in options.policies
        if options.anew or (name, value, policy) not in before or before[name, value, policy].pairs < len(situations)
    ]
    units = dict.fromkeys(unit for one in wanted for unit in episodes(one, plan))
    path = of_this_source(options.out) / "episodes.jsonl"
    done = outcomes(path)
    missing = [unit for unit in units if unit not in done]
    keep(path, ([row] for row in at_work(missing, run, options.workers)))
    rows = before | {one: counted(one, plan, outcomes(path)) for one in wanted}
    write(rows.values())
    print(f"{len(missing)} of {len(units)} episodes in {time.monotonic() - started_s:.0f} s; {TABLE} is written")
    return 0


def planned(entries: Iterable[Intervention], most: int, most_values: int | None) -> Plan:
    """The first situations in which each value applies, and the placebo as well."""
    situations = list(fresh_situations(list(TASKS), FIRST_SEED))
    plan: dict[tuple[str, str], list[tuple[str, int]]] = {}
    for entry in entries:
        found: dict[str, list[tuple[str, int]]] = {value: [] for value in sampled(entry.values, most_values)}
        for fresh in situations:
            short = [value for value in found if len(found[value]) < most]
            if not short:
                break
            if applies(entry.name, PLACEBO, fresh):
                for value in short:
                    found[value] += [(fresh.task, fresh.seed)] if applies(entry.name, value, fresh) else []
        plan |= {(entry.name, value): places for value, places in found.items()}
    return plan


def sampled(values: Iterable[str], most: int | None) -> list[str]:
    """The same ones, whatever else is registered later."""
    return sorted(values, key=lambda value: hashlib.blake2b(value.encode()).hexdigest())[:most]


def applies(name: str, value: str, fresh: Fresh) -> bool:
    try:
        intervened(fresh.situation, ((name, value),), fresh.seed, fresh.task)
    except NotApplicable:
        return False
    return True


def episodes(one: tuple[str, str, str], plan: Plan) -> Iterator[Unit]:
    name, value, policy = one
    for task, seed in plan[name, value]:
        yield from (Unit(task, seed, name, each, policy) for each in (value, PLACEBO))


def run(unit: Unit) -> dict[str, object]:
    policy, applied = PANEL[unit.policy], ((unit.intervention, unit.value),)
    trial = Trial(unit.task, TASKS[unit.task].version, policy, unit.seed, interventions=applied)
    ((episode, _),) = rollout([trial], policy_of(policy))
    return {**asdict(unit), "success": None if episode.outcome == "error" else episode.success}


@cache
def policy_of(name: str) -> Policy:
    return make_policy(name)


def outcomes(path: Path) -> dict[Unit, bool | None]:
    """None of one that ended in an error."""
    return {Unit(**{k: v for k, v in row.items() if k != "success"}): row["success"] for row in kept(path)}


def counted(one: tuple[str, str, str], plan: Plan, known: Mapping[Unit, bool | None]) -> Asked:
    every = [known[unit] for unit in episodes(one, plan)]
    told = [pair for pair in zip(every[::2], every[1::2], strict=True) if None not in pair]
    return Asked(*one, len(told), sum(bool(pair[0]) for pair in told), sum(bool(pair[1]) for pair in told))


def write(rows: Iterable[Asked]) -> None:
    """What is registered, in the order of the registry."""
    by_key = {one[:3]: one for one in rows}
    ordered = [
        by_key[key]
        for entry in INTERVENTIONS.entries()
        if entry.is_comparable
        for value in entry.values
        for policy in PANEL
        if (key := (entry.name, value, policy)) in by_key
    ]
    with TABLE.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(Asked._fields)
        writer.writerows(ordered)


if __name__ == "__main__":
    sys.exit(main())
