"""Commands that read runs: summaries, comparisons, reports, the viewer, and merging."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from robodx.cli.app import app
from robodx.cli.browser import open_browser
from robodx.cli.films import film_examples
from robodx.cli.interrupts import stop_on_signals
from robodx.cli.options import (
    Films,
    Json,
    Margin,
    PlainFilms,
    Plugins,
    Run,
    finite,
    load_plugins,
    located,
)
from robodx.errors import UserError
from robodx.output import print_aside, print_text
from robodx.running.limits import LARGEST_PAGE_MB
from robodx.terminal.console import counting_bar, print_json
from robodx.wires.base import check_host

# Of trajectory files that are not what was recorded; JSON has all.
SHOWN_FILES = 20


@app.command(rich_help_panel="Read")
def summary(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN...", help="Run folders.")],
    by: Annotated[
        str | None, typer.Option(metavar="task|family|tier|perturbation", help="Print only the table by this.")
    ] = None,
    metric: Annotated[
        list[str], typer.Option(help="Show this metric instead of success; repeatable. See: robodx list metrics.")
    ] = [],  # noqa: B006
    motion: Annotated[bool, typer.Option("--motion", help="Add motion quality and policy latency.")] = False,
    failures: Annotated[bool, typer.Option("--failures", help="Add every failed episode with its evidence.")] = False,
    distance: Annotated[
        str,
        typer.Option(
            metavar="frechet|dtw|hausdorff|endpoint", help="Judge metamorphic pairs by this distance between paths."
        ),
    ] = "frechet",
    as_json: Json = False,
    plugin: Plugins = [],  # noqa: B006
) -> None:
    """Print success rates with intervals, and failures by cause. Errors are counted separately.

    Of several runs: a table with a line for each, then each by itself; nothing is averaged over runs. JSON is a list.
    """
    load_plugins(plugin)
    from robodx.terminal.summary import print_summaries, print_summary

    if len(runs) > 1:
        print_summaries(
            runs, as_json=as_json, by=by, metrics=metric, motion=motion, failures=failures, distance=distance
        )
    else:
        print_summary(
            runs[0], as_json=as_json, by=by, metrics=metric, motion=motion, failures=failures, distance=distance
        )


@app.command(rich_help_panel="Read")
def report(
    runs: Annotated[
        list[Path],
        typer.Argument(metavar="RUN...", help="Run folders of one policy, or of several policies to compare."),
    ],
    out: Annotated[Path | None, typer.Option("-o", "--out", help="Output file; default: RUN/report.html.")] = None,
    title: Annotated[str | None, typer.Option(help="Title of the page; default: the policies' names.")] = None,
    videos: Annotated[
        str,
        typer.Option(
            metavar="embed|link|none", help="Embed videos up to --embed-mb, link to their files, or omit them."
        ),
    ] = "embed",
    embed_mb: Annotated[
        float,
        typer.Option(
            help="Largest total size of embedded videos, in megabytes.", min=0, max=LARGEST_PAGE_MB, callback=finite
        ),
    ] = 20.0,
    films: Films = 0,
    plain_films: PlainFilms = False,
    markdown: Annotated[
        bool, typer.Option("--markdown", help="Write Markdown, for a pull request; printed unless -o is given.")
    ] = False,
    latex: Annotated[
        bool,
        typer.Option("--latex", help="Write its tables as LaTeX (booktabs), for a paper; printed unless -o is given."),
    ] = False,
    as_json: Json = False,
    plugin: Plugins = [],  # noqa: B006
) -> None:
    """Write the diagnosis as one HTML file: what a policy can do, when it breaks, why, and what to fix.

    Runs of the same policy are joined into one diagnosis. Other policies are compared with the first one.
    """
    load_plugins(plugin)
    from robodx.report.material import gather
    from robodx.report.page import FILE_NAME, write, write_report
    from robodx.report.page import report as make_report
    from robodx.report.videos import mode

    forms = [name for name, is_asked in (("json", as_json), ("markdown", markdown), ("latex", latex)) if is_asked]
    if len(forms) > 1:
        raise UserError(f"--{forms[0]} and --{forms[1]} exclude each other: choose one")
    material = film_examples(gather(runs), films, is_plain=plain_films)
    for problem in material.problems:
        print_aside(problem)
    if forms:
        found = make_report(material, title=title, videos="none")
        if out is None and as_json:
            print_json(found.as_dict())
            return
        text = found.json() if as_json else found.markdown() if markdown else found.latex()
        if out is None:
            print_text(text)
            return
        size = write(out, f"{text}\n")
    else:
        out = write_report(material, out or runs[0] / FILE_NAME, title=title, videos=mode(videos), embed_mb=embed_mb)
        size = out.stat().st_size
    print_text(f"Wrote {out} ({size / 1e6:.1f} MB).")


@app.command(rich_help_panel="Read")
def view(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Run folder, or a folder that contains runs.")] = Path(
        "runs"
    ),
    host: Annotated[
        str, typer.Option(help="Network interface; any other than this machine's own needs a token, which is printed.")
    ] = "127.0.0.1",
    port: Annotated[
        int | None,
        typer.Option(help="Port; 0 takes any free one. Default: 7860 or the next free one.", min=0, max=65535),
    ] = None,
    no_browser: Annotated[bool, typer.Option("--no-browser", help="Print the address, and open no browser.")] = False,
    no_films: Annotated[
        bool, typer.Option("--no-films", help="Draw no films on demand: nothing is written but reviews.")
    ] = False,
    plugin: Plugins = [],  # noqa: B006
) -> None:
    """View episodes in a browser: filter, play and compare them, also during a run. Ctrl-C stops the viewer.

    Two things are written: films that you ask for there, into the videos of their run (an episode of a plugin's task
    needs its --plugin), and labels, where something is to be reviewed by people (robodx review).
    """
    check_host(host)
    from robodx.report.viewer.drawing import Films
    from robodx.report.viewer.serving import view as serve_viewer
    from robodx.video.on_demand import draw_film

    def tell(address: str) -> None:
        print_text(f"Viewing {folder} at {address} (Ctrl-C stops it)", flush=True)
        if not no_browser:
            open_browser(address)

    stop_on_signals()
    films = None if no_films else Films(partial(draw_film, plugins=located(plugin)))
    serve_viewer(folder, tell, host=host, port=port, films=films)


@app.command(rich_help_panel="Read")
def compare(
    first: Annotated[Path, typer.Argument(metavar="A", help="Run folder of the baseline.")],
    second: Annotated[Path, typer.Argument(metavar="B", help="Run folder of the candidate.")],
    margin: Margin = 0.1,
    fail_on_regression: Annotated[
        bool, typer.Option("--fail-on-regression", help="Exit with status 1 if B regressed overall.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Compare run B with run A: improved, regressed, held or undecided, by task and overall.

    Trials that both runs have are compared in pairs. "Held" means that the difference is shown to be within the margin.
    """
    from robodx.terminal.comparison import print_comparison

    if not print_comparison(first, second, margin=margin, as_json=as_json) and fail_on_regression:
        raise typer.Exit(1)


