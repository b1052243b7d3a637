"""LeRobot's features and ours: which column or video of a data set holds what, whoever wrote it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from robodx.datasets.bounds import LEAST_HZ, MOST_HZ, MOST_NUMBERS, MOST_PIXELS, numbers_fit, quoted, whole
from robodx.datasets.foreign_files import reading
from robodx.datasets.formats.base import UnreadableData
from robodx.datasets.schema import Features

STATE = "observation.state"
IMAGES = "observation.images."
ACTION = "action"
SUCCESS = "next.success"
COLUMNS = {
    "timestamp": "float32",
    "frame_index": "int64",
    "episode_index": "int64",
    "index": "int64",
    "task_index": "int64",
}
# What only we keep there: LeRobot carries keys along that it does not know.
OURS = "robodx"
# Numbers that are no part of what the robot feels.
NO_STATE = ("next.", "annotation.", "complementary_info.", "action")


class Part(NamedTuple):
    """Some numbers of a column."""

    key: str
    start: int
    end: int


@dataclass(frozen=True)
class Layout:
    """Which columns and videos hold what our schema asks for."""

    features: Features
    # The keys of cameras, of those that are videos and of those whose pictures are in the rows.
    videos: Mapping[str, str]
    images: Mapping[str, str]
    state: Mapping[str, Part]
    action: Part
    success: str | None = SUCCESS

    @property
    def columns(self) -> list[str]:
        """Those that are read for an episode without its pictures."""
        keys = [self.action.key, *(part.key for part in self.state.values()), "episode_index", "task_index"]
        return list(dict.fromkeys([*keys, self.success] if self.success else keys))


def layout_of(info: Mapping[str, Any], file: Path, groups: Mapping[str, Part] | None = None) -> Layout:
    """Of a data set by whomever; `groups` are the parts of the state by name where it says so elsewhere."""
    with reading(file):
        return _layout_of(info, file, groups or {})


def _layout_of(info: Mapping[str, Any], file: Path, groups: Mapping[str, Part]) -> Layout:
    given: Mapping[str, Mapping[str, Any]] = info["features"]
    hz = float(info["fps"])
    if not LEAST_HZ <= hz <= MOST_HZ:
        raise UnreadableData(f"{file}: fps is {quoted(info['fps'])}, not a rate")
    action = next((key for key in (ACTION, "actions") if key in given), None)
    if action is None:
        raise UnreadableData(f'{file} has no feature "{ACTION}" or "actions"; there are: {", ".join(given)}')
    cameras = _cameras(given)
    sizes = {name: _size(given[key]) for name, key in cameras.items()}
    own = info.get(OURS) or {}
    own_names: Mapping[str, Sequence[str]] = own.get("state") or {}
    own_parts = _own_parts(own_names, given)
    state = _parts(given, own_parts or groups)
    numbers_fit({name: part.end - part.start for name, part in state.items()})
    names = {name: _names(given[part.key])[part.start : part.end] for name, part in state.items()}
    names |= {name: tuple(own_names[name]) for name in own_parts}
    about = dict(own.get("about") or {})
    if SUCCESS not in given:
        about["missing"] = sorted({*about.get("missing", ()), "success"})
    robot = str(info.get("robot_type") or "unknown")
    return Layout(
        Features(hz, sizes, names, _names(given[action]), robot, about),
        {name: key for name, key in cameras.items() if given[key]["dtype"] == "video"},
        {name: key for name, key in cameras.items() if given[key]["dtype"] == "image"},
        state,
        Part(action, 0, _width(given[action])),
        SUCCESS if SUCCESS in given else None,
    )


def _cameras(given: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
    """Keys by our name; depth is no picture of ours."""
    cameras: dict[str, str] = {}
    for key, feature in given.items():
        more = feature.get("info") or feature.get("video_info") or {}
        if feature["dtype"] in ("video", "image") and 3 in feature["shape"] and not more.get("video.is_depth_map"):
            name = key.removeprefix(IMAGES).removeprefix("observation.")
            cameras[key if name in cameras else name] = key
    return cameras


def _size(feature: Mapping[str, Any]) -> tuple[int, int]:
    shape = [whole(side, "a side of a picture", most=MOST_PIXELS) for side in feature["shape"]]
    names = feature.get("names")
    if isinstance(names, Sequence) and {"height", "width"} <= set(names):
        return shape[names.index("height")], shape[names.index("width")]
    height, width = shape[1:] if shape[0] == 3 else shape[:2]
    return height, width


def _own_parts(vectors: Mapping[str, Sequence[str]], given: Mapping[str, Mapping[str, Any]]) -> dict[str, Part]:
    """None of them where the column was changed since."""
    parts, start = {}, 0
    for name, numbers in vectors.items():
        parts[name] = Part(STATE, start, start + len(numbers))
        start += len(numbers)
    return parts if STATE in given and start == _width(given[STATE]) else {}


def _parts(given: Mapping[str, Mapping[str, Any]], groups: Mapping[str, Part]) -> dict[str, Part]:
    """Every vector of numbers that is neither action nor outcome; one that is grouped by its groups."""
    parts = dict(groups)
    grouped = {part.key for part in parts.values()}
    for key, feature in given.items():
        is_numbers = str(feature["dtype"]).startswith("float") and len(feature["shape"]) == 1
        if is_numbers and key not in COLUMNS and key not in grouped and not key.startswith(NO_STATE):
            parts[key.removeprefix("observation.")] = Part(key, 0, _width(feature))
    return parts


def _width(feature: Mapping[str, Any]) -> int:
    (width,) = feature["shape"]
    return whole(width, "the width of a feature", most=MOST_NUMBERS)


def _names(feature: Mapping[str, Any]) -> tuple[str, ...]:
    """A list, lists by the kind of number, or places by name; where there are none, they are counted."""
    width, names = _width(feature), feature.get("names")
    found: Iterable[Any] = names if isinstance(names, list) else ()
    if isinstance(names, Mapping):
        if all(isinstance(place, int) for place in names.values()):
            found = sorted(names, key=lambda name: int(names[name]))
        else:
            found = [name for part in names.values() if isinstance(part, list) for name in part]
    listed = tuple(str(name) for name in found)
    return listed if len(listed) == width else tuple(str(place) for place in range(width))
