"""The command that writes demonstrations."""

from __future__ import annotations

import sys
from contextlib import redirect_stdout
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from robodx.cli.app import app
from robodx.cli.completing import selector_names
from robodx.cli.interrupts import keeping
from robodx.cli.options import Json, Plugins, Quality, Robot, Workers, finite, load_plugins, located
from robodx.output import print_aside, print_text
from robodx.records.trial import DEFAULT_ROBOT
from robodx.running.limits import LAST_FIRST_SEED, MOST_SEEDS
from robodx.streams import FIRST_TRAINING_SEED
from robodx.terminal.console import print_json, progress_bar, tracked


@app.command(rich_help_panel="Data sets")
def generate(
    selectors: Annotated[
        list[str],
        typer.Argument(
            metavar="TASK…",
            autocompletion=selector_names,
            help="Tasks, families, tiers or suites, such as control/easy; or a set by name: alpha (100 episodes of "
            "each task that is not kept for evaluation) or beta (10).",
        ),
    ],
    form: Annotated[str, typer.Option("--format", metavar="FORMAT", help="See: robodx list formats.")] = "lerobot",
    episodes: Annotated[
        int | None, typer.Option("--episodes", help="Situations per task.", min=1, max=MOST_SEEDS)
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Data set to write; default: data/NAME.FORMAT.")] = None,
    cameras: Annotated[
        str, typer.Option(metavar="CAMERA@SIZE,…", help="Cameras, and the side of their pictures in pixels.")
    ] = "front@128,wrist@128",
    hz: Annotated[int, typer.Option(help="Steps per second that are kept: 20, 10, 5, 4, 2 or 1.", min=1, max=20)] = 20,
    disturb: Annotated[
        float,
        typer.Option(
            metavar="METRES",
            help="Carry the hand off its way in every second episode, by offsets with this standard deviation, and "
            "record what the expert answers: recoveries. 0.006 is usual.",
            min=0.0,
            max=0.1,
            callback=finite,
        ),
    ] = 0.0,
    random_rooms: Annotated[
        bool,
        typer.Option(
            "--random-rooms",
            help="Two of every four seeds in rooms drawn at random: materials, colours and light. The others are in "
            "the familiar rooms; the unseen ones of robustness stay for evaluation.",
        ),
    ] = False,
    first_seed: Annotated[
        int, typer.Option(help="First training seed.", min=0, max=LAST_FIRST_SEED)
    ] = FIRST_TRAINING_SEED,
    robot: Robot = DEFAULT_ROBOT,
    quality: Quality = "fast",
    licence: Annotated[str, typer.Option(help="Licence that the data set's card names.")] = "apache-2.0",
    workers: Workers = 1,
    as_json: Json = False,
    plugin: Plugins = [],  # noqa: B006
) -> None:
    """Write a data set of the expert's demonstrations, with a card.

    Only solved episodes are in it, on seeds that no test uses. Ctrl-C keeps finished episodes, and the same command
    goes on; the data set appears when it is whole.
    """
    load_plugins(plugin)
    from robodx.cli.options import default_name
    from robodx.datasets.formats.base import FORMATS
    from robodx.running.generating import UNFINISHED, Generation, record, write
    from robodx.running.run import Execution

    asked = Generation(
        tuple(selectors), episodes, first_seed, cameras, hz, disturb, random_rooms, robot, quality, located(plugin)
    )  # fmt: skip
    if out is None:
        Path("data").mkdir(exist_ok=True)
        out = Path("data") / f"{default_name(selectors, '')[:-1]}{FORMATS[form].suffix or '.' + form}"
    with keeping(out.with_name(out.name + UNFINISHED)), redirect_stdout(sys.stderr):
        with progress_bar() as progress:
            recorded = record(asked, out, form, Execution(workers), observers=[progress], tell=print_aside)
        found = write(recorded, licence=licence, tracked=lambda each, total: tracked(each, total, "episodes written"))
    if as_json:
        print_json({**asdict(found), "data": str(found.data), "card": str(found.card)})
        return
    failed = sum(found.failed.values())
    print_text(
        f"Wrote {found.data}: {found.episodes} episodes, {found.frames} frames; "
        + (f"{failed} that the expert did not solve are left out." if failed else "the expert solved all."),
        f"Its card is {found.card}. Look at it with: robodx data show {found.data}",
        sep="\n",
    )
