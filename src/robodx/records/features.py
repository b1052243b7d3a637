"""What a trial is like in words, by name: its recorded attributes, what it requires, and which words are said."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import Any

# Numbers are told in bands: below the first bound, up to the next, and above the last.
BOUNDS: dict[str, tuple[float, ...]] = {
    "target_size_m": (0.036, 0.046, 0.065),
    "goal_size_m": (0.046, 0.1, 0.14),
    "target_turn_deg": (15.0, 30.0),
    "words": (6.0, 9.0, 13.0, 20.0),
    "expert_duration_s": (3.0, 5.0, 8.0),
    "expert_path_m": (0.6, 1.0, 1.6),
    "camera_offset_m": (0.02,),
    "light_brightness": (0.4, 0.8),
    "room_ambient": (0.35, 0.5),
}
# Counts, up to which they are told one by one.
COUNTS = {
    "clauses": 3, "acts": 3, "things": 6, "loose_things": 5, "things_of_target_kind": 4, "distractors": 3,
    "expert_grasps": 3, "grasps": 3,
}  # fmt: skip
# Attributes that are told otherwise, or by others.
UNTOLD = re.compile(r"(target|goal)_[xy]_m|cameras|picture|room_table_half_size")
REQUIRES = "requires "
WORD = "word "
YES, NO = "yes", "no"


def features(values: Mapping[str, str | float], requirements: Iterable[str], text: str) -> dict[str, str]:
    """By name; what is required and what is said is only there where it is so."""
    found = {
        name: value if isinstance(value, str) else level(name, value)
        for name, value in values.items()
        if not UNTOLD.fullmatch(name)
    }
    found |= {f"{REQUIRES}{prefix}": YES for path in requirements for prefix in prefixes(path)}
    found |= {f"{WORD}{word}": YES for word in re.findall(r"[a-z']+", text.lower())}
    return found


def prefixes(path: str) -> list[str]:
    """A path and all that it lies in, the widest first."""
    parts = path.split("/")
    return ["/".join(parts[: end + 1]) for end in range(len(parts))]


def order(name: str) -> tuple[str, ...]:
    """The levels of an attribute that is a number, from the lowest to the highest; none of a text."""
    if (most := COUNTS.get(name)) is not None:
        return (*(str(number) for number in range(most)), f"{most} or more")
    return _bands(BOUNDS[name]) if name in BOUNDS else ()


def level(name: str, number: float) -> str:
    """A number in words: "3", "0.036 to 0.046", "8 or more"."""
    if (most := COUNTS.get(name)) is not None:
        return f"{most} or more" if number >= most else f"{number:g}"
    bounds = BOUNDS.get(name)
    return f"{number:g}" if bounds is None else _bands(bounds)[bisect_right(bounds, number)]


def _bands(bounds: tuple[float, ...]) -> tuple[str, ...]:
    between = (f"{low:g} to {high:g}" for low, high in pairwise(bounds))
    return (f"below {bounds[0]:g}", *between, f"{bounds[-1]:g} or more")


def features_of_row(row: Mapping[str, Any]) -> dict[str, str]:
    """Of a row of the table of episodes."""
    given = row["attributes"] or {"texts": [], "numbers": []}
    values = {one["name"]: one["value"] for one in (*given["texts"], *given["numbers"])}
    said = row["instructions"] or [{"text": ""}]
    return features(values, row["requirements"] or (), said[0]["text"])
