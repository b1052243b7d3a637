"""Run files: the options of `robodx run` and `robodx diagnose` as TOML, to be kept, shared and run again."""

from __future__ import annotations

import inspect
import math
import re
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, NamedTuple, Union, get_args, get_origin, get_type_hints

import typer
from typer.models import ParameterInfo

from robodx.cli.options import located
from robodx.errors import UserError
from robodx.output import shortened
from robodx.records.about import read_about
from robodx.records.values import as_option
from robodx.registry import unknown
from robodx.user_files import read_user_file

KINDS: dict[type, str] = {
    bool: "true or false", int: "a whole number", float: "a number", str: "a text", Path: "a text",
    list: "a list of texts",
}  # fmt: skip
# Of a run's request: the options of these names say the same.
SAME = (
    "seeds", "first_seed", "repeats", "robot", "clock", "quality", "batch", "shard", "until_width", "against",
    "until_decided", "margin",
)  # fmt: skip

PrintConfig = Annotated[
    bool,
    typer.Option("--print-config", help="Print these options as a run file (TOML) for --config, and do nothing."),
]


class Option(NamedTuple):
    """What a run file may say, and the parameter of the command that takes it."""

    name: str
    kind: type
    default: Any
    info: ParameterInfo


def config_option(of: Callable[[], Callable[..., Any]]) -> Any:
    """`--config`: what the file says takes the place of defaults, so that what is typed wins."""

    def fill(ctx: typer.Context, value: Path | None) -> Path | None:
        if value is not None:
            command = of()
            found, options = read_run_file(value, command), options_of(command)
            ctx.default_map = {**(ctx.default_map or {}), **{options[key].name: said for key, said in found.items()}}
        return value

    return typer.Option(
        "--config",
        metavar="FILE.toml|RUN",
        help="Take options from a run file, or from a run; those given here win. See --print-config.",
        is_eager=True,
        callback=fill,
    )


def options_of(command: Callable[..., Any]) -> dict[str, Option]:
    """What a run file of this command may say: its options by their names, and the list of arguments if it has one."""
    hints = get_type_hints(command, include_extras=True)
    found = {}
    for name, parameter in inspect.signature(command).parameters.items():
        kind, info = get_args(hints[name])[:2]
        if get_origin(kind) in (Union, UnionType):
            kind = next(one for one in get_args(kind) if one is not type(None))
        kind = get_origin(kind) or kind
        # Typer keeps the first word of an annotation as if it were the default.
        long = [word for word in (info.default, *(info.param_decls or ())) if str(word).startswith("--")]
        key = long[0].removeprefix("--").replace("-", "_") if long else name
        is_single_argument = isinstance(info, type(typer.Argument())) and kind is not list
        if key not in ("config", "print_config") and not is_single_argument:
            found[key] = Option(name, kind, parameter.default, info)
    return found


