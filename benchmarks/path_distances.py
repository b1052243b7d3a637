"""How long the distances between two paths of 400 points take, against plain loops, in turns in one invocation.

Medians of the processor's time, for others may use the machine. JSON goes to .cache/bench-path-distances.json.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

from robodx.running.threads import pin

pin()

# ruff: noqa: E402  (threads are pinned before numpy is imported)
import numpy as np
from numpy.typing import NDArray

from robodx.analysis.metamorphic.distances import distances, dtw, frechet, hausdorff

ROOT = Path(__file__).parent.parent
POINTS = 400
# Of the Fréchet distance.
GOAL_MS = 10.0
# A single call is too short for the clock of the processor.
CALLS = 20


def plain_frechet(a: NDArray[np.float64], b: NDArray[np.float64]) -> float:
    """One entry of the table after the other, on Python's own numbers."""
    first, second = a.tolist(), b.tolist()
    before: list[float] = []
    for x, y, z in first:
        row: list[float] = []
        for j, (u, v, w) in enumerate(second):
            here = ((x - u) ** 2 + (y - v) ** 2 + (z - w) ** 2) ** 0.5
            if before and row:
                here = max(here, min(before[j], before[j - 1], row[-1]))
            elif before or row:
                here = max(here, before[j] if before else row[-1])
            row.append(here)
        before = row
    return before[-1]


def milliseconds(work: Callable[[], object], calls: int = 1) -> float:
    start = time.process_time()
    for _ in range(calls):
        work()
    return 1e3 * (time.process_time() - start) / calls


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=7)
    asked = parser.parse_args()
    rng = np.random.default_rng(0)
    a, b = (np.cumsum(rng.normal(0.0, 0.01, (POINTS, 3)), axis=0) for _ in range(2))
    if abs(frechet(a, b) - plain_frechet(a, b)) > 1e-12:
        sys.exit("the two do not agree")
    spent: dict[str, list[float]] = {}
    for _ in range(asked.rounds):
        spent.setdefault("plain_frechet", []).append(milliseconds(lambda: plain_frechet(a, b)))
        for fast in (frechet, dtw, hausdorff, distances):
            # Called within this round.
            spent.setdefault(fast.__name__, []).append(milliseconds(lambda fast=fast: fast(a, b), CALLS))  # type: ignore[misc]
    found = {
        "points": POINTS,
        **{f"{name}_ms": round(statistics.median(each), 2) for name, each in spent.items()},
        "plain_over_frechet": round(
            statistics.median(x / y for x, y in zip(spent["plain_frechet"], spent["frechet"], strict=True)), 1
        ),
    }
    print(json.dumps(found, indent=2))
    cache = ROOT / ".cache"
    cache.mkdir(exist_ok=True)
    (cache / "bench-path-distances.json").write_text(json.dumps(found, indent=2))
    if statistics.median(spent["frechet"]) > GOAL_MS:
        sys.exit(f"the goal is {GOAL_MS:g} ms")


if __name__ == "__main__":
    main()
