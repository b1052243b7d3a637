"""How long the whole capability suite takes with cameras: every task at 25 seeds, two 128×128 pictures a control step.

The expert's commands are recorded first and then played back by a policy that asks for the pictures and looks at
neither, so that what is timed is RoboDx alone. `make bench` runs it; JSON goes to .cache/bench-capability.json.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from pathlib import Path

import polars as pl

from robodx.registry import load_plugin
from robodx.running.request import Request
from robodx.running.run import Execution, run
from robodx.terminal.console import print_table, progress_bar

CACHE = Path(__file__).parent.parent / ".cache"
PLUGIN = Path(__file__).parent / "camera_replay.py"
GOAL_S = 600.0
SLOWEST = 5


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=25)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--select", default="capability")
    options = parser.parse_args()
    load_plugin(str(PLUGIN))
    with tempfile.TemporaryDirectory() as folder:
        recorded, replayed = Path(folder) / "recorded", Path(folder) / "replayed"
        with progress_bar() as progress:
            run(
                Request((options.select,), "expert", options.seeds),
                recorded,
                Execution(workers=options.workers),
                observers=[progress],
            )
        request = Request((options.select,), f"camera_replay:{recorded}", options.seeds, plugins=(str(PLUGIN),))
        start = time.perf_counter()
        with progress_bar() as progress:
            episodes = run(request, replayed, Execution(workers=options.workers), observers=[progress])
        total_s = time.perf_counter() - start
    tasks = (
        episodes.group_by("task")
        .agg(
            pl.len().alias("episodes"),
            pl.col("steps").sum(),
            pl.col("wall_s").sum(),
            pl.col("success").sum().alias("solved"),
        )
        .with_columns(wall_s=pl.col("wall_s") / options.workers, ms_per_step=1000 * pl.col("wall_s") / pl.col("steps"))
        .sort("wall_s", descending=True)
    )
    print_table(
        [
            {**row, "wall_s": f"{row['wall_s']:.1f}", "ms_per_step": f"{row['ms_per_step']:.2f}"}
            for row in tasks.to_dicts()
        ]
    )
    steps = int(episodes["steps"].sum())
    print(
        f"The suite: {len(episodes)} episodes, {steps} steps in {total_s:.0f} s ({steps / total_s:.0f} a second), "
        f"{options.workers} workers; goal {GOAL_S:.0f} s   {'ok' if total_s <= GOAL_S else 'MISSED'}"
    )
    print(f"The slowest tasks: {', '.join(tasks['task'][:SLOWEST])}.")
    CACHE.mkdir(exist_ok=True)
    about = {
        "total_s": total_s,
        "steps": steps,
        "episodes": len(episodes),
        "workers": options.workers,
        "tasks": tasks.to_dicts(),
    }
    (CACHE / "bench-capability.json").write_text(json.dumps(about, indent=2))


if __name__ == "__main__":
    main()
