"""What runs say: summaries, comparisons, the page and the viewer; and runs put together."""

from __future__ import annotations

import os
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from robodx.cli.app import app
from robodx.cli.films import film_examples
from robodx.cli.interrupts import stop_on_signals
from robodx.cli.options import Films, Json, Margin, Plugins, Run, load_plugins
from robodx.errors import UserError
from robodx.terminal.console import print_json


@app.command(rich_help_panel="Read")
def summary(
    run: Run,
    by: Annotated[
        str | None, typer.Option(metavar="task|family|tier|perturbation", help="This one table instead of the usual.")
    ] = None,
    metric: Annotated[
        list[str], typer.Option(help="Show this metric instead; may be given several times. See: robodx list metrics.")
    ] = [],  # noqa: B006
    motion: Annotated[bool, typer.Option("--motion", help="Also how it moves and how fast it answers.")] = False,
    failures: Annotated[bool, typer.Option("--failures", help="Also every failed episode, and what it shows.")] = False,
    as_json: Json = False,
    plugin: Plugins = [],  # noqa: B006
) -> None:
    """Print success with intervals by task, family, tier and perturbation, and how it fails. Errors count apart."""
    load_plugins(plugin)
    from robodx.terminal.summary import print_summary

    print_summary(run, as_json=as_json, by=by, metrics=metric, motion=motion, failures=failures)


@app.command(rich_help_panel="Read")
def report(
    runs: Annotated[
        list[Path], typer.Argument(metavar="RUN...", help="Run folders: of one policy, or of several to be compared.")
    ],
    out: Annotated[
        Path | None, typer.Option("-o", "--out", help="The file; without, a page goes to RUN/report.html.")
    ] = None,
    title: Annotated[str | None, typer.Option(help="Instead of the policies' names.")] = None,
    videos: Annotated[
        str, typer.Option(metavar="embed|link|none", help="Within the page up to --embed-mb, or as files beside it.")
    ] = "embed",
    embed_mb: Annotated[float, typer.Option(help="How many megabytes of videos the page may carry.", min=0)] = 20.0,
    films: Films = 0,
    markdown: Annotated[
        bool, typer.Option("--markdown", help="Markdown instead, as for a pull request; printed unless -o is given.")
    ] = False,
    as_json: Json = False,
    plugin: Plugins = [],  # noqa: B006
) -> None:
    """Write the diagnosis as one page that needs nothing else: what a policy can do, when it breaks, why, what to fix.

    Runs of the same policy are one diagnosis; the first policy is what others are compared with.
    """
    load_plugins(plugin)
    from robodx.report.material import gather
    from robodx.report.page import FILE_NAME, write, write_report
    from robodx.report.page import report as make_report
    from robodx.report.videos import mode

    if as_json and markdown:
        raise UserError("--json and --markdown are two forms of the same: choose one")
    material = film_examples(gather(runs), films)
    if as_json or markdown:
        found = make_report(material, title=title, videos="none")
        text = found.json() if as_json else found.markdown()
        if out is None:
            print(text)
            return
        size = write(out, f"{text}\n")
    else:
        out = write_report(material, out or runs[0] / FILE_NAME, title=title, videos=mode(videos), embed_mb=embed_mb)
        size = out.stat().st_size
    print(f"Wrote {out} ({size / 1e6:.1f} MB).")


@app.command(rich_help_panel="Read")
def view(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A run folder, or a folder of runs.")] = Path("runs"),
    host: Annotated[
        str, typer.Option(help="Which interface; any but this machine's own needs a token, which is then printed.")
    ] = "127.0.0.1",
    port: Annotated[
        int | None, typer.Option(help="0 takes any free one. Unless given 7860 or the next free.", min=0, max=65535)
    ] = None,
    no_browser: Annotated[bool, typer.Option("--no-browser", help="Only print the address.")] = False,
) -> None:
    """Look at episodes in a browser: filter, play and compare them, also while they are being made; until Ctrl-C."""
    import webbrowser

    from robodx.report.viewer.serving import view as serve_viewer

    has_screen = sys.platform in ("darwin", "win32") or not os.environ.keys().isdisjoint({"DISPLAY", "WAYLAND_DISPLAY"})

    def tell(address: str) -> None:
        print(f"Viewing {folder} at {address} (Ctrl-C ends it)", flush=True)
        if has_screen and not no_browser:
            webbrowser.open(address)

    stop_on_signals()
    serve_viewer(folder, tell, host=host, port=port)


@app.command(rich_help_panel="Read")
def compare(
    first: Annotated[Path, typer.Argument(metavar="A", help="The run to be measured against.")],
    second: Annotated[Path, typer.Argument(metavar="B", help="The run to be judged.")],
    margin: Margin = 0.1,
    fail_on_regression: Annotated[
        bool, typer.Option("--fail-on-regression", help="Exit with 1 if B regressed over all.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Say whether policy B improved on policy A, regressed, held, or whether that is undecided, by task and over all.

    Trials that both runs have are compared in pairs. Held means that the difference was shown to be within the margin.
    """
    from robodx.terminal.comparison import print_comparison

    if not print_comparison(first, second, margin=margin, as_json=as_json) and fail_on_regression:
        raise typer.Exit(1)


@app.command(rich_help_panel="Read")
def merge(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN...", help="The parts of one run.")],
    out: Annotated[Path, typer.Option(help="The folder of the whole.")],
    as_json: Json = False,
) -> None:
    """Put together a run that was split over machines with --shard."""
    from robodx.records.merge import merge as put_together
    from robodx.terminal.summary import print_summary

    put_together(runs, out)
    print_summary(out, as_json=as_json)


@app.command(rich_help_panel="Read")
def diff(first: Run, second: Run, as_json: Json = False) -> None:
    """Compare two runs trial by trial, bit for bit. Exits with 1 if they differ."""
    from robodx.analysis.diff import diff as compare

    found = compare(first, second)
    if as_json:
        print_json({**asdict(found), "is_same": found.is_same})
    else:
        for line in found.versions:
            print(f"versions differ: {line}")
        for one in found.different:
            print(f"{one.task} seed {one.seed} repeat {one.repeat}: {one.first} / {one.second}")
        for count, where in ((found.only_first, first), (found.only_second, second)):
            if count:
                print(f"{count} trials only in {where}")
        print(f"{found.same} trajectories are the same, {len(found.different)} differ.")
    if not found.is_same:
        raise typer.Exit(1)
