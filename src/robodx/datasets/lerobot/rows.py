"""Episodes as LeRobot's rows of numbers, one a step, and back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from robodx.datasets.lerobot.features import ACTION, STATE, Layout, Part
from robodx.datasets.lerobot.statistics import Statistics, of_numbers
from robodx.datasets.schema import Demonstration, Numbers, Pictures


class Tasks:
    """Instructions and their numbers, in the order in which they first come."""

    def __init__(self) -> None:
        self.numbers: dict[str, int] = {}

    def __call__(self, instruction: str) -> int:
        return self.numbers.setdefault(instruction, len(self.numbers))


def rows_of(demonstration: Demonstration, layout: Layout, *, episode: int, first: int, tasks: Tasks) -> pl.DataFrame:
    """All of an episode but its pictures; `first` is the number of its first step among all steps."""
    features, steps = layout.features, np.arange(len(demonstration))
    columns = [_column(ACTION, demonstration.action)]
    if features.state:
        state = np.concatenate([demonstration.state[name] for name in features.state], axis=1)
        columns.insert(0, _column(STATE, state))
    if layout.success:
        columns.append(pl.Series(layout.success, demonstration.success, dtype=pl.Boolean))
    return pl.DataFrame(
        [
            *columns,
            pl.Series("timestamp", steps / features.known_hz, dtype=pl.Float32),
            pl.Series("frame_index", steps, dtype=pl.Int64),
            pl.Series("episode_index", np.full(len(steps), episode), dtype=pl.Int64),
            pl.Series("index", steps + first, dtype=pl.Int64),
            pl.Series("task_index", [tasks(text) for text in demonstration.instructions], dtype=pl.Int64),
        ]
    )


def demonstration_of(
    rows: pl.DataFrame,
    layout: Layout,
    *,
    instructions: Mapping[int, str],
    images: Mapping[str, Pictures],
    metadata: Mapping[str, Any],
) -> Demonstration:
    def part(place: Part) -> Numbers:
        values = values_of(rows[place.key])
        if values.shape[1] < place.end:
            raise ValueError(f"{place.key} has {values.shape[1]} numbers, not {place.end}")
        return np.ascontiguousarray(values[:, place.start : place.end], dtype=np.float32)

    if unknown := set(rows["task_index"]) - set(instructions):
        raise ValueError(f"task_index {min(unknown)} is no task of the data set")
    success = values_of(rows[layout.success])[:, 0].astype(np.bool_) if layout.success else None
    return Demonstration(
        tuple(instructions[number] for number in rows["task_index"]),
        images,
        {name: part(place) for name, place in layout.state.items()},
        part(layout.action),
        success,
        metadata,
    )


def statistics_of(rows: pl.DataFrame) -> dict[str, Statistics]:
    return {column.name: of_numbers(values_of(column)) for column in rows}


def values_of(column: pl.Series) -> NDArray[Any]:
    """(steps, width), in the column's own type."""
    if isinstance(column.dtype, pl.List):
        column = column.list.to_array(len(column[0]))
    if not column.dtype.is_numeric() and not isinstance(column.dtype, pl.Boolean | pl.Array):
        raise ValueError(f"values of {column.name} are {column.dtype}, not numbers")
    if column.null_count():
        raise ValueError(f"values of {column.name} are missing")
    values = column.to_numpy()
    return values.reshape(len(values), -1)


def _column(name: str, values: NDArray[np.float32]) -> pl.Series:
    """A single number is no list: LeRobot reads it so."""
    values = np.ascontiguousarray(values, dtype=np.float32)
    if values.shape[1] == 1:
        return pl.Series(name, values[:, 0], dtype=pl.Float32)
    return pl.Series(name, values, dtype=pl.Array(pl.Float32, values.shape[1]))
