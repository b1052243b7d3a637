"""Checks that all tasks measure what they say; `make validate-capability` runs it.

Every task can be solved, none solves itself, none is passed blind, guessing scores what is declared, a plan made from
the first frame fails where things change, and who hears the same instruction every time fails where language is tested
and only there.
Run folders are kept in runs/validate-capability, by the source they were made with, and resumed. A table is printed,
and the exit status says the verdict.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import polars as pl
from pages import DOCS, of_this_source, rewrite

from robodx.analysis.statistics.estimates import wilson
from robodx.registry import load_plugin
from robodx.running.request import Request
from robodx.running.run import Execution, run
from robodx.suites.capability import capability_tasks
from robodx.tasks.base import TASKS, Task
from robodx.terminal.console import print_table, progress_bar

ROOT = Path(__file__).parent.parent
SEEDS = 25
LEAST_EXPERT = 24
MOST_OPEN_LOOP = 5
MOST_WITHOUT_LANGUAGE = math.floor(0.36 * SEEDS)
# So wide that of all tasks that are right, one is left out once in twenty times.
CONFIDENCE = 1 - 0.05 / len(TASKS)
# The expert's commands of so many other seeds are replayed, from this one on.
BLIND_SOURCES, FIRST_BLIND_SOURCE = 5, 100
# Where there is no choice, and as a share of chance where there is: who chooses the same every time is right so often.
MOST_BLIND, MOST_BLIND_OF_CHANCE = 0.08, 0.5
# Tasks that may be passed blind, each with the reason: its only factor is words, or timing.
MAY_BE_BLIND: dict[str, str] = {}


@dataclass(frozen=True)
class Variant:
    """A policy on some of the tasks, by default on all."""

    policy: str
    selectors: tuple[str, ...] = ()
    plugins: tuple[str, ...] = ()
    repeats: int = 1

    @property
    def name(self) -> str:
        return self.policy.partition(":")[0]


VARIANTS = (
    Variant("expert"),
    Variant("still"),
    # It draws for itself: four guesses in each situation say four times as much.
    Variant("guess", repeats=4),
    Variant(
        f"blind_replay:{FIRST_BLIND_SOURCE}",
        plugins=(str(ROOT / "scripts" / "blind_replay.py"),),
        repeats=BLIND_SOURCES,
    ),
    Variant("open_loop", ("capability/dynamic",)),
    Variant(
        "constant_instruction",
        ("capability/language", "capability/control"),
        (str(ROOT / "scripts" / "constant_instruction.py"),),
    ),
)

Successes = dict[str, dict[str, list[bool]]]
Hashes = dict[str, dict[str, list[str]]]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--out", type=Path, default=ROOT / "runs" / "validate-capability")
    parser.add_argument("--write-docs", action="store_true", help="also into docs/suites/capability.md")
    options = parser.parse_args()
    folder = of_this_source(options.out)
    tasks = all_tasks()
    successes: Successes = {}
    hashes: Hashes = {}
    for variant in VARIANTS:
        print(f"{variant.policy} on {' '.join(variant.selectors) or 'all tasks'}", file=sys.stderr)
        for plugin in variant.plugins:
            load_plugin(plugin)
        with progress_bar() as progress:
            request = Request(
                variant.selectors or tuple(task.id for task in tasks),
                variant.policy,
                SEEDS,
                repeats=variant.repeats,
                plugins=variant.plugins,
            )
            episodes = run(request, folder / variant.name, Execution(workers=options.workers), observers=[progress])
        for (task,), group in episodes.sort("seed", "repeat").group_by("task", maintain_order=True):
            successes.setdefault(str(task), {})[variant.name] = group["success"].to_list()
            hashes.setdefault(str(task), {})[variant.name] = group["trajectory_hash"].to_list()
        _tell_errors(episodes)
    rows: list[dict[str, str | None]] = []
    complaints: list[str] = []
    for task in tasks:
        found = list(complaints_of(task, successes[task.id], hashes[task.id]))
        complaints += found
        counts = {variant.name: _count(successes[task.id].get(variant.name)) for variant in VARIANTS}
        about = {"task": task.id, "tier": task.tier, "chance": f"{task.chance:.2f}"}
        blind = {"may be passed blind": MAY_BE_BLIND.get(task.id)}
        rows.append({**about, **counts, **blind, "complaint": "; ".join(found) or None})
    print_table(rows)
    if options.write_docs:
        rewrite(DOCS / "suites" / "capability.md", "validation", _markdown(rows))
    print(f"{len(tasks)} tasks, {len(complaints)} complaints.")
    return int(bool(complaints))


def all_tasks() -> list[Task]:
    """Those of the capability suite, then those of other suites and of none."""
    capability = capability_tasks()
    return [*capability, *(task for task in TASKS.entries() if task not in capability)]


def _markdown(rows: list[dict[str, str | None]]) -> str:
    names = [name for name in rows[0] if any(row[name] for row in rows)]
    lines = [names, ["---"] * len(names), *([row[name] or "" for name in names] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _count(successes: list[bool] | None) -> str | None:
    return None if successes is None else f"{sum(successes)}/{len(successes)}"


def _tell_errors(episodes: pl.DataFrame) -> None:
    for row in episodes.filter(pl.col("outcome") == "error").iter_rows(named=True):
        print(f"error in {row['task']} seed {row['seed']}: {row['error']}", file=sys.stderr)


def complaints_of(task: Task, successes: dict[str, list[bool]], hashes: dict[str, list[str]]) -> Iterator[str]:
    if sum(successes["expert"]) < LEAST_EXPERT:
        yield f"the expert solves fewer than {LEAST_EXPERT}"
    if any(successes["still"]):
        yield "solves itself"
    guessed = wilson(sum(successes["guess"]), len(successes["guess"]), confidence=CONFIDENCE)
    assert guessed.low is not None and guessed.high is not None
    if not guessed.low <= task.chance <= guessed.high:
        yield f"chance is not in [{guessed.low:.2f}, {guessed.high:.2f}]"
    blind = successes["blind_replay"]
    if sum(blind) > most_blind(task) * len(blind) and task.id not in MAY_BE_BLIND:
        yield f"passed blind more often than {most_blind(task):.0%}"
    if sum(successes.get("open_loop", [])) > MOST_OPEN_LOOP:
        yield f"a blind plan solves more than {MOST_OPEN_LOOP}"
    if task.family == "language" and sum(successes["constant_instruction"]) > MOST_WITHOUT_LANGUAGE:
        yield f"solved more than {MOST_WITHOUT_LANGUAGE} times without language"
    if task.family == "control" and hashes["constant_instruction"] != hashes["expert"]:
        yield "the instruction changes what the expert does"


def most_blind(task: Task) -> float:
    """The share of situations in which another seed's commands may succeed."""
    return MOST_BLIND if task.chance == 1 else MOST_BLIND_OF_CHANCE * task.chance


if __name__ == "__main__":
    sys.exit(main())
