"""The command itself: its help, and its version."""

from __future__ import annotations

from typing import Annotated

import typer

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Finds out what a robot manipulation policy can do, when it breaks, and why.\n\n"
    "Begin with: robodx list tasks, robodx show control/stack_cube -o stack.mp4, "
    "robodx diagnose vision --workers 2",
)


@app.callback()
def robodx(
    version: Annotated[bool, typer.Option("--version", help="Print the version and exit.", is_eager=True)] = False,
) -> None:
    if version:
        from robodx import __version__

        print(__version__)
        raise typer.Exit