def read_run_file(path: Path, command: Callable[..., Any]) -> dict[str, Any]:
    """What a file or a run says, by the keys of a run file; paths in a file are relative to its folder."""
    options = options_of(command)
    called = f"robodx {command.__name__.removesuffix('Options').lower()}"
    if path.is_dir():
        found = of_run(path)
        if "selectors" not in options and found["selectors"] != ["diagnosis"]:
            raise UserError(f"{path} is no diagnosis: it ran {', '.join(found['selectors'])}; use robodx run --config")
        return {key: value for key, value in found.items() if key in options}
    try:
        text = read_user_file(path)
        content = tomllib.loads(text)
    except FileNotFoundError:
        raise UserError(f"there is no run file {path}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise UserError(f"{path} is not TOML: {error}") from error
    found = {}
    for said, value in content.items():
        key, where = said.replace("-", "_"), f"{path}{_line(text, said)}"
        if key not in options:
            raise UserError(f"{where}: {unknown(f'option of {called}', said, options)}")
        if key in found:
            raise UserError(f"{where}: {key} is given twice")
        found[key] = _beside(path, key, _checked(value, options[key], f"{where}: {key}"))
    return found


def of_run(run: Path) -> dict[str, Any]:
    """The options that decided the episodes of a run, from its run.json."""
    about = read_about(run, needs=("request.selectors", "request.policy", "request.seeds"))
    request, given = about["request"], about.get("given", {})
    if not request["selectors"]:
        raise UserError(f"{run} names no task and no suite: it was not made by robodx run or robodx diagnose")
    made, _, stem = request["policy"].partition("#")
    preset = given.get("preset") or stem or None
    # A name of the user's does not say how the policy is made: that is to be given again.
    policy = {"name": request["policy"]} if about.get("is_named") else {"policy": made}
    # Older runs tell of plugins only their names.
    plugins = given.get("plugins") or [name for name, _ in _pairs(request.get("plugins"))]
    return {
        "selectors": request["selectors"],
        **policy,
        **({"preset": preset} if preset else {}),
        "out": str(run.absolute()),
        **{key: request[key] for key in SAME if request.get(key) not in (None, False)},
        "perturb": [as_option(name, value) for name, value in request.get("perturbations", [])],
        "plugin": plugins,
    }


def is_printed_alone(config: Path | None, *, print_config: bool) -> bool:
    """Whether to print what a run says of itself: a look at another's run loads none of the code that it names."""
    return print_config and config is not None and config.is_dir()


def printed(values: Mapping[str, Any], command: Callable[..., Any]) -> str:
    """A run file that says what these values of the command's parameters do; defaults are left out."""
    from robodx.wires.preset_files import as_toml

    called = f"robodx {command.__name__.removesuffix('Options').lower()}"
    said = {}
    for key, option in options_of(command).items():
        value = values[option.name]
        if value in (None, "", []) or (value == option.default and key != "seeds"):
            continue
        # From wherever the file is kept.
        if isinstance(value, Path) or (key == "preset" and value.endswith(".toml")):
            value = str(Path(value).absolute())
        said[key] = list(located(value)) if key == "plugin" else value
    return f"# Run it with: {called} --config THIS_FILE\n{as_toml(said).strip()}"


def _pairs(plugins: object) -> list[list[str]]:
    return plugins if isinstance(plugins, list) else []


def _line(text: str, key: str) -> str:
    """Where a key is; nothing where it is not plain to see."""
    sought = re.compile(rf"""\s*(["']?){re.escape(key)}\1\s*[=.]|\s*\[\s*{re.escape(key)}\s*[\].]""")
    at = next((number for number, line in enumerate(text.splitlines(), start=1) if sought.match(line)), None)
    return "" if at is None else f", line {at}"


def _checked(value: object, option: Option, what: str) -> Any:
    kind, info = option.kind, option.info
    if kind is list and isinstance(value, str):
        value = [value]
    if kind is list:
        is_right = isinstance(value, list) and all(isinstance(one, str) for one in value)
    elif kind is float:
        is_right = type(value) in (int, float)
    else:
        is_right = type(value) is (str if kind is Path else kind)
    if not is_right:
        raise UserError(f"{what} must be {KINDS[kind]}, not {_shown(value)}")
    if isinstance(value, int | float) and kind is not bool:
        least = -math.inf if info.min is None else info.min
        most = math.inf if info.max is None else info.max
        if not math.isfinite(value) or not least <= value <= most:
            bounds = f"must be {least:g} to {most:g}" if info.max is not None else "must be a finite number"
            raise UserError(f"{what} {bounds}, not {_shown(value)}")
    return value


def _shown(value: object) -> str:
    said = ("true" if value else "false") if isinstance(value, bool) else repr(value)
    return shortened(said, 60)


def _beside(path: Path, key: str, value: Any) -> Any:
    """A path as it is from here, of one that is relative to the file's folder; names stay what they are."""
    if key in ("out", "against") or (key == "preset" and value.endswith(".toml")):
        return str(path.parent / value)
    if key == "plugin":
        return [str(path.parent / name) if name.endswith(".py") else name for name in value]
    return value
