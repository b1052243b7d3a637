"""Mixtures: several data sets as one, whose frames come by weight; and how a mixture is spelled."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, get_args

from robodx.datasets.formats.base import open_data
from robodx.datasets.frames import Drawn, Place, lengths_of, rates_of
from robodx.datasets.schema import DataSet, Features
from robodx.errors import UserError
from robodx.registry import require

# What a weight counts: each frame of a data set, or the data set as a whole.
By = Literal["frames", "data sets"]
SPELLING = "PATH*WEIGHT,PATH*WEIGHT, for example A.lerobot*2,B.hdf5*1"


class UnmixableData(UserError):
    """Data sets that do not go together, or weights that are none; the message names which and why."""


@dataclass(frozen=True)
class Mixture:
    """Draws frames of several data sets; `mixture[i]` says which data set, episode and step comes i-th.

    By "frames", a frame of a data set with weight 2 comes twice as often as one with weight 1. By "data sets", weights
    are the shares of the data sets, however many frames each has.
    """

    parts: Sequence[tuple[DataSet, float]]
    # What the data sets are called in messages; by number if nothing is said.
    names: Sequence[str] = ()
    seed: int = 0
    by: By = "frames"
    order: Drawn = field(init=False)

    def __post_init__(self) -> None:
        require("way to weigh data sets", self.by, get_args(By))
        if not self.parts:
            raise UnmixableData("a mixture needs at least one data set")
        names = list(self.names) or [f"data set {number}" for number in range(1, len(self.parts) + 1)]
        if len(names) != len(self.parts):
            raise UnmixableData(f"there are {len(self.parts)} data sets in the mixture and {len(names)} names")
        for name, (_, weight) in zip(names, self.parts, strict=True):
            check_weight(name, weight)
        first, *others = (data.features for data, _ in self.parts)
        for name, features in zip(names[1:], others, strict=True):
            if found := differences(first, features):
                raise UnmixableData(f"{names[0]} and {name} cannot be mixed: {'; '.join(found)}")
        lengths = tuple(lengths_of(data) for data, _ in self.parts)
        if empty := [name for name, one in zip(names, lengths, strict=True) if not one.sum()]:
            raise UnmixableData(f"{empty[0]} has no frames to draw from")
        rates = rates_of(lengths, [weight for _, weight in self.parts], is_by_frames=self.by == "frames")
        object.__setattr__(self, "order", Drawn(lengths, rates, self.seed))

    @property
    def features(self) -> Features:
        """What all of them hold; the rest that is said of the first is not true of all."""
        all_features = [data.features for data, _ in self.parts]
        robots = dict.fromkeys(features.robot for features in all_features)
        return replace(all_features[0], robot=" or ".join(robots), about={})

    @property
    def data(self) -> tuple[DataSet, ...]:
        return tuple(data for data, _ in self.parts)

    @property
    def shares(self) -> tuple[float, ...]:
        """The share of all draws that goes to each data set."""
        drawn = [rate * int(one.sum()) for rate, one in zip(self.order.rates, self.order.lengths, strict=True)]
        return tuple(one / sum(drawn) for one in drawn)

    def __len__(self) -> int:
        return len(self.order)

    def __getitem__(self, index: int) -> Place:
        return self.order[index]


def parse_mixture(text: str) -> list[tuple[str, float]]:
    """Places and weights of "A.lerobot*2,B.hdf5"; who has no weight has 1."""
    found = []
    for part in text.split(","):
        head, star, tail = part.strip().rpartition("*")
        place = (head if star else tail).strip()
        if not place:
            raise UnmixableData(f'"{text}" has a part without a path; a mixture is spelled {SPELLING}')
        try:
            weight = float(tail) if star else 1.0
        except ValueError:
            raise UnmixableData(f'the weight of {place} is "{tail}"; a mixture is spelled {SPELLING}') from None
        check_weight(place, weight)
        found.append((place, weight))
    return found


def open_mixture(text: str, *, seed: int = 0, by: By = "frames") -> Mixture:
    spelled = parse_mixture(text)
    return Mixture(
        [(open_data(place), weight) for place, weight in spelled], [place for place, _ in spelled], seed=seed, by=by
    )


def check_weight(name: str, weight: float) -> None:
    if not (math.isfinite(weight) and weight > 0):
        raise UnmixableData(f"the weight of {name} is {weight:g}: it must be a number above 0")


def differences(first: Features, second: Features) -> list[str]:
    """What a step of two data sets does not have in common."""
    found = []
    if first.hz != second.hz:
        found.append(f"hz is {_rate(first)} and {_rate(second)}")
    found += _differing("camera", _sizes(first), _sizes(second))
    found += _differing("state", _names(first.state), _names(second.state))
    if first.action != second.action:
        found.append(f"the action is ({', '.join(first.action)}) and ({', '.join(second.action)})")
    return found


def _rate(features: Features) -> str:
    return "not recorded" if features.hz is None else f"{features.hz:g}"


def _differing(what: str, first: Mapping[str, str], second: Mapping[str, str]) -> list[str]:
    return [
        f"{what} {name} is {first.get(name, 'missing')} and {second.get(name, 'missing')}"
        for name in {**first, **second}
        if first.get(name) != second.get(name)
    ]


def _sizes(features: Features) -> dict[str, str]:
    return {name: f"{height}×{width}" for name, (height, width) in features.cameras.items()}


def _names(state: Mapping[str, tuple[str, ...]]) -> dict[str, str]:
    return {name: f"({', '.join(numbers)})" for name, numbers in state.items()}
