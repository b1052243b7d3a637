"""Commands for data sets of demonstrations: what is in one, and one format made of another."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from robodx.cli.app import app
from robodx.cli.interrupts import stop_on_signals
from robodx.cli.options import Json, Plugins, load_plugins
from robodx.errors import UserError
from robodx.output import print_text
from robodx.running.limits import LAST_EPISODE
from robodx.terminal.console import counting_bar, print_json

data = typer.Typer(no_args_is_help=True, help="Read and convert data sets of demonstrations.")
app.add_typer(data, name="data", rich_help_panel="Data sets")

Source = Annotated[
    str, typer.Argument(metavar="PATH", help="Data set, or FORMAT:PATH to read it as one; see: robodx list formats.")
]


@data.command()
def show(
    path: Source,
    episode: Annotated[
        int | None, typer.Option(help="Tell of this episode, too; the first is 0.", min=0, max=LAST_EPISODE)
    ] = None,
    out: Annotated[
        Path | None, typer.Option("-o", "--out", metavar="FILM.mp4", help="Film of the episode; default: episode 0.")
    ] = None,
    as_json: Json = False,
    plugin: Plugins = [],  # noqa: B006
) -> None:
    """Show what is in a data set: robot, cameras, ranges of its numbers, instructions, success.

    Ranges, instructions and success are told from at most 200 episodes, spread evenly over all.
    """
    load_plugins(plugin)
    from robodx.datasets.formats.base import locate
    from robodx.datasets.survey import survey, survey_episode
    from robodx.terminal.data import episode_lines, lines

    located = locate(path)
    opened = located.open()
    with counting_bar("episodes") as advance:
        found = survey(located, opened, advance)
    number = 0 if episode is None and out is not None else episode
    if number is not None and number >= found.episodes:
        raise UserError(f"{path} has no episode {number}: it has {found.episodes}, and the first is 0")
    told = None if number is None else survey_episode(opened, number)
    if out is not None and number is not None:
        from robodx.video.demonstrations import film_demonstration

        film_demonstration(out, opened[number], opened.features.known_hz)
    if as_json:
        print_json({**asdict(found), "episode": told and asdict(told), "film": out and str(out)})
        return
    print_text(*lines(found), sep="\n")
    if told is not None:
        print_text(*episode_lines(told, found.hz), sep="\n")
    print_text(f"Wrote {out}" if out else "Add --episode N -o film.mp4 for a film of one.")


@data.command()
def convert(
    source: Source,
    target: Annotated[Path, typer.Argument(metavar="TARGET", help="Data set to write; it must not exist.")],
    form: Annotated[str, typer.Option("--format", metavar="FORMAT", help="See: robodx list formats.")],
    as_json: Json = False,
    plugin: Plugins = [],  # noqa: B006
) -> None:
    """Write a data set in another format, episode by episode.

    TARGET appears when it is whole; if the conversion is interrupted, nothing is left of it.
    """
    load_plugins(plugin)
    from robodx.datasets.formats.base import episodes, open_data
    from robodx.datasets.writing import check_target, write_data
    from robodx.terminal.console import tracked

    check_target(target, form)
    opened = open_data(source)
    stop_on_signals()
    write_data(target, form, opened.features, tracked(episodes(opened), len(opened), "episodes"))
    if as_json:
        print_json({"data": str(target), "format": form, "episodes": len(opened)})
    else:
        print_text(f"Wrote {target}: {len(opened)} episodes. Look at it with: robodx data show {target}")
