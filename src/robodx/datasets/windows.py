"""Samples for training: at each frame a chunk of actions to come and a history of observations, as plain arrays."""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from robodx.datasets.formats.base import UnreadableData, open_data
from robodx.datasets.frames import Drawn, InOrder, Order, Place, lengths_of, success_is_recorded
from robodx.datasets.mixtures import By, Mixture, parse_mixture
from robodx.datasets.schema import DataSet, Demonstration, Features, InMemory
from robodx.errors import UserError
from robodx.registry import require

# Arrays, numbers and texts by name; names are those of LeRobot's data sets.
Sample = dict[str, Any]
# Episodes that a process keeps: their numbers, not their pictures.
KEPT_EPISODES = 16
# Polars waits for threads that a fork does not have, and open files of HDF5 cannot be shared: better an error than a
# training that never begins.
FORKED = (
    'data sets cannot be read in a forked process: give the DataLoader multiprocessing_context="spawn" or "forkserver"'
)


class Kind(NamedTuple):
    """What an array of a sample looks like."""

    shape: tuple[int, ...]
    # As numpy calls it; "str" for a text.
    dtype: str


@dataclass(frozen=True)
class Window:
    """How much of an episode a sample holds. What is None has no axis of time."""

    # Actions from this frame on. The last is repeated after the end, and `action_is_pad` says where.
    chunk: int | None = None
    # Observations up to this frame. The first is repeated before the start; `observation_is_pad` says where.
    history: int | None = None
    # Which cameras and which vectors of the state, in this order; all if nothing is said.
    cameras: Sequence[str] | None = None
    state: Sequence[str] | None = None

    def __post_init__(self) -> None:
        for name, value in (("chunk", self.chunk), ("history", self.history)):
            if value is not None and value < 1:
                raise UserError(f"{name} is {value}: it must be 1 or more, or None for no axis of time")

    def chosen(self, features: Features) -> Window:
        """With every camera and vector named; refuses those that are not there."""
        for noun, names, valid in (
            ("camera in the data", self.cameras, features.cameras),
            ("vector of the state in the data", self.state, features.state),
        ):
            for name in names or ():
                require(noun, name, valid)
        cameras = tuple(features.cameras) if self.cameras is None else tuple(self.cameras)
        return replace(self, cameras=cameras, state=tuple(features.state) if self.state is None else tuple(self.state))

    def kinds(self, features: Features, *, has_success: bool = True) -> dict[str, Kind]:
        """Shape and type of everything in a sample. What a data set does not say is in none of its samples."""
        window = self.chosen(features)
        seen = () if window.history is None else (window.history,)
        done = () if window.chunk is None else (window.chunk,)
        found = {
            f"observation.images.{name}": Kind((*seen, *features.cameras[name], 3), "uint8")
            for name in window.cameras or ()
        }
        if window.state:
            found["observation.state"] = Kind(
                (*seen, sum(len(features.state[name]) for name in window.state)), "float32"
            )
        found["action"] = Kind((*done, len(features.action)), "float32")
        if seen:
            found["observation_is_pad"] = Kind(seen, "bool")
        if done:
            found["action_is_pad"] = Kind(done, "bool")
        if has_success:
            found["next.success"] = Kind((), "bool")
        if features.hz is not None:
            found["timestamp"] = Kind((), "float32")
        found["task"] = Kind((), "str")
        return found | {f"{name}_index": Kind((), "int64") for name in ("frame", "episode", "dataset")}


# Of what samples are made: the path of a data set, a mixture as `parse_mixture` spells it, or what is opened already.
Source = str | os.PathLike[str] | DataSet | Mixture
ONE_FRAME = Window()


