"""Runs `expert` and `vision` through the suite stress and writes the tables into the docs.

`make stress-table` runs it. Run folders are kept in runs/stress-table, by the source that they were made with, and
resumed.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import polars as pl
from pages import DOCS, of_this_source, rewrite
from tables import by_stressor, episodes_of

from robodx.analysis.metrics.base import METRICS, estimate
from robodx.analysis.statistics.estimates import Estimate
from robodx.analysis.stress import StressTable, stress_table
from robodx.analysis.summary import success_rate
from robodx.perturbations.base import STRESS_LEVELS
from robodx.records.about import read_about
from robodx.running.request import Request
from robodx.suites.stress import STABILITY

ROOT = Path(__file__).parent.parent
POLICIES = ("expert", "vision")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=25, help="of the expert")
    parser.add_argument("--vision-seeds", type=int, default=15)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--out", type=Path, default=ROOT / "runs" / "stress-table")
    options = parser.parse_args()
    tables, episodes = {}, {}
    for policy in POLICIES:
        seeds = options.vision_seeds if policy == "vision" else options.seeds
        folder = of_this_source(options.out) / policy
        episodes[policy] = episodes_of(Request(("stress",), policy, seeds), folder, options.workers)
        tables[policy] = stress_table(episodes[policy], read_about(folder), np.random.default_rng(0))
    parts = [
        f"**{name}**, {len(episodes[name])} episodes\n\n{by_stressor(table, name)}" for name, table in tables.items()
    ]
    costly = "**vision**, success by carrier under the stressors that cost something"
    text = "\n\n".join([*parts, f"{costly}\n\n{by_carrier(tables['vision'])}", cognitive(episodes)])
    print(text)
    rewrite(DOCS / "suites" / "stress.md", "tables of stress", text)


def by_carrier(table: StressTable) -> str:
    """Of the stressors that cost something."""
    costly = {row.stressor for row in table.rows if row.task and (row.difference.value or 0.0) < 0}
    tasks = list(dict.fromkeys(row.task for row in table.rows if row.task))
    lines = [f"| stressor | level | {' | '.join(f'`{task}`' for task in tasks)} |", "|---|---|" + "---|" * len(tasks)]
    for name in dict.fromkeys(row.stressor for row in table.rows if row.stressor in costly):
        for level in STRESS_LEVELS:
            found = {row.task: row for row in table.rows if row.stressor == name and row.level == level}
            cells = [str(found[task].stressed) if task in found else "" for task in tasks]
            lines.append(f"| `{name}` | {level} | {' | '.join(cells)} |")
    return "\n".join(lines)


def cognitive(episodes: dict[str, pl.DataFrame]) -> str:
    """Success by scenario and clock, and how fast and how steadily it acts."""
    rng = np.random.default_rng(0)
    lines = ["| test | level | task | " + " | ".join(f"{policy}" for policy in episodes) + " |"]
    lines.append("|---|---|---|" + "---|" * len(episodes))

    def row(test: str, index: int, task: str, cells: list[str]) -> str:
        return f"| {test} | {STRESS_LEVELS[index]} | `{task}` | {' | '.join(cells)} |"

    for family, test in (("pursuit", "inference_frequency"), ("adaptability", "adaptability")):
        order = {"easy": 0, "medium": 1, "hard": 2}
        first = next(iter(episodes.values())).filter(pl.col("family") == family)
        tasks = sorted(first.select("task", "tier").unique().iter_rows(), key=lambda pair: order[pair[1]])
        for index, (task, _) in enumerate(tasks):
            cells = []
            for table in episodes.values():
                mine = table.filter(pl.col("task") == task)
                variants = mine.sort("clock").group_by("clock", maintain_order=True)
                cells.append("; ".join(f"{clock} {success_rate(variant)}" for (clock,), variant in variants))
            lines.append(row(test, index, task, cells))
    for index, task in enumerate(STABILITY):
        cells = [_number(estimate(METRICS["stability"], _clean(table, task), rng)) for table in episodes.values()]
        lines.append(row("stability", index, task, cells))
    rates = [
        f"{_median(table, 'calls_per_s'):.0f} calls/s, {_median(table, 'actions_per_s'):.0f} actions/s, "
        f"{_median(table, 'inference_ms_p50'):.1f} ms "
        f"(95% within {_median(table, 'inference_ms_p95'):.1f} ms)"
        for table in episodes.values()
    ]
    lines.append(f"| rate at the policy's boundary | | pursuit | {' | '.join(rates)} |")
    return "\n".join(lines)


def _clean(table: pl.DataFrame, task: str) -> pl.DataFrame:
    return table.filter((pl.col("task") == task) & (pl.col("perturbations").list.len() == 0) & (pl.col("repeat") == 0))


def _median(table: pl.DataFrame, column: str) -> float:
    value = table.filter(pl.col("family") == "pursuit")[column].median()
    assert isinstance(value, float)
    return value


def _number(found: Estimate) -> str:
    return f"{found.value:.3f} [{found.low:.3f}, {found.high:.3f}]"


if __name__ == "__main__":
    main()
