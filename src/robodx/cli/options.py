"""Options and arguments that several commands have, and what is made of them."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, TypeVar, get_type_hints

import typer

from robodx.running.limits import LAST_FIRST_SEED

T = TypeVar("T")

Json = Annotated[bool, typer.Option("--json", help="Print JSON for a program instead of text for a person.")]
Plugins = Annotated[
    list[str], typer.Option("--plugin", metavar="FILE|MODULE", help="Your own file or module with tasks, policies, …")
]
Preset = Annotated[
    str | None,
    typer.Option("--preset", metavar="NAME|FILE.toml", help="A server's conventions; see: robodx list presets."),
]
Margin = Annotated[
    float, typer.Option(help="A difference of success rates within ± this is none that matters: 0.1 is ten points.")
]
Films = Annotated[
    int, typer.Option("--films", help="Film so many episodes of each finding first, where they are not yet.", min=0)
]
Run = Annotated[Path, typer.Argument(metavar="RUN", help="A run folder.")]
Workers = Annotated[int, typer.Option(help="Processes.", min=1)]
Quality = Annotated[str, typer.Option(help="Rendering quality of the policy's cameras.")]
Robot = Annotated[str, typer.Option(help="The embodiment.")]
RunFolder = Annotated[Path | None, typer.Option(help="The run folder; the same command resumes it.")]
FirstSeed = Annotated[
    int, typer.Option(help="The first of the seeds, for other situations.", min=0, max=LAST_FIRST_SEED)
]


def load_plugins(plugins: list[str]) -> None:
    from robodx.registry import load_plugin

    for plugin in plugins:
        load_plugin(plugin)


def located(plugins: list[str]) -> tuple[str, ...]:
    """Files by their full path, for workers may stand elsewhere; modules by name."""
    return tuple(str(Path(name).resolve()) if name.endswith(".py") else name for name in plugins)


def default_name(selectors: list[str], policy: str) -> str:
    words = "+".join([*selectors, policy])
    return "".join(letter if letter.isalnum() or letter in "+-_." else "." for letter in words)[:120]


def takes(options: type[T]) -> Callable[[Callable[[T], None]], Callable[..., None]]:
    """The decorated command takes one object, of a dataclass whose fields are its options, as for Typer."""
    hints = get_type_hints(options, include_extras=True)
    parameters = [
        inspect.Parameter(one.name, inspect.Parameter.KEYWORD_ONLY, default=_default(one), annotation=hints[one.name])
        for one in dataclasses.fields(options)  # type: ignore[arg-type]
    ]

    def decorate(command: Callable[[T], None]) -> Callable[..., None]:
        @wraps(command)
        def called(**values: Any) -> None:
            command(options(**values))

        # Typer reads both.
        called.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        called.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
        return called

    return decorate


def _default(field: dataclasses.Field[Any]) -> Any:
    if field.default_factory is not dataclasses.MISSING:
        return field.default_factory()
    return inspect.Parameter.empty if field.default is dataclasses.MISSING else field.default
