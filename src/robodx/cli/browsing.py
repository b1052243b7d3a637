"""Commands that look around: registered tasks and policies, pictures of a task, and the state of this machine."""

from __future__ import annotations

import os
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from robodx import catalogue
from robodx.cli.app import app
from robodx.cli.completing import one_of, task_names
from robodx.cli.options import Json, Plugins, load_plugins
from robodx.errors import UserError
from robodx.output import print_text
from robodx.running.limits import LAST_SEED
from robodx.terminal.console import print_json
from robodx.terminal.listing import as_wide_as_the_terminal, listing


@app.command("list", rich_help_panel="Look around")
def list_(
    kind: Annotated[
        str,
        typer.Argument(
            metavar="|".join(catalogue.KINDS), help="What to list.", autocompletion=one_of(*catalogue.KINDS)
        ),
    ],
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="WORD",
            help="Only what each of these is true of: of tasks a family, a tier or a selector (control hard, "
            "capability/language); else a word of its name or description.",
        ),
    ] = None,
    as_json: Json = False,
    plugin: Plugins = [],  # noqa: B006  (typer reads the default)
) -> None:
    """List everything of one kind, or what some words are true of, with a one-line summary.

    robodx list tasks control hard, robodx list tasks sphere easy, robodx list perturbations camera
    """
    load_plugins(plugin)
    rows = catalogue.rows(kind, words or ())
    if as_json:
        print_json(rows)
    else:
        listed = listing(
            [{name: told for name, told in row.items() if name != "anchor"} for row in rows], cut=not words
        )
        print_text(*listed.lines, sep="\n")
        if listed.is_cut:
            _note(f"{len(rows)} {kind}. Cells that end in … are cut; whole: robodx list {kind} WORD, or --json.")
        if kind == "tasks" and rows:
            _note("chance: the success of perfect skill that chooses at random; 1.0: there is nothing to choose.")
        if anchored := [row for row in rows if row.get("anchor")]:
            anchors = [{"stressor": row["perturbation"], "for example": row["anchor"]} for row in anchored]
            _note("What does this, at the levels v1, v2 and v3:")
            print_text(*listing(anchors, cut=False).lines, sep="\n")


def _note(text: str) -> None:
    print_text("", *as_wide_as_the_terminal(text), sep="\n")


@app.command(rich_help_panel="Look around")
def show(
    task: Annotated[str, typer.Argument(help="Task id, for example control/stack_cube.", autocompletion=task_names)],
    seed: Annotated[int, typer.Option(help="Seed of the situation to show.", min=0, max=LAST_SEED)] = 0,
    camera: Annotated[str, typer.Option(help="Camera names, separated by commas, or all.")] = "front,wrist",
    out: Annotated[
        Path | None, typer.Option("-o", "--out", help="Output file: .png for the initial scene, .mp4 for the expert.")
    ] = None,
    intervene: Annotated[
        list[str],
        typer.Option(
            metavar="NAME=VALUE",
            help='Change one factor, as "target position=left", and show both sides; repeatable. '
            "See: robodx list interventions.",
        ),
    ] = [],  # noqa: B006
    size: Annotated[int, typer.Option(help="Width and height of each picture, in pixels.", min=32, max=2048)] = 480,
    quality: Annotated[str, typer.Option(help="Rendering quality: fast, standard or high.")] = "standard",
    as_json: Json = False,
    plugin: Plugins = [],  # noqa: B006
) -> None:
    """Show a task: its instruction, its stages, and a picture or a video."""
    load_plugins(plugin)
    from robodx.interventions.base import parse
    from robodx.video.show import describe, differences, draw

    applied = tuple(parse(text) for text in intervene)
    card = describe(task, seed, applied)
    if applied:
        card["interventions"] = dict(applied)
        card["changed"] = differences(task, seed, applied)
    if out is not None:
        draw(task, seed, camera, out, size=size, quality=quality, interventions=applied)
        card["picture"] = str(out)
    if as_json:
        print_json(card)
        return
    print_text(f"{card['task']}, seed {seed}: {card['summary']}")
    print_text(f'  instruction  "{card["instruction"]}"')
    for index, stage in enumerate(card["stages"], start=1):
        print_text(f"  stage {index}      {stage}")
    for name, (x, y, z) in card["things"].items():
        print_text(f"  {name:24} x {x:+.3f}  y {y:+.3f}  z {z:+.3f}")
    for name, (was, now) in card.get("changed", {}).items():
        print_text(f"  changed      {name}: {was} → {now}")
    if out is not None and {"front", "overview", "all"} & set(camera.split(",")):
        print_text("Seen from the front, the robot's left is on the right.")
    print_text(f"Wrote {out}" if out else "Add -o x.png for a picture, or -o x.mp4 for a video of the expert.")


@app.command(rich_help_panel="Look around")
def doctor(
    require: Annotated[str | None, typer.Option(metavar="gl", help="Exit with status 1 if this is missing.")] = None,
    as_json: Json = False,
) -> None:
    """Check this machine: versions, OpenGL, and what to install if something is missing."""
    if require not in (None, "gl"):
        raise UserError(f'unknown requirement "{require}": --require takes gl')
    import platform

    from robodx.records.versions import versions
    from robodx.sim import gl

    status = gl.status()
    facts = {**versions(gl_renderer=status.renderer), "gl_backend": status.backend, "cores": os.cpu_count()}
    if as_json:
        print_json({**facts, "platform": platform.platform(), "gl": asdict(status)})
    else:
        for name, value in facts.items():
            if value is not None:
                print_text(f"{name:12} {value}")
        print_text("Pictures can be rendered." if status.is_available else f"\n{status.advice}")
    if require == "gl" and not status.is_available:
        raise typer.Exit(1)
