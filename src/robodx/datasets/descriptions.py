"""The features of a data set as JSON, for formats that have no place for them, and whether episodes are as they say."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

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
        state={name: tuple(names) for name, names in description["state"].items()},
        action=tuple(description["action"]),
        robot=description["robot"],
        about=description["about"],
    )


def numbered(name: str, width: int) -> tuple[str, ...]:
    """What the numbers of a vector are called whose source has no names for them."""
    return tuple(f"{name}_{index}" for index in range(width))


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
