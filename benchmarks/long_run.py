"""What a long run costs besides its episodes: the driver's memory, and how long it takes to resume and to summarise.

1,000 short episodes by the expert, into a folder that is removed afterwards. `make bench` runs it.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from robodx.running.threads import pin

pin()

# ruff: noqa: E402  (threads are pinned before numpy is imported)
from robodx.records.episode import Episode
from robodx.running.request import Request
from robodx.running.run import run

EPISODES = 1000
SELECTOR, POLICY = "primitive/press_switch", "expert"
# When caches are filled and every library has been used once.
SETTLED = 200
RESUME_S, SUMMARY_S, GROWTH = 2.0, 1.0, 1.05
ROBODX = (sys.executable, "-c", "from robodx.cli import main; main()")


def main() -> None:
    memory: dict[int, float] = {}

    def note(episode: Episode | None, *, done: int, total: int, solved: int) -> None:
        memory[done] = resident_mib()

    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "run"
        seconds = timed(lambda: run(Request((SELECTOR,), POLICY, EPISODES), out, observers=[note]))
        words = ("run", SELECTOR, "--policy", POLICY, "--seeds", str(EPISODES), "--out", str(out))
        resume = timed(lambda: subprocess.run([*ROBODX, *words], check=True, capture_output=True))
        summary = timed(lambda: subprocess.run([*ROBODX, "summary", str(out)], check=True, capture_output=True))
    print(f"{EPISODES} episodes in {seconds:.0f} s, memory {memory[SETTLED]:.0f} MiB after {SETTLED}")
    tell("memory at the end, of that after the first 200", memory[EPISODES] / memory[SETTLED], GROWTH, "×")
    tell("resuming, from the command to its end", resume, RESUME_S, "s")
    tell("summary", summary, SUMMARY_S, "s")


def timed(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def resident_mib() -> float:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    raise RuntimeError("this system does not say how much memory a process has")


def tell(name: str, value: float, at_most: float, unit: str) -> None:
    verdict = "ok" if value <= at_most else "MISSED"
    print(f"{name:58} {value:7.2f} {unit}   goal at most {at_most:.2f}   {verdict}")


if __name__ == "__main__":
    main()
