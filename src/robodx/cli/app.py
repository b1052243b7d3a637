"""The command itself: its help, and its version."""

from __future__ import annotations

from inspect import cleandoc
from typing import Annotated, Any

import typer
from rich.markup import escape
from typer.core import TyperGroup

from robodx.output import print_text, visible

COMPLETION = {"--install-completion", "--show-completion"}


class Commands(TyperGroup):
    """Adds the rejected value to the error message: typer says only which values are valid.

    Typer prints such messages itself: what was typed does not steer the terminal by way of them.
    """

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        _as_prose(self)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        # Typer would ignore the name of a shell, and print the completion of another one.
        flags = {name for option in self.params if getattr(option, "is_flag", False) for name in option.opts}
        if args[1:] and args[0] in COMPLETION & flags:
            said = f'{args[0]} is for the shell that it is typed in: nothing follows it, not "{" ".join(args[1:])}"'
            raise typer.BadParameter(visible(said))
        return super().parse_args(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except typer.BadParameter as error:
            # A list of what is wrong, as pydantic makes it; older versions of typer name the value themselves.
            wrong: list[dict[str, Any]] = getattr(error.__cause__, "errors", list)()
            if wrong:
                error.message += f", not {wrong[0]['input']}"
            error.message = visible(error.message, kept="\n")
            raise


def _as_prose(command: Any) -> None:
    """Its help as it was meant: typer would keep the line breaks of the source, and take robodx[wandb] for markup."""
    command.help = escape("\n\n".join(" ".join(part.split()) for part in cleandoc(command.help or "").split("\n\n")))
    for parameter in command.params:
        if getattr(parameter, "help", None):
            parameter.help = escape(parameter.help)
    for within in getattr(command, "commands", {}).values():
        _as_prose(within)


app = typer.Typer(
    cls=Commands,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Find out what a robot manipulation policy can do, when it breaks, and why.\n\n"
    "Start with: robodx list tasks, robodx show control/stack_cube -o stack.mp4, "
    "robodx diagnose vision --workers 2",
)


def _print_version(is_asked: bool) -> None:
    if is_asked:
        from robodx import __version__

        print_text(__version__)
        raise typer.Exit


@app.callback()
def robodx(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and exit.", is_eager=True, callback=_print_version)
    ] = False,
) -> None: ...
