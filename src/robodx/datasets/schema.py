"""The one schema of demonstrations: every reader yields it, every writer takes it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from robodx.errors import UserError

Numbers = NDArray[np.float32]  # (steps, width)
Images = NDArray[np.uint8]  # (steps, height, width, 3): RGB, the first row on top


@dataclass(frozen=True)
class Features:
    """What every step of a data set holds, and what its numbers are called."""

    # None where its source does not say.
    hz: float | None
    # Height and width of each camera's pictures.
    cameras: Mapping[str, tuple[int, int]]
    # The names of the numbers of each vector of the robot's state, by the vector's name.
    state: Mapping[str, tuple[str, ...]]
    action: tuple[str, ...]
    robot: str = "unknown"
    # What else is known of all episodes: the action's space and frame, units, versions.
    about: Mapping[str, Any] = field(default_factory=dict)

    @property
    def known_hz(self) -> float:
        """For what cannot do without it, like a video."""
        if self.hz is None:
            raise UserError("the data set does not say how many steps a second has: features.hz is None")
        return self.hz


@dataclass(frozen=True)
class Video:
    """A part of a video file that holds the pictures of one camera, from its first second on."""

    path: Path
    first_s: float = 0.0


@dataclass(frozen=True)
class Pictures:
    """One camera's pictures of an episode, read when they are asked for."""

    count: int
    # The pictures of these steps, in this order.
    read: Callable[[Sequence[int]], Images]
    # Where they are a video already, which a writer may copy without encoding it again.
    video: Video | None = None

    @classmethod
    def of(cls, images: Images) -> Pictures:
        return cls(len(images), lambda steps: images[list(steps)])

    def __len__(self) -> int:
        return self.count

    def all(self) -> Images:
        return self.read(range(self.count))


class Step(NamedTuple):
    """One moment: what was seen, felt and said, what was done next, and whether the task was solved after that.

    `success` is None where its source does not say.
    """

    images: Mapping[str, NDArray[np.uint8]]
    state: Mapping[str, NDArray[np.float32]]
    instruction: str
    action: NDArray[np.float32]
    success: bool | None


@dataclass(frozen=True)
class Demonstration:
    """One episode. All that has steps has as many as there are actions."""

    # At each step: a task may say something else in the middle.
    instructions: tuple[str, ...]
    images: Mapping[str, Pictures]
    state: Mapping[str, Numbers]
    action: Numbers
    # Whether the task is solved after the step's action; None where its source does not say.
    success: NDArray[np.bool_] | None
    # Task, seed and whatever else its source says of it; numbers, texts and booleans.
    metadata: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        lengths = {"instructions": len(self.instructions)}
        lengths |= {"success": len(self.success)} if self.success is not None else {}
        lengths |= {f"images of {name}": len(pictures) for name, pictures in self.images.items()}
        lengths |= {f"state {name}": len(values) for name, values in self.state.items()}
        if wrong := {name: length for name, length in lengths.items() if length != len(self.action)}:
            raise ValueError(f"an episode of {len(self.action)} actions has other lengths: {wrong}")

    def __len__(self) -> int:
        return len(self.action)

    @property
    def instruction(self) -> str:
        return self.instructions[0]

    @property
    def is_solved(self) -> bool | None:
        return None if self.success is None else bool(self.success[-1])

    @cached_property
    def _pictures(self) -> dict[str, Images]:
        return {name: pictures.all() for name, pictures in self.images.items()}

    def steps(self) -> Iterator[Step]:
        """Each with its pictures; all of the episode's are read at once."""
        for index in range(len(self)):
            yield Step(
                {name: images[index] for name, images in self._pictures.items()},
                {name: values[index] for name, values in self.state.items()},
                self.instructions[index],
                self.action[index],
                None if self.success is None else bool(self.success[index]),
            )


class DataSet(Protocol):
    """Episodes by number, each read when it is asked for."""

    @property
    def features(self) -> Features: ...

    def __len__(self) -> int: ...

    def __getitem__(self, index: int) -> Demonstration: ...


@dataclass(frozen=True)
class InMemory:
    """A data set of episodes that are there."""

    features: Features
    demonstrations: Sequence[Demonstration]

    def __len__(self) -> int:
        return len(self.demonstrations)

    def __getitem__(self, index: int) -> Demonstration:
        return self.demonstrations[index]
