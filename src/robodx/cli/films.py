"""Videos of the pairs of causes, and of example episodes of each finding."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import TYPE_CHECKING

from robodx.output import print_text
from robodx.terminal.console import counting_bar

if TYPE_CHECKING:
    from robodx.report.material import Material


def film_examples(material: Material, films: int, *, is_plain: bool = False) -> Material:
    """Film the pairs of causes and examples of each finding and symptom; return the material with the new videos.

    Prints a line for each episode that cannot be filmed, and one if there is no OpenGL.
    """
    if not films:
        return material
    from robodx.report.material import films_of
    from robodx.sim import gl
    from robodx.video.filming import film_trials

    if not gl.status().is_available:
        print_text("OpenGL is missing, so no videos are made; see: robodx doctor.", file=sys.stderr)
        return material
    examples = [trial for one in material.diagnoses for each in one.examples for trial in each[:films]]
    shown = list(dict.fromkeys([*material.paired, *examples]))
    problems: list[str] = []
    with counting_bar("films") as progress:
        done = 0
        for run in material.runs:
            for _ in film_trials(run.path, shown, problems.append, is_plain=is_plain):
                done += 1
                progress(done, len(shown))
    for problem in problems:
        print_text(problem, file=sys.stderr)
    return replace(material, films=films_of(material.runs))
