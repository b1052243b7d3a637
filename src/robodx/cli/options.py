"""Options and arguments that several commands share."""

from __future__ import annotations

import dataclasses
import inspect
import math
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, TypeVar, get_type_hints

import typer

from robodx.cli.completing import one_of, preset_names
from robodx.running.limits import LAST_FIRST_SEED, MOST_FILMS, MOST_WORKERS

T = TypeVar("T")


def finite(value: float | None) -> float | None:
    """What is not a number is within any bounds."""
    if value is not None and not math.isfinite(value):
        raise typer.BadParameter(f"{value} is not a finite number")
    return value


Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]
Plugins = Annotated[
    list[str],
    typer.Option("--plugin", metavar="FILE|MODULE", help="Python file or module that registers tasks, policies, …"),
]
Preset = Annotated[
    str | None,
    typer.Option(
        "--preset",
        metavar="NAME|FILE.toml",
        help="Conventions of a policy server; see: robodx list presets.",
        autocompletion=preset_names,
    ),
]
Margin = Annotated[
    float,
    typer.Option(help="Largest difference in success rate that does not matter; 0.1 is ten points.", callback=finite),
]
Films = Annotated[
    int, typer.Option("--films", help="Number of episodes to film for each finding.", min=0, max=MOST_FILMS)
]
PlainFilms = Annotated[
    bool,
    typer.Option("--plain-films", help="Film without captions: the overview, and what the policy saw, with no word."),
]
Run = Annotated[Path, typer.Argument(metavar="RUN", help="Run folder.")]
Workers = Annotated[int, typer.Option(help="Number of worker processes.", min=1, max=MOST_WORKERS)]
Quality = Annotated[
    str,
    typer.Option(
        help="Rendering quality of the policy's cameras: fast, standard or high.",
        autocompletion=one_of("fast", "standard", "high"),
    ),
]
Robot = Annotated[str, typer.Option(help="Robot; see: robodx list robots.")]
RunFolder = Annotated[Path | None, typer.Option(help="Run folder; the same command resumes it.")]
FirstSeed = Annotated[
    int, typer.Option(help="First seed; another value gives other situations.", min=0, max=LAST_FIRST_SEED)
]


def load_plugins(plugins: list[str]) -> None:
    from robodx.registry import load_plugin

    for plugin in plugins:
        load_plugin(plugin)


def located(plugins: list[str]) -> tuple[str, ...]:
    """Files by absolute path, because workers may run in another folder; modules by name."""
    return tuple(str(Path(name).resolve()) if name.endswith(".py") else name for name in plugins)


def default_name(selectors: list[str], policy: str) -> str:
    words = "+".join([*selectors, policy])
    return "".join(letter if letter.isalnum() or letter in "+-_." else "." for letter in words)[:120]


def takes(options: type[T]) -> Callable[[Callable[[T], None]], Callable[..., None]]:
    """Let a command take one dataclass instance whose fields are the Typer options."""
    hints = get_type_hints(options, include_extras=True)
    parameters = [
        inspect.Parameter(one.name, inspect.Parameter.KEYWORD_ONLY, default=_default(one), annotation=hints[one.name])
        for one in dataclasses.fields(options)  # type: ignore[arg-type]
    ]

    def decorate(command: Callable[[T], None]) -> Callable[..., None]:
        @wraps(command)
        def called(**values: Any) -> None:
            command(options(**values))

        # Typer reads both the signature and the annotations.
        called.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        called.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
        return called

    return decorate


def beside_records(command: Callable[..., None]) -> Callable[..., None]:
    """The same command; a path given to it is no file of a run, whether it is written to or read.

    Lists of paths are always read, and those of the shell, as RUN/*, hold such files.
    """

    @wraps(command)
    def called(**values: Any) -> None:
        if paths := [value for value in values.values() if isinstance(value, Path)]:
            from robodx.records.contents import refuse_part_of_run

            for path in paths:
                refuse_part_of_run(path)
        command(**values)

    return called


def _default(field: dataclasses.Field[Any]) -> Any:
    if field.default_factory is not dataclasses.MISSING:
        return field.default_factory()
    return inspect.Parameter.empty if field.default is dataclasses.MISSING else field.default
