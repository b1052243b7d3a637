"""How fast demonstrations are generated: two 128×128 cameras at every control step, written as LeRobot videos.

Beside it the same trials are run with the same pictures and nothing is written: the ratio is what recording, encoding
and writing cost. `make bench` runs it; JSON goes to .cache/bench-generating.json.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from pathlib import Path

from robodx.records.design import Planned
from robodx.running.generating import Generation, record, write
from robodx.running.request import Request
from robodx.running.run import Execution, run
from robodx.terminal.console import print_table, progress_bar

CACHE = Path(__file__).parent.parent / ".cache"
GOAL_PER_MINUTE = 60.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--select", default="control,perception,language,spatial,dynamic,primitive")
    parser.add_argument("--episodes", type=int, default=2)
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()
    asked = Generation(tuple(options.select.split(",")), options.episodes)
    execution = Execution(workers=options.workers)
    with tempfile.TemporaryDirectory() as folder:
        start = time.perf_counter()
        request = Request(tuple(asked.tasks), asked.policy, asked.each, first_seed=asked.first_seed)
        with progress_bar() as progress:
            planned = [Planned(trial) for trial in asked.trials()]
            run(request, Path(folder) / "run", execution, observers=[progress], planned=planned)
        plain_s = time.perf_counter() - start
        start = time.perf_counter()
        with progress_bar() as progress:
            recorded = record(asked, Path(folder) / "data", "lerobot", execution, observers=[progress])
        recorded_s = time.perf_counter() - start
        found = write(recorded)
        total_s = time.perf_counter() - start
        size_mb = sum(path.stat().st_size for path in found.data.rglob("*") if path.is_file()) / 1e6
    per_minute = 60 * found.episodes / total_s
    row = {
        "episodes": found.episodes, "frames": found.frames, "episodes a minute": round(per_minute, 1),
        "seconds": round(total_s, 1), "of that writing": round(total_s - recorded_s, 1),
        "times a plain run": round(total_s / plain_s, 2), "MB": round(size_mb, 1),
    }  # fmt: skip
    print_table([row])
    verdict = "met" if per_minute >= GOAL_PER_MINUTE else "missed"
    print(f"goal {GOAL_PER_MINUTE:g} episodes a minute on two cores: {verdict}")
    CACHE.mkdir(exist_ok=True)
    (CACHE / "bench-generating.json").write_text(json.dumps(row, indent=2))


if __name__ == "__main__":
    main()
