"""The features of a data set as JSON, for formats that have no place for them, and whether episodes are as they say."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from robodx.datasets.bounds import LEAST_HZ, MOST_CAMERAS, MOST_HZ, MOST_PIXELS, numbers_fit, quoted, whole
from robodx.datasets.schema import Demonstration, Features
from robodx.errors import UserError

# The key under which formats of others keep it.
KEY = "robodx"


def described(features: Features) -> dict[str, Any]:
    return {
        "hz": features.hz,
        "cameras": {name: list(size) for name, size in features.cameras.items()},
        "state": {name: list(names) for name, names in features.state.items()},
        "action": list(features.action),
        "robot": features.robot,
        "about": dict(features.about),
    }


def features_of(description: Mapping[str, Any]) -> Features:
    return Features(
        hz=description["hz"],
        cameras={name: (height, width) for name, (height, width) in description["cameras"].items()},
        state={name: _names(names) for name, names in description["state"].items()},
        action=_names(description["action"]),
        robot=description["robot"],
        about=description["about"],
    )


def check_features(features: Features) -> None:
    """Raises ValueError where they cannot be true of any robot, whoever wrote them."""
    hz = features.hz
    if hz is not None and (type(hz) not in (int, float) or not LEAST_HZ <= hz <= MOST_HZ):
        raise ValueError(f"{quoted(hz)} steps a second, not {LEAST_HZ:g} to {MOST_HZ:g}")
    whole(len(features.cameras), "the count of cameras", most=MOST_CAMERAS)
    for name, (height, width) in features.cameras.items():
        for side in (height, width):
            whole(side, f"a side of the pictures of {quoted(name)}", least=1, most=MOST_PIXELS)
        whole(height * width, f"the count of pixels of {quoted(name)}", most=MOST_PIXELS)
    numbers_fit({"the action": len(features.action), **{name: len(names) for name, names in features.state.items()}})
    if not isinstance(features.robot, str):
        raise ValueError(f"the robot is {quoted(features.robot)}, not a text")
    if not isinstance(features.about, Mapping):
        raise ValueError(f"about is {quoted(features.about)}, not names with values")
    missing = features.about.get("missing", [])
    if not isinstance(missing, list | tuple) or not all(isinstance(name, str) for name in missing):
        raise ValueError(f'"missing" is {quoted(missing)}, not a list of names')


def numbered(name: str, width: int) -> tuple[str, ...]:
    """What the numbers of a vector are called whose source has no names for them."""
    return tuple(f"{name}_{index}" for index in range(width))


def _names(listed: object) -> tuple[str, ...]:
    if not isinstance(listed, list) or not all(isinstance(name, str) for name in listed):
        raise ValueError(f"{quoted(listed)} is no list of names")
    return tuple(listed)


def checked(features: Features, demonstrations: Iterable[Demonstration]) -> Iterator[tuple[int, Demonstration]]:
    """The episodes with their numbers; raises at one that is not as the features say, and if there is none."""
    index = -1
    for index, demonstration in enumerate(demonstrations):
        if difference := differing(features, demonstration):
            raise UserError(f"episode {index} {difference}")
        yield index, demonstration
    if index < 0:
        raise UserError("there are no demonstrations to write")


def differing(features: Features, demonstration: Demonstration) -> str:
    """What an episode has that is not as the features say, in words; nothing if it is."""
    state = {name: values.shape[1] for name, values in demonstration.state.items()}
    for what, found, wanted in (
        ("steps:", len(demonstration) or "none", len(demonstration) or "some"),
        ("cameras", sorted(demonstration.images), sorted(features.cameras)),
        ("widths of state", state, {name: len(names) for name, names in features.state.items()}),
        ("a width of action", demonstration.action.shape[1], len(features.action)),
    ):
        if found != wanted:
            return f"has {what} {found}, and the data set {wanted}"
    return ""
