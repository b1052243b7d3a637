"""How long an episode takes to begin and to be recorded, against the same at an earlier commit, in turns in one run.

`python benchmarks/resets.py --before REV` runs it. The policy ends each episode at its second answer, so that what is
measured is the situation, the model, the first observation, one step and the record.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import IO

ROOT = Path(__file__).parent.parent
# Many things, few things, things with joints, and a situation that interventions could change.
TASKS = ("control/stack_cube", "primitive/press_switch", "spatial/build_tower", "generated/factorial", "carrier/put_in")
ROUNDS = 24
# Two copies of one source measure a few percent apart.
AT_MOST = 1.05

CHILD = """
import sys, time
import numpy as np
import robodx
from robodx import PolicySpec, Trial, rollout
from robodx.tasks.base import TASKS

class Ends:
    spec = PolicySpec(action_space="joint", uses_language=False)
    asked = 0
    def reset(self, starts): self.asked = 0
    def act(self, observations):
        self.asked += 1
        action = np.append(observations[0].state["joint_positions"], 1.0)
        return [(action if self.asked == 1 else np.full(8, np.nan))[None].astype(np.float32)]

tasks = sys.argv[1].split(",")
print(robodx.__file__, flush=True)
for line in sys.stdin:
    trials = [Trial(task, TASKS[task].version, "ends", int(line)) for task in tasks]
    began_s = time.process_time()
    finished = list(rollout(trials, Ends()))
    took_s = time.process_time() - began_s
    assert all(one.episode.failure_kind == "invalid_action" for one in finished), finished[0].episode
    print(took_s / len(tasks), flush=True)
"""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--before", default="HEAD~1", help="the commit to compare with (default: the one before)")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        before = Path(folder) / "before"
        git = ("git", "-C", str(ROOT), "worktree")
        subprocess.run([*git, "add", "--quiet", "--detach", str(before), options.before], check=True)
        try:
            ratios = measured({"before": before, "now": ROOT}, options.rounds)
        finally:
            subprocess.run([*git, "remove", "--force", str(before)], check=True)
    print(f"now / before: {statistics.median(ratios):.3f} (median of {len(ratios)} rounds; goal at most {AT_MOST})")
    return int(statistics.median(ratios) > AT_MOST)


def measured(sources: dict[str, Path], rounds: int) -> list[float]:
    """How many times as long the second takes as the first, in each round."""
    children = {name: started(source) for name, source in sources.items()}
    try:
        taken: dict[str, list[float]] = {name: [] for name in children}
        # The first round loads and caches.
        for round_ in range(rounds + 1):
            order = list(children) if round_ % 2 else list(reversed(children))
            for name in order:
                writes, reads = pipes(children[name])
                writes.write(f"{round_}\n")
                writes.flush()
                taken[name].append(float(reads.readline()))
        for name, seconds in taken.items():
            print(f"{name}: {1000 * statistics.median(seconds[1:]):.1f} ms of processor time an episode")
        first, second = (seconds[1:] for seconds in taken.values())
        return [after / before for before, after in zip(first, second, strict=True)]
    finally:
        for child in children.values():
            child.kill()
            child.wait()


def started(source: Path) -> subprocess.Popen[str]:
    threads = {name: "1" for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "LP_NUM_THREADS")}
    child = subprocess.Popen(
        [sys.executable, "-c", CHILD, ",".join(TASKS)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        env={**os.environ, **threads, "PYTHONPATH": str(source / "src")},
    )  # fmt: skip
    loaded = Path(pipes(child)[1].readline().strip())
    if not loaded.is_relative_to(source):
        raise RuntimeError(f"{loaded} was imported, not the source in {source}")
    return child


def pipes(child: subprocess.Popen[str]) -> tuple[IO[str], IO[str]]:
    assert child.stdin is not None and child.stdout is not None
    return child.stdin, child.stdout


if __name__ == "__main__":
    sys.exit(main())
