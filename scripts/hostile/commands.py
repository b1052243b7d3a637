"""The command line's own commands and options, so that whatever is added there is attacked too."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from robodx.cli.commands import app

Kind = Literal["flag", "whole number", "number", "path", "text"]


@dataclass(frozen=True)
class Parameter:
    """An option, or an argument, which has no flag."""

    name: str
    flag: str | None
    kind: Kind
    # The smallest number that it takes, if it says so.
    least: float | None
    is_required: bool
    # Whether it may be given several times.
    is_list: bool


@dataclass(frozen=True)
class Command:
    # Two words, if it is in a group of commands.
    name: str
    parameters: tuple[Parameter, ...]


def commands() -> list[Command]:
    groups = {"": app, **{f"{one.name} ": one.typer_instance for one in app.registered_groups if one.typer_instance}}
    found = []
    for group, one in ((name, one) for name, each in groups.items() for one in each.registered_commands):
        assert one.callback is not None
        name = group + (one.name or one.callback.__name__.replace("_", "-"))
        hints = get_type_hints(one.callback, include_extras=True)
        signature = inspect.signature(one.callback)
        parameters = tuple(_parameter(each, hints[each.name]) for each in signature.parameters.values())
        found.append(Command(name, parameters))
    return found


def _parameter(said: inspect.Parameter, hint: Any) -> Parameter:
    kind, info = said.annotation, None
    if get_origin(hint) is Annotated:
        kind, info = get_args(hint)[:2]
    is_argument = type(info).__name__ == "ArgumentInfo"
    # The first of an option's names stands where its default would, if that were not the parameter's own.
    names = (getattr(info, "default", None), *(getattr(info, "param_decls", None) or ()))
    flags = [word for word in names if isinstance(word, str) and word.startswith("--")]
    flag = flags[0] if flags else f"--{said.name.replace('_', '-')}"
    return Parameter(
        said.name,
        None if is_argument else flag,
        _kind(kind),
        getattr(info, "min", None),
        said.default is inspect.Parameter.empty,
        list in (get_origin(kind), *map(get_origin, get_args(kind))),
    )


def _kind(hint: Any) -> Kind:
    """Of `X | None` and of `list[X]` that of X."""
    if get_origin(hint) in (UnionType, Union, list):
        return _kind(next(one for one in get_args(hint) if one is not type(None)))
    kinds: dict[Any, Kind] = {bool: "flag", int: "whole number", float: "number", Path: "path"}
    return kinds.get(hint, "text")
