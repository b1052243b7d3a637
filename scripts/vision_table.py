"""Runs `vision` through the capability suite, waiting for it and in real time, and writes the table into the docs.

`make vision-table` runs it. Run folders are kept in runs/vision-table and resumed.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import polars as pl
from pages import DOCS, rewrite

from robodx.analysis.summary import success_rate
from robodx.console import progress_bar
from robodx.running.run import Request, run
from robodx.tasks.base import TASKS, Task

ROOT = Path(__file__).parent.parent
CLOCKS = {"lockstep": "lockstep", "realtime": "realtime:0.1s"}
FAMILIES = ("control", "perception", "language", "spatial", "dynamic", "robustness")
TIERS = ("easy", "medium", "hard")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=25)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--out", type=Path, default=ROOT / "runs" / "vision-table")
    options = parser.parse_args()
    arms = {}
    for name, clock in CLOCKS.items():
        with progress_bar() as progress:
            request = Request(("capability",), "vision", options.seeds, clock=clock)
            arms[clock] = run(request, options.out / name, workers=options.workers, progress=progress)
    text = f"{by_tier(arms)}\n\n{by_task(arms)}"
    print(text)
    rewrite(DOCS / "suites" / "capability.md", "table of vision", text)


def by_tier(arms: dict[str, pl.DataFrame]) -> str:
    """Success over a family's three tasks of a tier."""
    lines = [f"| family | {' | '.join(f'{tier}, {clock}' for clock in arms for tier in TIERS)} |"]
    lines.append("|---|" + "---|" * (len(TIERS) * len(arms)))
    for family in FAMILIES:
        cells = [
            str(success_rate(arm.filter((pl.col("family") == family) & (pl.col("tier") == tier))))
            for arm in arms.values()
            for tier in TIERS
        ]
        lines.append(f"| {family} | {' | '.join(cells)} |")
    return "\n".join(lines)


def by_task(arms: dict[str, pl.DataFrame]) -> str:
    lines = [f"| task | tier | chance | {' | '.join(f'{clock} | progress' for clock in arms)} |"]
    lines.append("|---|---|---|" + "---|---|" * len(arms))
    for task in sorted((task for task in TASKS.entries() if "capability" in task.tags), key=_order):
        cells = []
        for arm in arms.values():
            episodes = arm.filter(pl.col("task") == task.id)
            progress = episodes["progress"].mean()
            cells += [str(success_rate(episodes)), f"{progress:.2f}" if isinstance(progress, float) else ""]
        lines.append(f"| `{task.id}` | {task.tier or ''} | {task.chance:.2f} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _order(task: Task) -> tuple[int, int, str]:
    family = FAMILIES.index(task.family) if task.family in FAMILIES else len(FAMILIES)
    return (family, TIERS.index(task.tier) if task.tier else 0, task.id)


if __name__ == "__main__":
    main()
