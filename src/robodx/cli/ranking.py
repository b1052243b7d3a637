"""The command that ranks policies."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from robodx.analysis.wording import listed
from robodx.cli.app import app
from robodx.cli.options import Json, Plugins, load_plugins
from robodx.errors import UserError
from robodx.output import print_aside, print_text
from robodx.terminal.console import print_json

# By what a run is known, damaged or not.
OF_A_RUN = ("run.json", "episodes")
# Of what is skipped.
MOST_NAMED = 5
# Prints in place of writing.
PRINTED = Path("-")


@app.command(rich_help_panel="Read")
def leaderboard(
    runs: Annotated[
        list[Path],
        typer.Argument(metavar="RUN...", help="Run folders of two policies or more; those of one policy are joined."),
    ],
    html: Annotated[Path | None, typer.Option(metavar="FILE", help="Write one HTML page, which opens offline.")] = None,
    csv: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write one row for each policy as CSV; - prints it.")
    ] = None,
    latex: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write LaTeX tables (booktabs) for a paper; - prints them.")
    ] = None,
    title: Annotated[str | None, typer.Option(help="Title of the page.")] = None,
    as_json: Json = False,
    plugin: Plugins = [],  # noqa: B006
) -> None:
    """Rank policies on the situations that all of them were run on, as far as the evidence tells them apart.

    A rank of 1–2 says that the tests leave open whether the policy is first or second: pairs of policies are tested on
    the same situations, as in robodx compare, and adjusted for their number. Stressed episodes are left out.
    Policies that read the simulator's state (privileged ones) stand below, without a rank. Of several names, those
    of files and folders that are no runs are skipped, so that runs/* will do.

    For example: robodx leaderboard runs/vision runs/act runs/expert --html board.html
    """
    load_plugins(plugin)
    from robodx.records.flat import to_csv
    from robodx.report import leaderboard as board
    from robodx.report.material import gather
    from robodx.report.page import write
    from robodx.terminal.leaderboard import as_dict, lines

    if sum([as_json, csv == PRINTED, latex == PRINTED]) > 1:
        raise UserError("--json, --csv - and --latex - exclude each other: choose one to be printed")
    if len(places := [path.resolve() for path in (html, csv, latex) if path not in (None, PRINTED)]) > len(set(places)):
        raise UserError("--html, --csv and --latex need a file each")
    if html == PRINTED:
        raise UserError("--html writes a file, as --html leaderboard.html: a page is not printed")
    material = gather(_without_others(runs))
    for problem in material.problems:
        print_aside(problem)
    found = board.ranked(material)
    forms: list[tuple[Path | None, Callable[[], str]]] = [
        (html, lambda: board.page(material, found, title).html()),
        (csv, lambda: to_csv(board.table(found))),
        (latex, lambda: board.tex(found)),
    ]
    for path, text in forms:
        if path == PRINTED:
            print_text(text().rstrip("\n"))
        elif path is not None:
            print_aside(f"Wrote {path} ({write(path, text()) / 1e3:.0f} kB).")
    if as_json:
        unfinished = [str(run.path) for run in material.runs if not run.is_finished]
        print_json({**as_dict(found), "problems": list(material.problems), "unfinished": unfinished})
    elif PRINTED not in (csv, latex):
        print_text(*lines(found), sep="\n")


def _without_others(paths: list[Path]) -> list[Path]:
    """The runs among what a shell makes of runs/*; a name of nothing is a mistake, and so is one with no run at all."""
    others = [path for path in paths if path.exists() and not any((path / one).exists() for one in OF_A_RUN)]
    kept = [path for path in paths if path not in others]
    if not kept:
        return paths
    if others:
        says = "is no run folder" if len(others) == 1 else "are no run folders"
        print_aside(f"Skipped: {listed([str(path) for path in others], most=MOST_NAMED)} {says}.")
    return kept