class Windows:
    """The samples of a data set, frame by frame, or of a mixture, in its drawn order; by number.

    Data sets that are given by path are opened anew where they arrive: in workers that are spawned, not forked. A Path
    is always one data set, and may have a comma in it.
    """

    def __init__(self, source: Source, window: Window = ONE_FRAME, *, seed: int = 0, by: By = "frames") -> None:
        parts = parse_mixture(source) if isinstance(source, str) else []
        if isinstance(source, os.PathLike):
            parts = [(os.fspath(source), 1.0)]
        self._places = tuple(place for place, _ in parts)
        self._given: tuple[DataSet, ...] = ()
        if isinstance(source, Mixture):
            self._given = source.data
        elif not isinstance(source, str | os.PathLike):
            self._given = (source,)
        self._open()
        if isinstance(source, str) and (len(parts) > 1 or "*" in source):
            weighted = [(data, weight) for data, (_, weight) in zip(self._data, parts, strict=True)]
            source = Mixture(weighted, self._places, seed=seed, by=by)
        self.order: Order = source.order if isinstance(source, Mixture) else InOrder(lengths_of(self._data[0]))
        self.features = source.features if isinstance(source, Mixture) else self._data[0].features
        self.window = window.chosen(self.features)
        self._has_success = all(success_is_recorded(data) for data in self._data)

    @property
    def kinds(self) -> dict[str, Kind]:
        """Shape and type of everything in a sample."""
        return self.window.kinds(self.features, has_success=self._has_success)

    @property
    def state_names(self) -> list[str]:
        """What the numbers of `observation.state` are called."""
        return [f"{vector}.{name}" for vector in self.window.state or () for name in self.features.state[vector]]

    def set_epoch(self, epoch: int) -> None:
        """Another order, if it is a mixture; workers that are kept between epochs do not hear of it."""
        if isinstance(self.order, Drawn):
            self.order = replace(self.order, epoch=epoch)

    def __len__(self) -> int:
        return len(self.order)

    def __getitem__(self, index: int) -> Sample:
        place = self.order[index]
        episode = self._episode(place)
        sample = _cut(self.window, episode, place)
        if self.features.hz is not None:
            sample["timestamp"] = np.float32(place.step / self.features.hz)
        if self._has_success:
            if episode.success is None:
                raise UnreadableData(f"episode {place.episode} does not say whether it was solved, as others do")
            sample["next.success"] = np.bool_(episode.success[place.step])
        return sample

    def __getstate__(self) -> dict[str, object]:
        return {name: value for name, value in self.__dict__.items() if name not in ("_data", "_episodes")}

    def __setstate__(self, state: dict[str, object]) -> None:
        self.__dict__.update(state, _process=None)

    def _open(self) -> None:
        self._data: Sequence[DataSet] = [open_data(place) for place in self._places] or self._given
        self._episodes: OrderedDict[tuple[int, int], Demonstration] = OrderedDict()
        # None where it arrived, until it is opened there.
        self._process: int | None = os.getpid()

    def _episode(self, place: Place) -> Demonstration:
        if self._process is None:
            self._open()
        elif self._process != os.getpid() and not all(isinstance(data, InMemory) for data in self._data):
            raise UserError(FORKED)
        key = place.data, place.episode
        if key not in self._episodes:
            self._episodes[key] = self._data[place.data][place.episode]
            if len(self._episodes) > KEPT_EPISODES:
                self._episodes.popitem(last=False)
        self._episodes.move_to_end(key)
        return self._episodes[key]


def _cut(window: Window, episode: Demonstration, place: Place) -> Sample:
    """The sample at a frame, of a window whose cameras and vectors are named."""
    step, count = place.step, len(episode)
    seen = np.arange(step - (window.history or 1) + 1, step + 1)
    done = np.arange(step, step + (window.chunk or 1))
    seen_at, done_at = np.maximum(seen, 0), np.minimum(done, count - 1)
    sample: Sample = {}
    for name in window.cameras or ():
        # Each picture is read once, however often it stands in the history.
        steps, places = np.unique(seen_at, return_inverse=True)
        sample[f"observation.images.{name}"] = episode.images[name].read(steps.tolist())[places]
    if window.state:
        state = [episode.state[name][seen_at] for name in window.state]
        sample["observation.state"] = np.concatenate(state, axis=1, dtype=np.float32)
    sample["action"] = np.asarray(episode.action[done_at], dtype=np.float32)
    if window.history is None:
        sample |= {name: values[0] for name, values in sample.items() if name.startswith("observation.")}
    else:
        sample["observation_is_pad"] = seen < 0
    if window.chunk is None:
        sample["action"] = sample["action"][0]
    else:
        sample["action_is_pad"] = done >= count
    return sample | {
        "task": episode.instructions[step],
        "frame_index": np.int64(step),
        "episode_index": np.int64(place.episode),
        "dataset_index": np.int64(place.data),
    }
