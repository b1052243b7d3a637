"""Values of a perturbation or a factor: a number, a word or a few named numbers; and how they are written."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

# A few named numbers, as (("x_m", 0.02), ("y_m", 0.0)), in the order of their names.
Numbers = tuple[tuple[str, float], ...]
Value = float | str | Numbers
# How a perturbation is applied: its name and what it is set to.
Applied = tuple[str, Value]
# What a factor of a comparison is set to.
FactorValue = float | str | bool
Factor = tuple[str, FactorValue]


def settled(value: object) -> Value:
    """In the one form that a value has in trials: numbers are floats, named ones in the order of their names."""
    if isinstance(value, str):
        return value
    if isinstance(value, Mapping | Sequence):
        pairs = value.items() if isinstance(value, Mapping) else value
        return tuple(sorted((str(name), float(number)) for name, number in pairs))
    return float(value)  # type: ignore[arg-type]


def spelled(value: Value) -> str:
    """As it is shown: 25.0, red, x_m:0.02,y_m:0."""
    if isinstance(value, tuple):
        return ",".join(f"{name}:{repr(number).removesuffix('.0')}" for name, number in value)
    return str(value)


def as_option(name: str, value: object) -> str:
    """As it is written on the command line, or comes out of run.json: noise=25, paint=red, shift=x_m:0.02,y_m:0."""
    value = settled(value)
    is_short = isinstance(value, float) and float(f"{value:g}") == value
    return f"{name}={value:g}" if is_short else f"{name}={spelled(value)}"


def parse_numbers(text: str) -> Numbers | None:
    """`x_m:0.02,y_m:0` as named numbers; None if it is no such text."""
    pairs = [part.partition(":") for part in text.split(",")]
    try:
        found = tuple((name.strip(), float(number)) for name, colon, number in pairs if colon and name.strip())
    except ValueError:
        return None
    is_whole = len(found) == len(pairs) == len(dict(found)) and all(math.isfinite(number) for _, number in found)
    return tuple(sorted(found)) if is_whole else None


def applied_record(applied: Applied) -> dict[str, Any]:
    """As a struct of the table of episodes, in which just one of the values is given."""
    name, value = applied
    return {
        "name": name,
        "severity": value if isinstance(value, float) else None,
        "word": value if isinstance(value, str) else None,
        "numbers": [{"name": key, "value": number} for key, number in value] if isinstance(value, tuple) else None,
    }


def read_applied(records: Iterable[Mapping[str, Any]] | None) -> tuple[Applied, ...]:
    """What was applied, of a row of the table of episodes."""
    return tuple((one["name"], _read_value(one)) for one in records or ())


def _read_value(record: Mapping[str, Any]) -> Value:
    if record.get("word") is not None:
        return str(record["word"])
    if record.get("numbers") is not None:
        return tuple((one["name"], one["value"]) for one in record["numbers"])
    return float(record["severity"])


def factor_record(factor: Factor) -> dict[str, Any]:
    """As a struct of the design table, in which just one of the values is given."""
    name, value = factor
    if not isinstance(value, str | bool | int | float):
        raise TypeError(f"the factor {name} is {value!r}: it must be a number, a text, or true or false")
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return {
        "name": name,
        "number": float(value) if is_number else None,
        "text": value if isinstance(value, str) else None,
        "flag": value if isinstance(value, bool) else None,
    }


def as_factors(applied: Iterable[Applied]) -> tuple[Factor, ...]:
    """What is applied as factors of a comparison; of named numbers each is one."""
    factors: list[Factor] = []
    for name, value in applied:
        factors += [(f"{name}.{key}", number) for key, number in value] if isinstance(value, tuple) else [(name, value)]
    return tuple(factors)
