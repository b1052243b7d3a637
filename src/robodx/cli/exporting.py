"""The command that writes runs in the forms of other tools."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from robodx.cli.app import app
from robodx.cli.interrupts import stop_on_signals
from robodx.cli.options import Json, Plugins, Run, load_plugins
from robodx.errors import UserError
from robodx.output import print_aside, print_text
from robodx.terminal.console import counted, counting_bar, print_json

MOST_FAILURES = 10_000


@app.command(rich_help_panel="Read")
def export(
    run: Run,
    to: Annotated[str, typer.Option("--to", metavar="csv|parquet|wandb|rerun", help="Form; see: robodx list exports.")],
    out: Annotated[
        Path | None,
        typer.Option("-o", "--out", help="File, or folder to write to; default: in RUN, as RUN/NAME.csv."),
    ] = None,
    trial: Annotated[
        list[str], typer.Option(metavar="ID", help="Export this episode only, by its trial id; repeatable.")
    ] = [],  # noqa: B006
    failures: Annotated[
        int | None,
        typer.Option(
            help="Export up to so many failed episodes only, of as many tasks as there are; rerun: 10 by default.",
            min=1,
            max=MOST_FAILURES,
        ),
    ] = None,
    offline: Annotated[
        bool, typer.Option("--offline", help="wandb: write an offline run, which wandb sync uploads later.")
    ] = False,
    project: Annotated[str | None, typer.Option(help="wandb: name of the project; default: robodx.")] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Replace what an earlier export wrote; a W&B run on a server goes on.")
    ] = False,
    as_json: Json = False,
    plugin: Plugins = [],  # noqa: B006
) -> None:
    """Write a run as a table (CSV, parquet), to Weights & Biases, or as rerun recordings.

    An export appears when it is whole; if it is interrupted, nothing is left of it. W&B and rerun need
    pip install 'robodx[wandb]' or 'robodx[rerun]'.

    For example: robodx export runs/guess --to csv, robodx export runs/guess --to rerun --failures 5 -o films
    """  # fmt: skip
    load_plugins(plugin)
    from robodx.exports.base import EXPORTERS, Wishes, place_for, read
    from robodx.exports.base import export as write

    entry = EXPORTERS[to]
    given = {"--offline": offline, "--project": project is not None}
    if strange := [name for name, is_given in given.items() if is_given and name not in entry.knows]:
        raise UserError(f"{strange[0]} says nothing to the export {to}")
    if trial and failures is not None:
        raise UserError("--trial and --failures exclude each other: name episodes, or say how many")
    # As W&B itself reads them.
    is_offline = offline or os.environ.get("WANDB_MODE") in ("offline", "dryrun")
    project = project or os.environ.get("WANDB_PROJECT")
    wishes = Wishes(tuple(trial), failures, is_offline, project, force)
    source = read(run, entry, wishes)
    if not source.is_finished:
        print_aside(f"{run} is not finished: these are its episodes so far.")
    place = place_for(source, entry, out)
    stop_on_signals()
    with counting_bar(f"steps of the export to {to}") as advance:
        written = write(source, entry, place, wishes, advance)
    if as_json:
        print_json({"to": to, "episodes": len(source.episodes), "written": [str(path) for path in written]})
        return
    episodes = counted(len(source.episodes), "episode")
    for path in written:
        print_text(f"Wrote {path}")
    print_text(f"{episodes} of {run}{'' if written else ' sent'}.")
