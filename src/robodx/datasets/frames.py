"""Where the frames of data sets are: how long episodes are, and which frames come in which order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from robodx.datasets.bounds import MOST_FRAMES
from robodx.datasets.schema import DataSet
from robodx.errors import UserError
from robodx.streams import Streams

Lengths = NDArray[np.int64]  # (episodes,): steps of each


class Place(NamedTuple):
    """One frame: which of the data sets, which of its episodes, which step."""

    data: int
    episode: int
    step: int


class Order(Protocol):
    """Frames by number. It holds no data, so that it travels to worker processes."""

    def __len__(self) -> int: ...

    def __getitem__(self, index: int) -> Place: ...


def lengths_of(data: DataSet) -> Lengths:
    """Steps of every episode.

    A data set that has `lengths` is asked; of any other every episode is read, without its pictures.
    """
    known = getattr(data, "lengths", None)
    found = known if known is not None else [len(data[index]) for index in range(len(data))]
    if (total := sum(found)) > MOST_FRAMES:
        raise UserError(f"the data set says that it has {total:,} steps, and at most {MOST_FRAMES:,} are read")
    return np.asarray(found, dtype=np.int64)


def success_is_recorded(data: DataSet) -> bool:
    """Whether it says if tasks were solved, as far as its first episode tells."""
    return data.features.tells_success and (not len(data) or data[0].success is not None)


def checked(index: int, count: int) -> int:
    """As the index of a list: from the end if it is negative."""
    if not -count <= index < count:
        raise IndexError(f"there is no frame {index} of {count}")
    return index % count


@dataclass(frozen=True, eq=False)
class InOrder:
    """Every frame of one data set once, episode by episode."""

    lengths: Lengths

    @cached_property
    def _ends(self) -> Lengths:
        return np.cumsum(self.lengths)

    def __len__(self) -> int:
        return int(self.lengths.sum())

    def __getitem__(self, index: int) -> Place:
        return Place(0, *_located(self._ends, checked(index, len(self))))


@dataclass(frozen=True, eq=False)
class Drawn:
    """Frames of several data sets in random order, each as often as its data set's rate says.

    Draws are spread evenly and then shuffled: at rate 2 every frame comes exactly twice, at rate 0.5 every second one
    once. Another epoch has another order, and where a rate is no whole number other frames.
    """

    lengths: tuple[Lengths, ...]
    # How often a frame of each data set comes.
    rates: tuple[float, ...]
    seed: int = 0
    epoch: int = 0

    @cached_property
    def _ends(self) -> list[Lengths]:
        return [np.cumsum(one) for one in self.lengths]

    @cached_property
    def _draws(self) -> NDArray[np.float64]:
        """Up to where each data set's draws go, on a line on which a draw is 1 long."""
        return np.cumsum([rate * one.sum() for rate, one in zip(self.rates, self.lengths, strict=True)])

    @cached_property
    def _shuffled(self) -> tuple[float, NDArray[np.int64]]:
        rng = Streams(self.seed).rng("mixture", self.epoch)
        return rng.random(), rng.permutation(len(self))

    def __len__(self) -> int:
        return max(round(float(self._draws[-1])), 1)

    def __getitem__(self, index: int) -> Place:
        offset, order = self._shuffled
        total = float(self._draws[-1])
        at = (int(order[checked(index, len(self))]) + offset) * total / len(self)
        data = min(int(np.searchsorted(self._draws, at, side="right")), len(self.rates) - 1)
        before = float(self._draws[data - 1]) if data else 0.0
        frame = min(int((at - before) / self.rates[data]), int(self._ends[data][-1]) - 1)
        return Place(data, *_located(self._ends[data], frame))

    def __getstate__(self) -> dict[str, object]:
        """Without the shuffled numbers: a worker makes them again."""
        return {name: self.__dict__[name] for name in self.__dataclass_fields__}


def rates_of(lengths: Sequence[Lengths], weights: Sequence[float], *, is_by_frames: bool) -> tuple[float, ...]:
    """How often a frame of each data set comes in one epoch.

    By frames, a weight is this rate itself. Otherwise weights are the shares of whole data sets, large or small, in an
    epoch of as many draws as there are frames.
    """
    if is_by_frames:
        return tuple(map(float, weights))
    frames = [int(one.sum()) for one in lengths]
    return tuple(weight / sum(weights) * sum(frames) / count for weight, count in zip(weights, frames, strict=True))


def _located(ends: Lengths, frame: int) -> tuple[int, int]:
    """Episode and step of a data set's frame."""
    episode = int(np.searchsorted(ends, frame, side="right"))
    return episode, frame - (int(ends[episode - 1]) if episode else 0)
