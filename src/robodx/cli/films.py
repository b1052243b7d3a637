"""Films of what findings show."""

from __future__ import annotations

import sys
from pathlib import Path

from robodx.terminal.console import counting_bar


def film_examples(runs: list[Path], films: int) -> None:
    """Of each finding some episodes that show it; without OpenGL there are none, which is said."""
    if not films:
        return
    from robodx.analysis.findings.diagnose import diagnose_runs
    from robodx.running.filming import film_trials
    from robodx.sim import gl

    if not gl.status().is_available:
        print("No OpenGL here, so that nothing is filmed: see robodx doctor.", file=sys.stderr)
        return
    shown = {trial for one in diagnose_runs(runs) for finding in one.findings for trial in finding.examples[:films]}
    with counting_bar("films") as progress:
        done = 0
        for run in runs:
            for _ in film_trials(run, shown):
                done += 1
                progress(done, len(shown))
