"""The columns of the table of episodes, derived from `Episode`: a recorded quantity is one field there."""

from __future__ import annotations

from dataclasses import Field, fields, is_dataclass
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import polars as pl

from robodx.records.episode import LATER, Episode, Outcome
from robodx.records.value_columns import APPLIED
from robodx.records.values import Applied

PLAIN: dict[Any, pl.DataType] = {
    str: pl.String(),
    int: pl.Int32(),
    float: pl.Float64(),
    bool: pl.Boolean(),
    Applied: APPLIED,
}


def column_type(hint: Any) -> pl.DataType:
    """Of what an annotation allows; None is a null of it."""
    if hint in PLAIN:
        return PLAIN[hint]
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Annotated:
        kind: pl.DataType = arguments[1]
        return kind
    if origin is Literal:
        return pl.String()
    if origin is tuple and arguments[1:] == (...,):
        return pl.List(column_type(arguments[0]))
    if origin in (UnionType, Union):
        (said,) = (one for one in arguments if one is not type(None))
        return column_type(said)
    if is_dataclass(hint):
        return pl.Struct({name: column_type(part) for name, part in _hints(hint).items()})
    raise TypeError(f"{hint} cannot be stored in a table")


def _hints(of: Any) -> dict[str, Any]:
    hints = get_type_hints(of, include_extras=True)
    return {field.name: hints[field.name] for field in fields(of)}


def _may_be_missing(field: Field[Any]) -> bool:
    """Whether a table of an older version may lack it: what was not measured is null, then as now."""
    return field.default is None or LATER in field.metadata


def _is_optional(hint: Any) -> bool:
    return type(None) in get_args(hint)


# One row an episode. Written with every part: a part whose column is all null would otherwise break a scan over parts.
SCHEMA: dict[str, pl.DataType] = {name: column_type(hint) for name, hint in _hints(Episode).items()}
LATER_COLUMNS = frozenset(field.name for field in fields(Episode) if _may_be_missing(field))
# What every episode has, even one that was lost to an error. Nothing is concluded from how long the computer took.
ALWAYS_SAID = frozenset(
    name for name, hint in _hints(Episode).items() if not _is_optional(hint) and name not in LATER_COLUMNS
) - {"wall_s"}

OUTCOMES: tuple[str, ...] = get_args(Outcome)
# What was done to a trial, by name and value.
APPLIED_COLUMNS = ("perturbations", "interventions")
SHARES = ("progress", "chance")

# What took how long: of two runs of the same trials these differ.
TIMINGS = ("wall_s", "calls_per_s", "actions_per_s", "inference_ms_p50", "inference_ms_p95", "inference_ms_p99")

# What makes two episodes of different runs the same trial, whoever acted.
KEY = ("task", "task_version", "robot", "seed", "repeat", "perturbations", "clock", "interventions")
ORDER = ("suite", "task", "seed", "repeat", "trial_id")
