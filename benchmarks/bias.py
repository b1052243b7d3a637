"""How long the suite `bias` takes with a camera: one 128×128 picture at every control step of every episode.

The expert's commands are recorded first and then played back by a policy that asks for the picture and does not look at
it, so that what is timed is RoboDx alone. Beside it, in the same run, the same episodes without pictures. `make bench`
runs a tenth of the suite (four minutes); `--full` the whole (half an hour).
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

from robodx.registry import load_plugin
from robodx.running.request import Request
from robodx.running.run import Execution, run
from robodx.terminal.console import progress_bar

PLUGIN = Path(__file__).parent / "camera_replay.py"
CELLS, SEEDS = 11_370, 5
GOAL_MIN = 30.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--full", action="store_true")
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()
    load_plugin(str(PLUGIN))
    selectors = ("bias",) if options.full else ("bias/quick",)
    with tempfile.TemporaryDirectory() as folder:
        recorded = Path(folder) / "recorded"
        played = f"trial_replay:{recorded}"
        bare_s, _, _ = timed(Request(selectors, "expert", SEEDS), recorded, options.workers)
        request = Request(selectors, played, SEEDS, plugins=(str(PLUGIN),))
        total_s, episodes, solved = timed(request, Path(folder) / "replayed", options.workers)
    # Trials that two grids share are run once.
    whole_min = total_s / episodes * CELLS / 60
    print(
        f"{episodes} episodes with a picture at every step in {total_s:.0f} s, {solved} solved; "
        f"{total_s / bare_s:.2f} times as long as by the expert without pictures ({bare_s:.0f} s)"
    )
    print(
        f"{CELLS} episodes at this speed: {whole_min:.1f} minutes, {options.workers} workers; "
        f"goal {GOAL_MIN:.0f} minutes   {'ok' if whole_min <= GOAL_MIN else 'MISSED'}"
    )


def timed(request: Request, out: Path, workers: int) -> tuple[float, int, int]:
    """Seconds, episodes, and how many of them were solved."""
    start = time.perf_counter()
    with progress_bar() as progress:
        episodes = run(request, out, Execution(workers=workers), observers=[progress])
    return time.perf_counter() - start, len(episodes), int(episodes["success"].sum())


if __name__ == "__main__":
    main()
