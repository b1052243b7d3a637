"""Films of what findings show."""

from __future__ import annotations

import sys
from pathlib import Path

from robodx.terminal.console import counting_bar


def film_examples(runs: list[Path], films: int) -> None:
    """Of each finding some episodes that show it; what cannot be filmed is said, and so is that there is no OpenGL."""
    if not films:
        return
    from robodx.report.material import gather
    from robodx.running.filming import film_trials
    from robodx.sim import gl

    if not gl.status().is_available:
        print("No OpenGL here, so that nothing is filmed: see robodx doctor.", file=sys.stderr)
        return
    # As the page is made, which shows whatever can be read.
    diagnoses = [one.diagnosis for one in gather(runs).subjects if one.diagnosis is not None]
    shown = {trial for one in diagnoses for finding in one.findings for trial in finding.examples[:films]}
    problems: list[str] = []
    with counting_bar("films") as progress:
        done = 0
        for run in runs:
            for _ in film_trials(run, shown, problems.append):
                done += 1
                progress(done, len(shown))
    for problem in problems:
        print(problem, file=sys.stderr)
