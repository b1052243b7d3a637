"""Runs `vision` through the capability suite, waiting for it and in real time, and writes the table into the docs.

`make vision-table` runs it. Run folders are kept in runs/vision-table, by the source
that they were made with, and resumed.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import get_args

import polars as pl
from pages import DOCS, of_this_source, rewrite

from robodx.analysis.summary import success_rate
from robodx.running.request import Request
from robodx.running.run import Execution, run
from robodx.suites.capability import capability_tasks
from robodx.tasks.base import Tier
from robodx.terminal.console import progress_bar

ROOT = Path(__file__).parent.parent
CLOCKS = {"lockstep": "lockstep", "realtime": "realtime:0.1s"}
TIERS = get_args(Tier)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=25)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--out", type=Path, default=ROOT / "runs" / "vision-table")
    options = parser.parse_args()
    variants = {}
    for name, clock in CLOCKS.items():
        with progress_bar() as progress:
            request = Request(("capability",), "vision", options.seeds, clock=clock)
            variants[clock] = run(
                request, of_this_source(options.out) / name, Execution(workers=options.workers), observers=[progress]
            )
    text = f"{by_tier(variants)}\n\n{by_task(variants)}"
    print(text)
    rewrite(DOCS / "suites" / "capability.md", "table of vision", text)


def by_tier(variants: dict[str, pl.DataFrame]) -> str:
    """Success over a family's three tasks of a tier."""
    lines = [f"| family | {' | '.join(f'{tier}, {clock}' for clock in variants for tier in TIERS)} |"]
    lines.append("|---|" + "---|" * (len(TIERS) * len(variants)))
    for family in dict.fromkeys(task.family for task in capability_tasks() if task.tier):
        cells = [
            str(success_rate(variant.filter((pl.col("family") == family) & (pl.col("tier") == tier))))
            for variant in variants.values()
            for tier in TIERS
        ]
        lines.append(f"| {family} | {' | '.join(cells)} |")
    return "\n".join(lines)


def by_task(variants: dict[str, pl.DataFrame]) -> str:
    lines = [f"| task | tier | chance | {' | '.join(f'{clock} | progress' for clock in variants)} |"]
    lines.append("|---|---|---|" + "---|---|" * len(variants))
    for task in capability_tasks():
        cells = []
        for variant in variants.values():
            episodes = variant.filter(pl.col("task") == task.id)
            progress = episodes["progress"].mean()
            cells += [str(success_rate(episodes)), f"{progress:.2f}" if isinstance(progress, float) else ""]
        lines.append(f"| `{task.id}` | {task.tier or ''} | {task.chance:.2f} | {' | '.join(cells)} |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
