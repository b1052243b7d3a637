"""What is in a data set, told from its description and from some of its episodes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robodx.datasets.bounds import is_within
from robodx.datasets.cards import card_path
from robodx.datasets.formats.base import Located
from robodx.datasets.frames import lengths_of, success_is_recorded
from robodx.datasets.schema import DataSet

# Episodes that are read for ranges, instructions, tasks and success: spread evenly over all.
MOST_READ = 200
CARD_LINES = 8
# With its header; more of a card is not looked at.
CARD_LETTERS = 2**16


@dataclass(frozen=True)
class Range:
    """What a number is like; None where it is nowhere finite."""

    vector: str
    name: str
    least: float | None
    mean: float | None
    most: float | None


@dataclass(frozen=True)
class Survey:
    """Everything that `robodx data show` tells of a data set."""

    path: str
    format: str
    robot: str
    episodes: int
    frames: int
    # None where its source does not say how long a step takes.
    hz: float | None
    hours: float | None
    # Height and width.
    cameras: dict[str, tuple[int, int]]
    # What follows is told from so many episodes.
    episodes_read: int
    state: list[Range]
    action: list[Range]
    # In how many of these episodes each was said; the most frequent first.
    instructions: dict[str, int]
    tasks: dict[str, int]
    # The share of episodes that end solved; None if it is not recorded.
    success: float | None
    about: dict[str, Any]
    card: list[str]


@dataclass(frozen=True)
class EpisodeSurvey:
    """What is told of one episode."""

    episode: int
    steps: int
    # Each from its first step on.
    instructions: dict[int, str]
    is_solved: bool | None
    metadata: dict[str, Any]


def survey(found: Located, data: DataSet, advance: Callable[[int, int], None] = lambda done, total: None) -> Survey:
    """Reads numbers, not pictures; `advance` is told how many episodes of how many are read."""
    features = data.features
    frames = int(lengths_of(data).sum())
    chosen = (
        np.unique(np.linspace(0, len(data) - 1, min(len(data), MOST_READ)).astype(int)).tolist() if len(data) else []
    )
    actions = _Ranges("action", features.action)
    states = {vector: _Ranges(vector, names) for vector, names in features.state.items()}
    instructions: Counter[str] = Counter()
    tasks: Counter[str] = Counter()
    solved: list[bool | None] = []
    # One episode is in memory at a time.
    for done, number in enumerate(chosen, start=1):
        episode = data[number]
        actions.add(episode.action)
        for vector, ranges in states.items():
            ranges.add(episode.state[vector])
        instructions.update(text for text in dict.fromkeys(episode.instructions) if text)
        tasks.update([str(episode.metadata["task"])] if "task" in episode.metadata else [])
        solved += [episode.is_solved] if len(episode) else []
        advance(done, len(chosen))
    return Survey(
        path=str(found.path),
        format=found.format.name,
        robot=features.robot,
        episodes=len(data),
        frames=frames,
        hz=features.hz,
        hours=None if features.hz is None else frames / features.hz / 3600,
        cameras=dict(features.cameras),
        episodes_read=len(chosen),
        state=[one for ranges in states.values() for one in ranges.found()],
        action=actions.found(),
        instructions=dict(instructions.most_common()),
        tasks=dict(tasks.most_common()),
        success=_success(solved) if success_is_recorded(data) else None,
        about=_plain(features.about),
        card=_card(found.path),
    )


def survey_episode(data: DataSet, number: int) -> EpisodeSurvey:
    episode = data[number]
    said = episode.instructions
    return EpisodeSurvey(
        number,
        len(episode),
        {step: text for step, text in enumerate(said) if not step or text != said[step - 1]},
        episode.is_solved if len(episode) and success_is_recorded(data) else None,
        _plain(episode.metadata),
    )


class _Ranges:
    """Of the numbers of a vector, over one episode after the other; what is not finite is left out."""

    def __init__(self, vector: str, names: Sequence[str]) -> None:
        self._vector, self._names = vector, names
        self._least, self._most = np.full(len(names), np.inf), np.full(len(names), -np.inf)
        self._sum, self._count = np.zeros(len(names)), np.zeros(len(names))

    def add(self, values: NDArray[np.float32]) -> None:
        is_finite = np.isfinite(values)
        self._least = np.minimum(self._least, values.min(axis=0, initial=np.inf, where=is_finite))
        self._most = np.maximum(self._most, values.max(axis=0, initial=-np.inf, where=is_finite))
        self._sum += values.sum(axis=0, dtype=np.float64, where=is_finite)
        self._count += is_finite.sum(axis=0)

    def found(self) -> list[Range]:
        rows = zip(self._names, self._least, self._sum, self._most, self._count, strict=True)
        return [
            Range(self._vector, name, float(least), float(total / count), float(most))
            if count
            else Range(self._vector, name, None, None, None)
            for name, least, total, most, count in rows
        ]


def _success(solved: Sequence[bool | None]) -> float | None:
    return None if not solved or None in solved else sum(map(bool, solved)) / len(solved)


def _plain(facts: Mapping[str, Any]) -> dict[str, Any]:
    """As JSON can tell it."""
    return {
        name: value.tolist() if isinstance(value, np.ndarray | np.generic) else value for name, value in facts.items()
    }


def _card(path: Path) -> list[str]:
    """Its first lines, without a header of YAML, which is for machines."""
    file = card_path(path)
    if not file.is_file() or not is_within(file.parent, file):
        return []
    with file.open(errors="replace") as opened:
        lines = opened.read(CARD_LETTERS).splitlines()
    if lines and lines[0] == "---" and "---" in lines[1:]:
        lines = lines[lines.index("---", 1) + 1 :]
    return [line for line in lines if line.strip()][:CARD_LINES]
