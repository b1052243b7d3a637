"""How much processor time a diagnosis takes, against a bare rollout of the same trials.

`robodx diagnose` runs in a process of its own, with its workers, films and report. Then a loop in this process runs the
trials of that diagnosis once more and keeps nothing: no expert beside them, no plan, no record. Their ratio means the
same on a busy machine. `make bench` runs it; JSON goes to .cache/bench-diagnosing.json.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from robodx.running.threads import pin

pin()

# ruff: noqa: E402  (threads are pinned before numpy is imported)
from robodx.policy_contract import opened
from robodx.records.table import load
from robodx.records.trial import Trial
from robodx.running.rollout import rollout

CACHE = Path(__file__).parent.parent / ".cache"
ROBODX = (sys.executable, "-c", "from robodx.cli import main; main()")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--policy", default="fault:ignores_negation")
    parser.add_argument("--workers", type=int, default=2)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        run = Path(folder) / "run"
        words = ["diagnose", asked.policy, "--workers", str(asked.workers), "--out", str(run)]
        start = time.perf_counter()
        subprocess.run([*ROBODX, *words], check=True, stdout=subprocess.DEVNULL)
        wall_s = time.perf_counter() - start
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        trials = [Trial.of_row(row) for row in load(run).iter_rows(named=True)]
    with opened(asked.policy) as policy:
        start = time.process_time()
        episodes = sum(1 for _ in rollout(trials, policy))
        bare_s = time.process_time() - start
    diagnosis_s = used.ru_utime + used.ru_stime
    found = {
        "policy": asked.policy,
        "workers": asked.workers,
        "episodes": episodes,
        "diagnosis_s": round(diagnosis_s, 1),
        "bare_s": round(bare_s, 1),
        "ratio": round(diagnosis_s / bare_s, 2),
        "wall_s": round(wall_s, 1),
    }
    print(json.dumps(found, indent=2))
    CACHE.mkdir(exist_ok=True)
    (CACHE / "bench-diagnosing.json").write_text(json.dumps(found, indent=2))


if __name__ == "__main__":
    main()
