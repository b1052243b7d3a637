"""`robodx cliff`: the severity at which success falls to half."""

from __future__ import annotations

import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import Annotated

import typer

from robodx.cli.app import app
from robodx.cli.completing import policy_names, stressor_names, task_names
from robodx.cli.interrupts import keeping
from robodx.cli.options import (
    Json,
    Plugins,
    Preset,
    Quality,
    Robot,
    RunFolder,
    Workers,
    default_name,
    load_plugins,
    located,
)
from robodx.errors import UserError
from robodx.output import print_aside
from robodx.records.trial import DEFAULT_ROBOT
from robodx.terminal.console import progress_bar


@app.command(rich_help_panel="Run")
def cliff(
    task: Annotated[str, typer.Argument(help="Task id, for example primitive/pick_cube.", autocompletion=task_names)],
    policy: Annotated[
        str, typer.Option(help="Policy to evaluate; see: robodx list policies.", autocompletion=policy_names)
    ],
    stressor: Annotated[
        str, typer.Option(help="Stressor to increase; see: robodx list perturbations.", autocompletion=stressor_names)
    ],
    episodes: Annotated[
        int, typer.Option(help="Largest number of episodes; it stops earlier if it can.", min=8, max=1000)
    ] = 60,
    most: Annotated[
        str | None, typer.Option("--max", metavar="LEVEL", help="Largest severity to test; default: the last level.")
    ] = None,
    preset: Preset = None,
    out: RunFolder = None,
    clock: Annotated[str, typer.Option(help="Clock, as for robodx run.")] = "lockstep",
    workers: Workers = 1,
    quality: Quality = "fast",
    robot: Robot = DEFAULT_ROBOT,
    as_json: Json = False,
    plugin: Plugins = [],  # noqa: B006
) -> None:
    """Find the severity at which a policy's success falls to half of what it is without stress.

    Each episode is a new situation, at the severity that tells most. Ctrl-C keeps finished episodes; the same command
    resumes the search.
    """
    load_plugins(plugin)
    from robodx.records.table import load
    from robodx.running.request import Request
    from robodx.running.run import Execution
    from robodx.running.run import run as execute_run
    from robodx.suites.base import SuiteRequest, find_suite
    from robodx.suites.cliff import Search
    from robodx.terminal.cliff import note, print_cliff

    selector = f"cliff/{stressor}{'' if most is None else f'={most}'}/{task}"
    request = Request(
        selectors=(selector,),
        policy=policy,
        preset=preset,
        seeds=episodes,
        robot=robot,
        clock=clock,
        quality=quality,
        plugins=located(plugin),
    )
    search = Search.of(SuiteRequest(request.label, episodes, robot, clock=clock, within=find_suite(selector)[1]))
    folder = out or Path("runs") / default_name([selector], request.label)
    _check_budget(folder, selector, episodes)
    with (
        keeping(folder),
        progress_bar(lambda: note(search.read(load(folder))), most=episodes) as progress,
        redirect_stdout(sys.stderr),
    ):
        execute_run(request, folder, Execution(workers=workers), observers=[progress], tell=print_aside)
    print_cliff(folder, search, as_json=as_json)


def _check_budget(folder: Path, selector: str, episodes: int) -> None:
    """Another budget makes another search: the error names --episodes, the option that the user gave."""
    from robodx.records.about import read_about

    there = read_about(folder, needs=("request.seeds",))["request"] if (folder / "run.json").exists() else {}
    if there.get("selectors") == [selector] and there["seeds"] != episodes:
        raise UserError(
            f"{folder} holds a search with --episodes {there['seeds']}, not {episodes}: "
            "choose another folder with --out, or give the same number"
        )
