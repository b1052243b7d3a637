"""How long the report of 5,000 episodes takes and how large it is, against reading and summarising alone.

The page has no films. The ratio to a bare read of the table with `Summary.rows` is what is reported: both are measured
in one invocation, in turns. JSON goes to .cache/bench-report.json.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from robodx.running.threads import pin

pin()

# ruff: noqa: E402  (threads are pinned before numpy is imported)
import numpy as np
import polars as pl

from robodx.analysis.summary import Summary
from robodx.records.schema import SCHEMA
from robodx.report.page import report

ROOT = Path(__file__).parent.parent
GOAL_S, GOAL_BYTES = 5.0, 2_000_000
FAMILIES = ("control", "dynamic", "language", "perception", "robustness", "spatial")
TIERS = ("easy", "medium", "hard")


def made_up(folder: Path, episodes: int) -> tuple[Path, dict[str, object]]:
    """A run of 54 tasks whose outcomes are drawn by family and tier."""
    sys.path.insert(0, str(ROOT))
    from tests.reporting import ABOUT, episode, run_folder

    rng = np.random.default_rng(0)
    tasks = [(family, tier, k) for family in FAMILIES for tier in TIERS for k in range(3)]
    rows = []
    for number in range(episodes):
        family, tier, k = tasks[number % len(tasks)]
        rate = 0.95 - 0.1 * FAMILIES.index(family) - 0.1 * TIERS.index(tier)
        is_solved = bool(rng.random() < rate)
        rows.append(
            episode(f"{family}/{tier}_{k}", number // len(tasks), success=is_solved, tier=tier)
            | {"length_ratio": float(rng.lognormal()), "requirements": [f"{family}/{k}"], "chance": 0.25}
        )
    return run_folder(folder, rows), dict(ABOUT)


def seconds(work: Callable[[], object]) -> float:
    """Of the processor: others may use the machine."""
    start = time.process_time()
    work()
    return time.process_time() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--episodes", type=int, default=5000)
    parser.add_argument("--rounds", type=int, default=3)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        run, about = made_up(Path(folder) / "run", asked.episodes)
        part = run / "episodes" / "all.parquet"

        def bare() -> object:
            return Summary(pl.read_parquet(part).select(*SCHEMA), about).rows()

        page = report([run], videos="none").html()
        times = [(seconds(lambda: report([run], videos="none").html()), seconds(bare)) for _ in range(asked.rounds)]
    whole, alone = (statistics.median(each) for each in zip(*times, strict=True))
    found = {
        "episodes": asked.episodes,
        "report_s": round(whole, 3),
        "bare_s": round(alone, 3),
        "ratio": round(statistics.median(a / b for a, b in times), 2),
        "bytes": len(page.encode()),
    }
    print(json.dumps(found, indent=2))
    cache = ROOT / ".cache"
    cache.mkdir(exist_ok=True)
    (cache / "bench-report.json").write_text(json.dumps(found, indent=2))
    if whole > GOAL_S or len(page.encode()) > GOAL_BYTES:
        sys.exit(f"the goal is {GOAL_S:g} s and {GOAL_BYTES / 1e6:g} MB")


if __name__ == "__main__":
    main()
