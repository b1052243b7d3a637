"""run.json, the description of a run: the type of each key that is read later. Older runs may have fewer keys."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from robodx.errors import UserError
from robodx.output import shortened

SCHEMA_VERSION = 4
# Of older versions, what they did not record is null.
READABLE_VERSIONS = (1, 2, 3, 4)
LONGEST = 60


class UnreadableRun(UserError):
    """A folder that is not a run, or a run that this version cannot read; the message names the file."""


# So many runs of a folder are named where it is taken for a run itself.
MOST_NAMED = 6


def refused(path: Path, error: OSError) -> UnreadableRun:
    """What the operating system does not let one read may be whole."""
    return UnreadableRun(f"{path} cannot be read: {error.strerror or error}")


def stop_if_interrupted(error: BaseException) -> None:
    """Polars panics on a Ctrl-C that comes while it reads: the file is as it should be then."""
    if "KeyboardInterrupt" in str(error):
        raise KeyboardInterrupt from error


def _no_run(folder: Path) -> str:
    if not folder.exists():
        return f"{folder} is not a run folder: it has no run.json, for there is no such folder"
    runs = sorted(path.parent.name for path in folder.glob("*/run.json")) if folder.is_dir() else []
    holds = f", but holds runs: {', '.join(runs[:MOST_NAMED])}{' …' if len(runs) > MOST_NAMED else ''}" if runs else ""
    return f"{folder} is not a run folder: it has no run.json{holds}"


def read_about(run: Path | str, needs: Sequence[str] = ()) -> dict[str, Any]:
    """The run's own description, run.json, each key in the shape that it must have and those in `needs` there."""
    path = Path(run) / "run.json"
    try:
        about: dict[str, Any] = json.loads(path.read_text())
    except (FileNotFoundError, NotADirectoryError):
        raise UnreadableRun(_no_run(Path(run))) from None
    except OSError as error:
        raise refused(path, error) from error
    # A number may have too many digits, lists may lie too deep in each other.
    except (ValueError, RecursionError) as error:
        raise UnreadableRun(f"{path} is damaged: {error}") from error
    if not isinstance(about, dict):
        raise UnreadableRun(f"{path} is damaged: it describes no run")
    version = about.get("schema_version")
    if version not in READABLE_VERSIONS:
        readable = " and ".join(map(str, READABLE_VERSIONS))
        raise UnreadableRun(f"{path} has schema version {version}; this robodx reads {readable}")
    if wrong := flaw(about, needs):
        raise UnreadableRun(f"{path} is damaged: {wrong}")
    return about


class Shape(NamedTuple):
    says: str
    fits: Callable[[Any], bool]


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_number(value: Any) -> bool:
    # Compared and not converted: a whole number may be too large for a float.
    return isinstance(value, int | float) and not isinstance(value, bool) and -1e300 < value < 1e300


def _is_list(value: Any, fits: Callable[[Any], bool]) -> bool:
    return isinstance(value, list) and all(map(fits, value))


def _are_pairs(value: Any, second: Callable[[Any], bool]) -> bool:
    return _is_list(value, lambda one: isinstance(one, list) and len(one) == 2 and _is_text(one[0]) and second(one[1]))


def _is_value(value: Any) -> bool:
    return _is_number(value) or _is_text(value) or _are_pairs(value, _is_number)


def _or_null(shape: Shape) -> Shape:
    return Shape(f"{shape.says} or null", lambda value: value is None or shape.fits(value))


TEXT = Shape("a text", _is_text)
FLAG = Shape("true or false", lambda value: isinstance(value, bool))
NUMBER = Shape("a number", _is_number)
COUNT = Shape("a whole number", lambda value: _is_number(value) and isinstance(value, int) and 0 <= value < 2**63)
SHARE = Shape("a number from 0 to 1", lambda value: _is_number(value) and 0 <= value <= 1)
RATE = Shape("a number from 5 to 60", lambda value: _is_number(value) and 5 <= value <= 60)
TABLE = Shape("a table of keys and values", lambda value: isinstance(value, dict))
TEXTS = Shape("a list of texts", lambda value: _is_list(value, _is_text))
VALUE = Shape("a number, a text or pairs of a name and a number", _is_value)
APPLIED = Shape("a list of pairs of a name and a value", lambda value: _are_pairs(value, _is_value))
# In the oldest runs a table.
PLUGINS = Shape(
    "a list of pairs of a name and a fingerprint", lambda value: isinstance(value, dict) or _are_pairs(value, _is_text)
)

# By path, where * is any key; what holds others comes before them.
SHAPES: dict[str, Shape] = {
    "request": TABLE,
    "request.selectors": TEXTS,
    "request.policy": TEXT,
    "request.name": _or_null(TEXT),
    "request.seeds": COUNT,
    "request.first_seed": COUNT,
    "request.repeats": COUNT,
    "request.robot": TEXT,
    "request.perturbations": APPLIED,
    "request.clock": TEXT,
    "request.quality": TEXT,
    "request.batch": COUNT,
    "request.plugins": PLUGINS,
    "request.shard": _or_null(TEXT),
    "request.until_width": _or_null(NUMBER),
    "request.against": _or_null(TEXT),
    "request.until_decided": FLAG,
    "request.margin": _or_null(NUMBER),
    "request.weights_digest": _or_null(TEXT),
    "request.tasks": TABLE,
    "policy_spec": TABLE,
    "policy_spec.hz": RATE,
    "versions": TABLE,
    "versions.*": _or_null(TEXT),
    "is_reproducible": FLAG,
    "is_named": FLAG,
    "given": TABLE,
    "given.policy": TEXT,
    "given.preset": _or_null(TEXT),
    "given.plugins": TEXTS,
    "not_applicable": TEXTS,
    "tasks": TABLE,
    "tasks.*": TABLE,
    "tasks.*.version": COUNT,
    "tasks.*.summary": TEXT,
    "tasks.*.instruction": TEXT,
    "tasks.*.stages": TEXTS,
    "tasks.*.never": TEXTS,
    "tasks.*.varies": TEXTS,
    "tasks.*.tags": TEXTS,
    "tasks.*.chance": _or_null(SHARE),
    "tasks.*.primitive": _or_null(TEXT),
    "tasks.*.time_limit_s": NUMBER,
    "perturbations": TABLE,
    "perturbations.*": TABLE,
    "perturbations.*.kind": TEXT,
    "perturbations.*.is_ordered": FLAG,
    "perturbations.*.anchor": TEXT,
    "perturbations.*.unit": TEXT,
    "perturbations.*.levels": TABLE,
    "perturbations.*.levels.*": VALUE,
}


def flaw(about: Mapping[str, Any], needs: Sequence[str] = ()) -> str | None:
    """What is first found wrong with a description, of which these keys may not be missing; None if nothing is."""
    for path, shape in SHAPES.items():
        for name, value in _found(about, path.split(".")):
            if not shape.fits(value):
                return f"{name} is {shortened(repr(value), LONGEST)}, not {shape.says}"
    missing = [path for path in needs if not any(_found(about, path.split(".")))]
    return f"it does not say {' or '.join(missing)}" if missing else None


def _found(about: Any, path: Sequence[str]) -> Iterator[tuple[str, Any]]:
    """The values at a path, each with its whole name."""
    key, *further = path
    for name in list(about) if key == "*" else [key] if key in about else []:
        if further:
            yield from ((f"{name}.{rest}", value) for rest, value in _found(about[name], further))
        else:
            yield name, about[name]
