"""What there is: tasks, policies and the rest, what a task looks like, and what this machine has."""

from __future__ import annotations

import os
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from robodx import catalogue
from robodx.cli.app import app
from robodx.cli.options import Json, Plugins, load_plugins
from robodx.errors import UserError
from robodx.terminal.console import print_json, print_table


@app.command("list", rich_help_panel="Look around")
def list_(
    kind: Annotated[str, typer.Argument(metavar="|".join(catalogue.KINDS), help="What to list.")],
    as_json: Json = False,
    plugin: Plugins = [],  # noqa: B006  (typer reads the default)
) -> None:
    """List what there is, with a line on each."""
    load_plugins(plugin)
    rows = catalogue.rows(kind)
    if as_json:
        print_json(rows)
    else:
        print_table(rows)


@app.command(rich_help_panel="Look around")
def show(
    task: Annotated[str, typer.Argument(help="A task's id, as in control/stack_cube.")],
    seed: Annotated[int, typer.Option(help="Which situation.", min=0)] = 0,
    camera: Annotated[str, typer.Option(help="A camera's name, several with commas, or all.")] = "front,wrist",
    out: Annotated[
        Path | None, typer.Option("-o", "--out", help="x.png for the start, x.mp4 for the expert solving it.")
    ] = None,
    size: Annotated[int, typer.Option(help="Pixels of a picture's side.", min=32, max=2048)] = 480,
    quality: Annotated[str, typer.Option(help="Rendering quality: fast, standard or high.")] = "standard",
    as_json: Json = False,
    plugin: Plugins = [],  # noqa: B006
) -> None:
    """Show a task: its words, its stages, and a picture or a video of it."""
    load_plugins(plugin)
    from robodx.video.show import describe, draw

    card = describe(task, seed)
    if out is not None:
        draw(task, seed, camera, out, size=size, quality=quality)
        card["picture"] = str(out)
    if as_json:
        print_json(card)
        return
    print(f"{card['task']}, seed {seed}: {card['summary']}")
    print(f'  instruction  "{card["instruction"]}"')
    for index, stage in enumerate(card["stages"], start=1):
        print(f"  stage {index}      {stage}")
    for name, (x, y, z) in card["things"].items():
        print(f"  {name:24} x {x:+.3f}  y {y:+.3f}  z {z:+.3f}")
    print(f"Wrote {out}" if out else "Add -o x.png for a picture, -o x.mp4 to see the expert solve it.")


@app.command(rich_help_panel="Look around")
def doctor(
    require: Annotated[str | None, typer.Option(metavar="gl", help="Exit with 1 if this is missing.")] = None,
    as_json: Json = False,
) -> None:
    """Say what this machine has, and what to install if something is missing."""
    if require not in (None, "gl"):
        raise UserError(f'Nothing is called "{require}"; the doctor can require: gl')
    import platform

    from robodx.records.versions import versions
    from robodx.sim import gl

    status = gl.status()
    facts = {**versions(gl_renderer=status.renderer), "gl_backend": status.backend, "cores": os.cpu_count()}
    if as_json:
        print_json({**facts, "platform": platform.platform(), "gl": asdict(status)})
    else:
        for name, value in facts.items():
            print(f"{name:12} {value}")
        print("Pictures can be rendered." if status.is_available else f"\n{status.advice}")
    if require == "gl" and not status.is_available:
        raise typer.Exit(1)
