"""The command by which a person drives the robot, and records demonstrations."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from robodx.cli.app import app
from robodx.cli.browser import open_browser
from robodx.cli.completing import task_names
from robodx.cli.interrupts import keeping
from robodx.cli.options import Json, Plugins, Quality, Robot, finite, load_plugins, located
from robodx.output import print_aside, print_text
from robodx.records.trial import DEFAULT_ROBOT
from robodx.running.limits import LAST_FIRST_SEED, MOST_SEEDS
from robodx.streams import FIRST_TRAINING_SEED
from robodx.terminal.console import print_json
from robodx.wires.base import check_host


@app.command(rich_help_panel="Data sets")
def teleop(
    task: Annotated[
        str,
        typer.Argument(
            metavar="TASK", help="The task to be driven, such as control/stack_cube.", autocompletion=task_names
        ),
    ],
    episodes: Annotated[int, typer.Option(help="Situations, one after the other.", min=1, max=MOST_SEEDS)] = 10,
    form: Annotated[str, typer.Option("--format", metavar="FORMAT", help="See: robodx list formats.")] = "lerobot",
    out: Annotated[Path | None, typer.Option(help="Data set to write; default: data/NAME.teleop.FORMAT.")] = None,
    operator: Annotated[str, typer.Option(metavar="NAME", help="Who drives; the data set's card says it.")] = "",
    pace: Annotated[
        float,
        typer.Option(
            help="World seconds in a second: 0.5 gives twice the time to think and to drive. Recorded is world time.",
            min=0.1,
            max=1.0,
            callback=finite,
        ),
    ] = 1.0,
    cameras: Annotated[
        str, typer.Option(metavar="CAMERA@SIZE,…", help="Cameras that are recorded, and the side of their pictures.")
    ] = "front@128,wrist@128",
    hz: Annotated[int, typer.Option(help="Steps per second that are kept: 20, 10, 5, 4, 2 or 1.", min=1, max=20)] = 20,
    first_seed: Annotated[
        int, typer.Option(help="First training seed.", min=0, max=LAST_FIRST_SEED)
    ] = FIRST_TRAINING_SEED,
    robot: Robot = DEFAULT_ROBOT,
    quality: Quality = "fast",
    licence: Annotated[str, typer.Option(help="Licence that the data set's card names.")] = "apache-2.0",
    host: Annotated[
        str, typer.Option(help="Network interface. Whoever has the printed address can drive.")
    ] = "127.0.0.1",
    port: Annotated[
        int | None,
        typer.Option(help="Port; 0 takes any free one. Default: 7860 or the next free one.", min=0, max=65535),
    ] = None,
    no_browser: Annotated[bool, typer.Option("--no-browser", help="Print the address, and open no browser.")] = False,
    as_json: Json = False,
    plugin: Plugins = [],  # noqa: B006
) -> None:
    """Drive the robot from a browser, with keyboard or gamepad, and record demonstrations.

    Keys: W S A D move the hand, R F lift and lower it, Q E turn it, space opens and closes it; Enter saves what is
    solved and goes on, Backspace throws an attempt away and begins it again, N leaves a situation out, Esc stops.
    Time stands still until the first key of an attempt.

    The data set is of the same kind as that of robodx generate, so that both can be mixed: give the same --hz and
    --cameras. Only solved episodes are in it, on seeds that no test uses. Esc and Ctrl-C keep what was saved; the same
    command goes on, and with fewer --episodes it writes what is there.
    """
    check_host(host)
    load_plugins(plugin)
    from robodx.cli.options import default_name
    from robodx.datasets.formats.base import FORMATS
    from robodx.running.generating import UNFINISHED, Generation
    from robodx.teleoperation.console import Console
    from robodx.teleoperation.serving import teleoperate
    from robodx.teleoperation.session import Session, Teleoperation

    generation = Generation(
        (task,), episodes, first_seed, cameras, hz, robot=robot, quality=quality, plugins=located(plugin)
    )
    asked = Teleoperation(generation, operator, pace)
    if out is None:
        Path("data").mkdir(exist_ok=True)
        out = Path("data") / f"{default_name([task], 'teleop')}{FORMATS[form].suffix or '.' + form}"
    session = Session.open(asked, out, form, Console())

    def tell_address(address: str) -> None:
        print_aside(f"Drive {asked.task} at {address} (Ctrl-C stops, and keeps what was saved)")
        if not no_browser:
            open_browser(address)

    with keeping(out.with_name(out.name + UNFINISHED)):
        found = teleoperate(session, tell_address, host=host, port=port, licence=licence, tell=print_aside)
    if as_json:
        print_json({**asdict(found), "data": str(found.data), "card": str(found.card)})
        return
    left_out = sum(found.failed.values())
    print_text(
        f"Wrote {found.data}: {found.episodes} episodes, {found.frames} frames"
        + (f"; {left_out} situations are left out." if left_out else "."),
        f"Its card is {found.card}. Look at it with: robodx data show {found.data}",
        sep="\n",
    )
