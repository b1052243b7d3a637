"""What run.json may say: the shape of each key that is read later. Any may be missing, for older runs say less."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

LONGEST = 60


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
APPLIED = Shape("a list of pairs of a name and a severity", lambda value: _are_pairs(value, _is_number))
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
    "request.tasks": TABLE,
    "policy_spec": TABLE,
    "policy_spec.hz": RATE,
    "versions": TABLE,
    "versions.*": _or_null(TEXT),
    "is_reproducible": FLAG,
    "is_named": FLAG,
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
    "perturbations.*.levels": TABLE,
    "perturbations.*.levels.*": NUMBER,
}


def flaw(about: Mapping[str, Any], needs: Sequence[str] = ()) -> str | None:
    """What is first found wrong with a description, of which these keys may not be missing; None if nothing is."""
    for path, shape in SHAPES.items():
        for name, value in _found(about, path.split(".")):
            if not shape.fits(value):
                shown = repr(value)
                return f"{name} is {shown if len(shown) <= LONGEST else f'{shown[:LONGEST]}…'}, not {shape.says}"
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
