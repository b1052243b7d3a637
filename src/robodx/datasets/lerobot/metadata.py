"""What is known of single episodes, as further columns of LeRobot's table of episodes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from robodx.errors import UserError

# What LeRobot itself keeps in that table.
TAKEN = ("episode_index", "tasks", "length", "dataset_from_index", "dataset_to_index")
TAKEN_FOLDERS = ("data/", "videos/", "stats/", "meta/")
# Before names that are taken.
PREFIX = "metadata/"


def columns_of(all_metadata: Sequence[Mapping[str, Any]]) -> dict[str, list[Any]]:
    """One value an episode, None where it has none; all values of a name are of one kind."""
    columns: dict[str, list[Any]] = {}
    for name in dict.fromkeys(name for metadata in all_metadata for name in metadata):
        values = [_plain(metadata.get(name)) for metadata in all_metadata]
        kinds = {"number" if type(value) in (int, float) else type(value).__name__ for value in values} - {"NoneType"}
        if len(kinds) > 1 or not kinds <= {"number", "str", "bool"}:
            raise UserError(
                f'The metadata "{name}" of the episodes must be all numbers, all texts (str) or all booleans (bool), '
                f"but is: {', '.join(sorted(kinds))}."
            )
        if any(type(value) is float for value in values):
            values = [None if value is None else float(value) for value in values]
        if kinds:
            columns[PREFIX + name if _is_taken(name) else name] = values
    return columns


def metadata_of(row: Mapping[str, Any]) -> dict[str, Any]:
    """What a row says of its episode that LeRobot does not ask for."""
    return {
        name.removeprefix(PREFIX): value
        for name, value in row.items()
        if value is not None and (name.startswith(PREFIX) or not _is_taken(name))
    }


def _is_taken(name: str) -> bool:
    return name in TAKEN or name.startswith((*TAKEN_FOLDERS, PREFIX))


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value