@app.command(rich_help_panel="Read")
def merge(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN...", help="Run folders of all shards.")],
    out: Annotated[Path, typer.Option(help="Folder of the merged run.")],
    as_json: Json = False,
) -> None:
    """Merge the shards of a run that was split over machines with --shard."""
    from robodx.records.merge import merge as put_together
    from robodx.records.trajectory_files import unsound_files
    from robodx.terminal.summary import print_summary

    for line in _shown(list(unsound_files(out, put_together(runs, out)).values())):
        print_aside(line)
    print_summary(out, as_json=as_json)


@app.command(rich_help_panel="Read")
def diff(
    first: Run,
    second: Run,
    tables: Annotated[
        bool, typer.Option("--tables", help="Compare the recorded hashes without reading the trajectory files.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Compare two runs trial by trial, bit for bit. Exits with status 1 if they differ.

    A trajectory file that is missing, damaged or of another episode than its run recorded counts as different.
    """
    from robodx.analysis.diff import diff as compare

    with counting_bar("trajectory files") as advance:
        found = compare(first, second, by_tables=tables, advance=advance)
    if as_json:
        print_json({**asdict(found), "is_same": found.is_same})
    else:
        for line in found.versions:
            print_text(f"versions differ: {line}")
        for one in found.different:
            print_text(f"{one.task} seed {one.seed} repeat {one.repeat}: {one.first} / {one.second}")
        for count, where in ((found.only_first, first), (found.only_second, second)):
            if count:
                print_text(f"{count} trials only in {where}")
        for line in _shown(found.unsound):
            print_text(line)
        lost = f", {len(found.unsound)} files do not hold what was recorded" if found.unsound else ""
        print_text(f"{found.same} trajectories are the same, {len(found.different)} differ{lost}.")
    if not found.is_same:
        raise typer.Exit(1)


def _shown(lines: Sequence[str]) -> list[str]:
    more = len(lines) - SHOWN_FILES
    return [*lines[:SHOWN_FILES], *([f"and {more} more trajectory files"] if more > 0 else [])]
