"""Presets as text: those that ship, a user's TOML files, and what is written for a user to complete."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any, TypeVar

from robodx.output import shortened
from robodx.registry import UnknownName, unknown
from robodx.sim.robot import ROBOTS
from robodx.user_files import read_user_file
from robodx.wires.actions import Actions
from robodx.wires.messages import MAX_NAME
from robodx.wires.pictures import Picture
from robodx.wires.preset import BadPreset, Preset, table
from robodx.wires.quoting import quote

SHIPPED = Path(__file__).parent / "presets"
T = TypeVar("T")
WORDS = {int: "a whole number", float: "a number", str: "a text", bool: "true or false"}


def shipped() -> list[str]:
    """Presets for as many arms as some robot has; the others stay hidden until there is such a robot."""
    arms = {len(robot.arms) for robot in ROBOTS.entries()}
    return sorted(path.stem for path in SHIPPED.glob("*.toml") if find_preset(str(path)).arms in arms)


def place_of(name: str) -> Path:
    if name.endswith(".toml"):
        return Path(name)
    path, names = SHIPPED / f"{name}.toml", shipped()
    if name in names:
        return path
    if "/" not in name and path.is_file():
        robots = ", ".join(f"{robot.name} has {len(robot.arms)}" for robot in ROBOTS.entries())
        needed = find_preset(str(path)).arms
        raise BadPreset(
            f'The preset "{name}" is for a robot with {needed} arms, and there is none yet: {robots}. '
            f"There are: {', '.join(names)}."
        )
    raise UnknownName(unknown("preset", name, names) + " A file of yours must end in .toml.")


def find_preset(name: str) -> Preset:
    """A shipped preset by its name, or a user's by the path of its TOML file."""
    path = place_of(name)
    try:
        content = tomllib.loads(read_user_file(path))
    except FileNotFoundError as error:
        raise BadPreset(f"there is no preset file {path}") from error
    except OSError as error:
        raise BadPreset(f"the preset file {path} cannot be read: {error}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise BadPreset(f"the preset {path} is no TOML: {error}") from error
    return read_preset({"name": path.stem, **content})


def read_preset(content: Mapping[str, Any]) -> Preset:
    """A preset from its data; every field is checked."""
    where = f"preset {shortened(str(content.get('name', '?')), MAX_NAME)}"
    plain = dict(content)
    images = table(plain.pop("images", {}), where, "images")
    state = table(plain.pop("state", {}), where, "state")
    actions = table(plain.pop("actions", {}), where, "actions")
    return _build(
        Preset,
        {
            **plain,
            "images": {
                key: _build(Picture, table(value, where, key), f"{where}, {key}") for key, value in images.items()
            },
            "state": {key: tuple(_texts(value, where, key)) for key, value in state.items()},
            "actions": _build(Actions, actions, f"{where}, actions"),
        },
        where,
    )


def as_toml(content: Mapping[str, Any], comments: Mapping[str, str] | None = None) -> str:
    """A preset's data as text; a comment stands above the field that it is about."""
    lines: list[str] = []

    def put(table: Mapping[str, Any], path: str) -> None:
        inner = {key: value for key, value in table.items() if isinstance(value, Mapping) and value}
        for key, value in table.items():
            if key not in inner and value != {}:
                if note := (comments or {}).get(f"{path}.{key}".lstrip(".")):
                    lines.append(f"# {note}")
                lines.append(f"{_key(key)} = {_value(value)}")
        for key, value in inner.items():
            if (path, key) == ("actions", "keys"):
                lines.append(f"keys = {{ {', '.join(f'{_key(name)} = {width}' for name, width in value.items())} }}")
            else:
                name = f"{path}.{_key(key)}".lstrip(".")
                if not all(isinstance(child, Mapping) for child in value.values()):
                    lines.extend(["", f"[{name}]"])
                put(value, name)

    put(content, "")
    return "\n".join(lines).strip() + "\n"


def _key(name: str) -> str:
    return name if name.replace("_", "").replace("-", "").isalnum() and name.isascii() else _value(name)


def _value(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        escaped = "".join(f"\\u{ord(c):04x}" if ord(c) < 32 or c in '"\\\x7f' else c for c in value)
        return f'"{escaped}"'
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_value, value))}]"
    return repr(value)


def _build(kind: type[T], values: Mapping[str, Any], where: str) -> T:
    known = {one.name: one for one in fields(kind)}  # type: ignore[arg-type]  # each is a dataclass
    for name, value in values.items():
        if name not in known:
            raise BadPreset(f'{where}: there is no field "{shortened(str(name), 80)}". There are: {", ".join(known)}')
        expected = {"int": int, "float": float, "str": str, "bool": bool}.get(str(known[name].type))
        if expected is float and type(value) is int:
            continue
        if expected is not None and type(value) is not expected:
            raise BadPreset(f"{where}: {name} must be {WORDS[expected]}, not {quote(value)}")
    missing = [one.name for one in known.values() if one.default is MISSING and one.default_factory is MISSING]
    for name in missing:
        if name not in values:
            raise BadPreset(f"{where}: {name} is missing")
    return kind(**values)


def _texts(value: object, where: str, name: str) -> list[str]:
    if not isinstance(value, list | tuple) or not all(isinstance(part, str) for part in value):
        raise BadPreset(f"{where}: {name} must be a list of parts, not {quote(value)}")
    return list(value)
